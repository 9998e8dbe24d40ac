"""A GGUF file behind OpenAI's chat protocol, on this machine's loopback.

    python bench/offline_model/serve.py FILE [--port N] [--context N] [--threads N]

Needs ``pip install xllamacpp``, which is no dependency of rolewall. Before it is served the
file's SHA-256 is held against those of the official files that the case study was made with:
another file is served too, and named as what it is. Ends on SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["ALIAS", "KNOWN", "main"]

GUESS_AFTER, GUESSED = 6, 16  # tokens alike, and tokens guessed
ALIAS = "local"  # the name by which the team file asks for whatever is served

KNOWN = {
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32": (
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF: qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    ),
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046": (
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF: qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    with asked.file.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    print(f"{KNOWN.get(digest, 'a file that the case study does not know')}, SHA-256 {digest}")
    # Both signals wait for their turn below: the server's own threads must not take them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        import xllamacpp  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        print("serve.py: xllamacpp is not installed: pip install xllamacpp", file=sys.stderr)
        return 2
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(asked.file)
    parameters.model_alias = {ALIAS}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = asked.port
    parameters.n_ctx = asked.context
    parameters.n_parallel = 1  # one slot: the whole context is its own, and nothing competes
    # With one slot a prompt that begins like the last one is read from where they part.
    parameters.cache_prompt = True
    parameters.cache_ram_mib = 2048  # the roles take turns, and begin alike each time
    parameters.cpuparams.n_threads = asked.threads
    parameters.cpuparams_batch.n_threads = asked.threads
    parameters.cpuparams.poll = parameters.cpuparams_batch.poll = 0  # boxes want the cores too
    # Much of an answer is a copy of what was read: guessed from there, and checked in one go.
    kinds = xllamacpp.common_speculative_type
    parameters.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    parameters.speculative.ngram_simple.size_n = GUESS_AFTER
    parameters.speculative.ngram_simple.size_m = GUESSED
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    print(f"serving at {server.listening_address}/v1 as {ALIAS!r}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="a GGUF file")
    parser.add_argument("--port", type=int, default=8217, help="default: 8217")
    parser.add_argument("--context", type=int, default=8192, help="tokens, default: 8192")
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="default: 1, which other work on two cores slows down least",
    )
    asked = parser.parse_args(arguments)
    if not asked.file.is_file():
        parser.error(f"{asked.file}: no such file")
    return asked


if __name__ == "__main__":
    sys.exit(main())
