"""Which executions may have run the work beside the verdict."""

from __future__ import annotations

import sys

import pytest

from rolewall.roles import Execution, claim_seen, runs_work

PYTHON = f"{sys.base_prefix}/bin/python3.11"

WORK = [
    ("/usr/bin/dash", ["sh"]),
    ("/usr/bin/dash", ["sh", "-s"]),
    ("/usr/bin/dash", ["sh", "/workspace/x.sh"]),
    ("/usr/bin/dash", ["sh", "x.sh"]),
    ("/usr/bin/dash", ["sh", "-c", ". ./x.sh"]),
    ("/usr/bin/bash", ["bash", "-c", "source x.sh; true"]),
    ("/usr/bin/bash", ["bash", "-c", 'eval "$(cat x)"']),
    ("/usr/bin/bash", ["bash", "-c", "BASH_ENV=x.sh bash -c true"]),
    ("/usr/bin/bash", ["bash", "-c", "LD_PRELOAD=./x.so cat y"]),
    ("/usr/bin/dash", ["sh", "-c"]),
    ("/usr/bin/dash", ["sh", "-c", "\\. ./b.sh"]),
    ("/usr/bin/bash", ["bash", "-c", "-l", ". ./b.sh"]),
    ("/usr/bin/dash", ["sh", "-c", '"eval" "$(cat b.sh)"']),
    ("/usr/bin/dash", ["sh", "-c", "c=.; $c ./b.sh"]),
    ("/usr/bin/dash", ["sh", "-c", 'trap "$(cat b.sh)" EXIT']),
    ("/usr/bin/dash", ["sh", "-c", "alias x=.\nx ./b.sh"]),
    ("/usr/bin/dash", ["sh", "-c", "true && command . ./b.sh"]),
    ("/usr/bin/dash", ["sh", "-c", 'sh -c "$(cat b.sh)"']),
    ("/usr/bin/dash", ["sh", "-c", 'awk "$(cat t.awk)"']),
    ("/usr/bin/dash", ["sh", "-c", "if true; then . ./b.sh; fi"]),
    ("/usr/bin/env", ["env", "-S", "BASH_ENV=/workspace/b.sh bash -c true"]),
    ("/usr/bin/env", ["env", "PYTHONPATH=/workspace", "true"]),
    ("/usr/bin/mawk", ["awk", "-ft.awk"]),
    ("/usr/bin/sed", ["sed", "-nf", "t.sed"]),
    ("/usr/bin/sed", ["sed", "--fil=t.sed"]),
    ("/usr/bin/gawk", ["gawk", "-E", "t.awk"]),
    (PYTHON, ["python3", "-mpytest", "/rolewall/agents/x.py"]),
    (PYTHON, ["python3", "-Ic", "import app", "/rolewall/agents/x.py"]),
    (PYTHON, ["python3", "app.py"]),
    (PYTHON, ["python3", "-m", "pytest"]),
    (PYTHON, ["python3", "-c", "import app"]),
    (PYTHON, ["python3", "/rolewall/bin/pytest"]),
    (PYTHON, ["python3", "/rolewall/agents/../../workspace/x.py"]),
    (PYTHON, ["rolewall-check", "forge.py"]),
    ("/rolewall/bin/pytest", ["pytest", "-q"]),
    ("/usr/local/bin/pytest", ["pytest"]),
    ("/usr/bin/make", ["make"]),
    ("/usr/bin/java", ["java", "-cp", "/workspace", "T"]),
    ("/usr/bin/busybox", ["busybox", "sh", "x.sh"]),
    ("/usr/bin/coverage", ["coverage", "run", "x.py"]),
    ("/usr/bin/mawk", ["awk", "-f", "x.awk"]),
    ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", ["ld.so", "/workspace/prog"]),
    ("/workspace/prog", ["ls"]),
    ("/workspace/rolewall-check", ["rolewall-check"]),
    ("/tmp/cat", ["/tmp/cat", "forge.py"]),
    ("/home/a.out", ["./a.out"]),
    ("/memfd:x", ["ls"]),
    ("", ["ls"]),
    # What only looks like words that a command reads.
    ("/usr/bin/dash", ["sh", "-c", "# <<'E'\n. ./b.sh\nE"]),
    ("/usr/bin/dash", ["sh", "-c", "cat <<'E'; . ./b.sh\ntext\nE"]),
    ("/usr/bin/dash", ["sh", "-c", ". /dev/stdin <<'E'\n. ./b.sh\nE"]),
    ("/usr/bin/dash", ["sh", "-c", "cat <<E\n$(. ./b.sh)\nE"]),
    ("/usr/bin/dash", ["sh", "-c", ": '\ncat <<'E'\n'; . ./b.sh; '\nE\n'"]),
    ("/usr/bin/dash", ["sh", "-c", "cat <<'E'\ntext\nE\n. ./b.sh"]),
]
INNOCENT = [
    ("/rolewall/init", ["rolewall-check", "--", "python3", "-m", "pytest"]),
    ("/usr/bin/dash", ["/bin/sh", "-c", "git diff HEAD~1 | head -50"]),
    ("/usr/bin/dash", ["sh", "-c", "rolewall-check -- pytest; cat /spec/spec.md"]),
    ("/usr/bin/bash", ["bash", "/rolewall/agents/verify.sh"]),
    ("/rolewall/agents/verify", ["verify"]),
    (PYTHON, ["python3", "/rolewall/agents/verify.py", "--fast"]),
    ("/usr/bin/git", ["git", "diff"]),
    ("/usr/lib/git-core/git", ["git", "log"]),
    ("/usr/bin/sed", ["sed", "-i", "s/a/b/", "app.py"]),
    ("/usr/bin/sed", ["sed", "-n", "-e", "1,5p", "app.py"]),
    ("/usr/bin/mawk", ["awk", "-F,", "{print $1}", "data.csv"]),
    ("/usr/bin/env", ["env", "LC_ALL=C", "sort", "x"]),
    (
        "/usr/bin/dash",
        ["sh", "-c", "LC_ALL=C sort x | head -3 > /tmp/y; test -s /tmp/y && [ 1 = 1 ]"],
    ),
    ("/usr/bin/dash", ["sh", "-c", 'echo "$(wc -l < x)"; for f in a b; do cat "$f"; done']),
    ("/usr/bin/grep", ["grep", "-rn", "x", "/workspace"]),
    ("/usr/bin/dash", ["sh", "-lc", 'cat > v.json <<\'E\'\n{"a": "$(b)"}\n. ./b.sh\nE\nls']),
    ("/usr/bin/dash", ["sh", "-c", "cat <<'E' > x && cat <<-\"F\" > y\n. ./b.sh\nE\n( a\n\tF\n"]),
]


@pytest.mark.parametrize(("exe", "argv"), WORK)
def test_may_have_run_the_work(exe: str, argv: list[str]) -> None:
    assert runs_work(Execution(exe, tuple(argv)))


@pytest.mark.parametrize(("exe", "argv"), INNOCENT)
def test_has_not_run_the_work(exe: str, argv: list[str]) -> None:
    assert not runs_work(Execution(exe, tuple(argv)))


@pytest.mark.pain(26)
@pytest.mark.parametrize(
    ("claim", "argv", "seen"),
    [
        ("python3 -m pytest -q", ["/rolewall/bin/python3", "-m", "pytest", "-q"], True),
        ("make test", ["/bin/sh", "-c", "make test"], True),
        ('python3 -c "from a import b; b(1)"', ["python3", "-c", "from a import b; b(1)"], True),
        ("python3 -c from a import b", ["python3", "-c", "from a import b"], True),
        ("make test", ["/usr/bin/true", "make test"], False),
        ("python3 -m pytest -q", ["/bin/echo", "python3 -m pytest -q"], False),
        ("pytest", ["/usr/bin/true", "pytest"], False),
        ("", ["/usr/bin/true"], False),
    ],
)
def test_claims_are_seen_only_as_what_was_executed(claim: str, argv: list[str], seen: bool) -> None:
    assert claim_seen(claim, [argv]) is seen


@pytest.mark.parametrize("exe", ["/usr/bin/dash", PYTHON, "/usr/bin/mawk"])
def test_arguments_that_were_cut_are_not_trusted(exe: str) -> None:
    argv = ("x", "-c", "true") if exe.endswith("dash") else ("x", "/rolewall/agents/x.py")
    assert runs_work(Execution(exe, argv, whole=False))
