"""Signed seals: others verify them without rolewall, and no edit or foreign key passes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from rolewall.attest import KeySigner, read_public_key
from rolewall.audit import audit_run, sign_run

if TYPE_CHECKING:
    from conftest import Cli, Studio

TYPE = "application/vnd.in-toto+json"
KINDS = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "ecdsa": lambda: ec.generate_private_key(ec.SECP256R1()),
}


class Key:
    """A key pair in two files."""

    def __init__(self, place: Path, name: str, kind: str = "ed25519") -> None:
        self.key = KINDS[kind]()
        self.private, self.public = place / f"{name}.pem", place / f"{name}.pub"
        self.private.write_bytes(private_bytes(self.key))
        self.private.chmod(0o600)
        self.public.write_bytes(
            self.key.public_key().public_bytes(
                pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo
            )
        )

    def check_by_hand(self, envelope: dict[str, Any]) -> None:
        """Pre-authentication encoding as the DSSE specification has it."""
        payload = base64.b64decode(envelope["payload"])
        kind = envelope["payloadType"].encode()
        signed = b" ".join((b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload))
        signature = base64.b64decode(envelope["signatures"][0]["sig"])
        public = self.key.public_key()
        if isinstance(public, ed25519.Ed25519PublicKey):
            public.verify(signature, signed)
        else:
            public.verify(signature, signed, ec.ECDSA(hashes.SHA256()))


def private_bytes(key: Any, encryption: Any = None) -> bytes:
    hidden = encryption or pem.NoEncryption()
    found: bytes = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, hidden)
    return found


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return Key(tmp_path, "mine")


@pytest.fixture
def run(builder: Any) -> Path:
    """A run of two episodes with all their evidence."""
    builder.add(task="a", edits=3, landed=True)
    builder.add(task="b")
    path: Path = builder.finish()
    return path


def envelopes(run: Path) -> list[Path]:
    return sorted(run.rglob("seal.dsse.json"))


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_signed_run_is_verified_by_rolewall_by_the_library_and_by_hand(
    cli: Cli, run: Path, tmp_path: Path, kind: str
) -> None:
    key = Key(tmp_path, "mine", kind)
    done = cli("attest", run, "--key", key.private, "--json")
    library = SSlibKey.from_crypto(key.key.public_key())
    assert done.code == 0, done.err
    assert done.json == {"run": str(run), "keyid": library.keyid, "signed": 3}
    audit = cli("audit", run, "--public-key", key.public)
    assert audit.code == 0 and "3 seals, 3 signatures verified" in audit.out, audit.out
    assert len(envelopes(run)) == 3
    for path in envelopes(run):
        found = Envelope.from_dict(json.loads(path.read_text()))
        assert found.payload == path.with_name("seal.json").read_bytes()
        assert found.verify([library], 1) == {library.keyid: library}
        key.check_by_hand(json.loads(path.read_text()))
        other = SSlibKey.from_crypto(ed25519.Ed25519PrivateKey.generate().public_key())
        with pytest.raises(VerificationError):
            found.verify([other], 1)


def test_what_is_signed_is_a_statement_of_the_files(cli: Cli, run: Path, key: Key) -> None:
    assert cli("attest", run, "--key", key.private).code == 0
    (path,) = (p for p in envelopes(run) if p.parent != run and "b" in task_of(p))
    envelope = json.loads(path.read_text())
    assert envelope["payloadType"] == TYPE
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:rolewall:episode:1"
    for subject in statement["subject"]:
        data = (path.parent / subject["name"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == subject["digest"]["sha256"]
    files = {str(p.relative_to(path.parent)) for p in path.parent.rglob("*") if p.is_file()}
    named = {subject["name"] for subject in statement["subject"]}
    assert files - named == {"seal.json", "seal.dsse.json"} and named <= files
    record = json.loads((path.parent / "episode.json").read_text())
    said = statement["predicate"]
    for name in ("task", "team", "condition", "trial", "verdict", "grade", "digests", "status"):
        assert said[name] == record[name]
    assert said["ledger"] == {"head": record["ledger_head"], "lines": record["ledger_lines"]}
    whole = hashlib.sha256((run / "run.json").read_bytes()).hexdigest()
    assert said["run"] == {"digest": {"sha256": whole}}


def task_of(path: Path) -> str:
    return str(json.loads((path.parent / "episode.json").read_text())["task"])


def changed(path: Path, **fields: Any) -> bytes:
    body = json.loads(path.read_text()) | fields
    return json.dumps(body, indent=1).encode() + b"\n"


def resigned(path: Path, **fields: Any) -> bytes:
    (signature,) = json.loads(path.read_text())["signatures"]
    return changed(path, signatures=[signature | fields])


def turned(path: Path) -> bytes:
    """One bit of the signature."""
    raw = bytearray(base64.b64decode(json.loads(path.read_text())["signatures"][0]["sig"]))
    raw[7] ^= 1
    return resigned(path, sig=base64.b64encode(raw).decode())


BAD = {
    "gone": (lambda path: None, "gone: the seal is not signed"),
    "empty": (lambda path: b"", "not JSON"),
    "turned": (turned, "no valid signature by the key given"),
    "another id": (lambda path: resigned(path, keyid="0" * 64), "no valid signature"),
    "no signature": (lambda path: changed(path, signatures=[]), "signatures"),
    "no base64": (lambda path: resigned(path, sig="!"), "not an envelope"),
    "more": (lambda path: changed(path, more=1), "unknown key"),
    "another type": (lambda path: changed(path, payloadType="text/plain"), "payloadType"),
    "another payload": (
        lambda path: changed(path, payload=base64.b64encode(b"{}").decode()),
        "the signatures are of another seal",
    ),
    "grown": (lambda path: path.read_bytes() + b"\n", "not an envelope as it was written"),
    "of another": (lambda path: path.parents[2].joinpath(path.name).read_bytes(), "another seal"),
}


@pytest.mark.parametrize("damage", list(BAD))
def test_a_signature_that_is_not_one_is_found(run: Path, key: Key, damage: str) -> None:
    make, words = BAD[damage]
    assert sign_run(run, KeySigner(key.private)) == 3
    path = next(p for p in envelopes(run) if p.parent != run)
    data = make(path)
    path.unlink() if data is None else path.write_bytes(data)
    report = audit_run(run, keys=[read_public_key(key.public)])
    (found,) = [f.line() for f in report.findings if f.level == "altered"]
    assert report.exit_code == 1 and found.startswith(f"altered: {path}") and words in found


def test_a_foreign_key_does_not_pass_and_two_keys_both_must(
    cli: Cli, run: Path, key: Key, tmp_path: Path
) -> None:
    other = Key(tmp_path, "other", "ecdsa")
    assert cli("attest", run, "--key", key.private).code == 0
    words = ["audit", run, "--public-key", other.public]
    foreign = cli(*words)
    assert foreign.code == 1 and foreign.out.count("no valid signature by the key given") == 3
    both = cli(*words, "--public-key", key.public)
    assert both.code == 1 and both.out.count("no valid signature by the key given") == 3
    assert cli("attest", run, "--key", other.private).code == 0
    assert cli(*words, "--public-key", key.public).code == 0
    alone = cli(*words)
    assert alone.code == 0 and alone.out.count("which was not given and is not verified") == 3


def test_a_run_that_goes_on_is_signed_whole_and_signatures_of_others_stay(
    cli: Cli, studio: Studio, key: Key, tmp_path: Path
) -> None:
    """Begun unsigned and broken off, gone on with under one key, run again under a second."""
    out, team = tmp_path / "out", studio.team(verifier={"verdict": "approve"})
    words = ["run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", out]
    assert cli(*words, "--trials", "2").code == 0
    seal = out / "seal.json"
    # As a kill leaves it that came before the run could be sealed as a whole.
    log = out / "seals.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    seal.unlink()
    assert cli(*words, "--trials", "2", "--sign", key.private).code == 0
    mine = cli("audit", out, "--public-key", key.public)
    assert mine.code == 0 and "3 signatures verified" in mine.out, mine.out
    first = {path: path.read_bytes() for path in (seal, *envelopes(out))}
    assert cli(*words, "--trials", "2", "--sign", key.private).code == 0
    assert {path: path.read_bytes() for path in first} == first
    other = Key(tmp_path, "other", "ecdsa")
    assert cli(*words, "--trials", "2", "--sign", other.private).code == 0
    both = cli("audit", out, "--public-key", key.public, "--public-key", other.public)
    assert both.code == 0 and "3 signatures verified" in both.out, both.out
    again = {path: path.read_bytes() for path in envelopes(out)}
    assert cli(*words, "--trials", "2", "--sign", other.private).code == 0
    assert {path: path.read_bytes() for path in again} == again


def test_what_stands_where_signatures_belong_is_not_overwritten(
    cli: Cli, run: Path, key: Key
) -> None:
    junk = next(run.glob("episodes/*")) / "seal.dsse.json"
    junk.write_bytes(b"hello")
    refused = cli("attest", run, "--key", key.private)
    assert refused.code == 2 and str(junk) in refused.err and envelopes(run) == [junk]
    junk.unlink()
    assert cli("attest", run, "--key", key.private).code == 0


def test_without_a_key_the_audit_says_what_it_does_not_verify(
    cli: Cli, run: Path, key: Key
) -> None:
    unsigned = cli("audit", run, "--public-key", key.public)
    assert unsigned.code == 1 and unsigned.out.count("gone: the seal is not signed") == 3
    assert cli("attest", run, "--key", key.private).code == 0
    found = cli("audit", run)
    assert found.code == 0 and "3 seals signed, not verified: give --public-key" in found.out


def test_a_run_that_does_not_hold_is_not_signed(cli: Cli, run: Path, key: Key) -> None:
    path = next(run.glob("episodes/*/transcripts/*"))
    path.write_text("other\n")
    refused = cli("attest", run, "--key", key.private)
    assert refused.code == 2 and "was altered, or has not ended" in refused.err
    assert envelopes(run) == []


def junk(place: Path) -> dict[str, Path]:
    """Files that are no keys to sign with."""
    made = {name: place / name for name in ("text", "public", "rsa", "p384", "locked", "large")}
    made["text"].write_text("hello\n")
    made["public"].write_bytes(Key(place, "other").public.read_bytes())
    made["rsa"].write_bytes(private_bytes(rsa.generate_private_key(65537, 2048)))
    made["p384"].write_bytes(private_bytes(ec.generate_private_key(ec.SECP384R1())))
    lock = pem.BestAvailableEncryption(b"secret")
    made["locked"].write_bytes(private_bytes(ed25519.Ed25519PrivateKey.generate(), lock))
    made["large"].write_bytes(b"-----BEGIN PRIVATE KEY-----\n" * 9000)
    os.mkfifo(place / "fifo")
    return made | {"absent": place / "absent", "directory": place, "fifo": place / "fifo"}


def test_a_bad_key_is_one_message_and_nothing_starts(
    cli: Cli, run: Path, studio: Studio, tmp_path: Path
) -> None:
    (tmp_path / "junk").mkdir()
    team, task = studio.team(verifier={"verdict": "approve"}), studio.task()
    before = sorted(run.rglob("*"))
    for name, path in junk(tmp_path / "junk").items():
        words = ["run", team, "--tasks", task, "--backend", "bubblewrap", "-o", tmp_path / "out"]
        ways: list[tuple[object, ...]] = [("attest", run, "--key", path)]
        if name in ("text", "fifo", "rsa"):
            ways += [(*words, "--sign", path), ("audit", run, "--public-key", path)]
        for command in ways:
            refused = cli(*command)
            assert refused.code == 2 and str(path) in refused.err, (name, refused.err)
            assert refused.err.count("\n") == 1 and "Traceback" not in refused.err
    assert not (tmp_path / "out").exists() and sorted(run.rglob("*")) == before


def test_a_key_that_others_may_read_is_told(cli: Cli, run: Path, key: Key) -> None:
    assert "others may read" not in cli("attest", run, "--key", key.private).err
    key.private.chmod(0o644)
    told = cli("attest", run, "--key", key.private)
    assert told.code == 0 and f"{key.private}: others may read this private key" in told.err


@pytest.mark.parametrize("place", ["team", "task", "run", "link", "usr"])
def test_a_key_where_roles_or_readers_see_it_is_refused(
    cli: Cli, studio: Studio, key: Key, tmp_path: Path, place: str
) -> None:
    team, task = studio.team(verifier={"verdict": "approve"}), studio.task()
    (tmp_path / "out").mkdir()
    where = {"team": team.parent, "task": task / "workspace", "run": tmp_path / "out",
             "link": team.parent, "usr": Path("/usr")}[place]  # fmt: skip
    inside = where / "key.pem"
    if place == "usr":
        inside = Path("/usr/bin/env")
    elif place == "link":
        inside.symlink_to(key.private)
    else:
        key.private.rename(inside)
    refused = cli("run", team, "--tasks", task, "--sign", inside, "--backend", "bubblewrap",
                  "-o", tmp_path / "out")  # fmt: skip
    words = "a link beside the team" if place == "link" else "a private key would be where others"
    assert refused.code == 2 and words in refused.err
    assert not (tmp_path / "out" / "run.json").exists()


def test_the_key_enters_no_box_and_no_file_of_the_run(
    cli: Cli, studio: Studio, key: Key, backend: Any, tmp_path: Path
) -> None:
    """Each role looks for it by its path, in the environment and in open descriptors."""
    look = (
        f"cat {key.private} && echo found-it; env; ls -l /proc/self/fd; "
        "cat /proc/1/environ /proc/*/cmdline | tr '\\0' '\\n'"
    )
    steps = {"steps": [{"run": look}]}
    team = studio.team(executor=steps, verifier={**steps, "verdict": "approve"})
    done = cli("run", team, "--tasks", studio.task(), "--backend", backend.name, "--sign",
               key.private, "-o", tmp_path / "out")  # fmt: skip
    assert done.code == 0, done.err
    secret = b"".join(key.private.read_bytes().split(b"\n")[1:-2])
    said = b""
    for path in (p for p in (tmp_path / "out").rglob("*") if p.is_file()):
        assert secret not in path.read_bytes(), path
        if path.parent.name == "transcripts":
            said += path.read_bytes()
    assert b"ROLEWALL_ROLE" in said and b"No such file" in said
    assert b"found-it\\n" not in said and key.private.name.encode() not in said.replace(
        look.encode(), b""
    ).replace(json.dumps(look).encode()[1:-1], b"").replace(f"cat: {key.private}".encode(), b"")
    assert cli("audit", tmp_path / "out", "--public-key", key.public).code == 0


def test_without_the_library_a_key_is_refused_with_the_way_out(run: Path, key: Key) -> None:
    code = (
        "import sys; sys.modules['securesystemslib'] = None\n"
        "from rolewall.cli import main; main()\n"
    )
    words = {
        "attest": ["attest", run, "--key", key.private],
        "audit": ["audit", run, "--public-key", key.public],
        "plain": ["audit", run],
    }
    for name, command in words.items():
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, command)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if name == "plain":
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 2
            assert "(pip install 'rolewall[attest]')" in done.stderr, done.stderr


def test_the_page_says_how_others_verify_it(cli: Cli, run: Path, key: Key, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert cli("attest", run, "--key", key.private).code == 0
    run.rename(tmp_path / "RUN")
    for name, code_of in ((key.public, 0), (Key(tmp_path, "other").public, 1)):
        (tmp_path / "key.pub").write_bytes(name.read_bytes())
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=120,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == code_of, done.stderr
        assert ("run.json" in done.stdout) != ("VerificationError" in done.stderr)


def test_a_digest_that_is_none_is_refused(cli: Cli, run: Path) -> None:
    for text in ("", "abc", "g" * 64, "sha512:" + "0" * 64):
        refused = cli("audit", run, f"--expect={text}")
        assert refused.code == 2 and "64 hexadecimal digits" in refused.err, text


def test_a_signature_by_hand_is_a_check_that_can_fail(cli: Cli, run: Path, key: Key) -> None:
    """The twin of what others do: a changed payload has no valid signature."""
    assert cli("attest", run, "--key", key.private).code == 0
    envelope = json.loads(envelopes(run)[0].read_text())
    key.check_by_hand(envelope)
    payload = base64.b64decode(envelope["payload"]).replace(b"fixers", b"fakers")
    with pytest.raises(InvalidSignature):
        key.check_by_hand(envelope | {"payload": base64.b64encode(payload).decode()})
