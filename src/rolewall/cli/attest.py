"""``rolewall attest``: sign a run that holds, so that others can tell it is the one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

__all__ = ["command"]


@click.command("attest")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="KEY",
    help="A private key, Ed25519 or ECDSA on P-256, in a PEM file.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(run: Path, key: Path, as_json: bool) -> None:
    """Sign the seals of RUN, each as an in-toto statement in a DSSE envelope.

    RUN is audited first, and not signed if anything was altered (2).
    `rolewall audit RUN --public-key FILE` verifies the signatures.
    """
    import json

    from rolewall.attest import KeySigner
    from rolewall.audit import sign_run
    from rolewall.terminal import counted, say

    signer = KeySigner(key)
    say(signer.warnings, sys.stderr)
    signed = sign_run(run, signer)
    if as_json:
        click.echo(json.dumps({"run": str(run), "keyid": signer.keyid, "signed": signed}, indent=1))
    say(
        [f"{run}: {counted(signed, 'seal')} signed by {signer.keyid}"],
        sys.stderr if as_json else sys.stdout,
    )
