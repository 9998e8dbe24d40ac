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
    ("/usr/bin/bash", ["bash", "-c", "-o", "allexport", ". ./b.sh"]),
    ("/usr/bin/bash", ["bash", "-ac", "read LD_PRELOAD < x; ls"]),
    ("/usr/bin/gawk", ["gawk", '@load "/workspace/x"; BEGIN {}']),
    ("/usr/bin/env", ["env", "LD_AUDIT=/workspace/x.so", "ls"]),
    ("/usr/bin/env", ["env", "PYTHONHOME=/workspace", "ls"]),
    ("/usr/bin/env", ["env", "-a", "x", "LD_PRELOAD=/workspace/x.so", "ls"]),
    ("/usr/bin/env", ["env", "BASH_FUNC_ls%%=() { . ./b.sh; }", "bash", "/rolewall/agents/x.sh"]),
    *(
        ("/usr/bin/bash", ["bash", "-c", text])
        for text in (
            "export LD_PRELOAD=/workspace/x.so; cat y",
            "export FOO=1; cat y",
            "declare -x LD_PRELOAD=./x.so; ls",
            "typeset -x LD_PRELOAD=./x.so; ls",
            "readonly LD_PRELOAD=./x.so; export LD_PRELOAD; ls",
            'x=LD_PRELOAD; export "$x=./x.so"; ls',
            "declare -n x=LD_PRELOAD; x=./x.so; ls",
            "LD_AUDIT=/workspace/x.so ls",
            "LD_PRELOAD+=/workspace/x.so ls",
            "export PYTHONPATH=/workspace && python3 /rolewall/agents/v.py",
            "PYTHONHOME=/workspace python3 /rolewall/agents/v.py",
            "PYTHONPYCACHEPREFIX=/workspace/p python3 /rolewall/agents/v.py",
            "PERL5LIB=lib perl /rolewall/agents/v.pl",
            "OPENSSL_CONF=o.cnf sha256sum a",
            "GETCONF_DIR=/workspace getconf -a",
            "HOME=/workspace git log",
            "LANG=../workspace/x ls",
            "LC_ALL=/workspace/x ls",
            "PAGER=./x git log",
            "set -a; read LD_PRELOAD < x; ls",
            "set -o allexport; ls",
            "read -r PYTHONPATH < x; python3 /rolewall/agents/v.py",
            "printf -v PYTHONPATH %s /workspace; python3 /rolewall/agents/v.py",
            "for PYTHONPATH in /workspace; do python3 /rolewall/agents/v.py; done",
            "for x do . ./b.sh; done",
            "mapfile -c 1 -C eval < /workspace/x",
            "readarray -c 1 -C eval x < /workspace/x",
            "fc -s; ls",
            "hash -p /workspace/x ls; ls",
            "compgen -C '. ./b.sh'",
            "function f { . ./b.sh; }; f",
            "coproc . ./b.sh",
            "time -p . ./b.sh",
            "jobs -x . ./b.sh",
            'echo "$(. ./b.sh)"',
            "echo `. ./b.sh`",
            "cat <(. ./b.sh)",
            "x=val; e$x ./b.sh",
            "ls x'a '\n. ./b.sh '' z'k'",
            "cat <<E\nx '\nE\n. ./b.sh # '",
            "echo $(case x in x) . ./b.sh;; esac)",
            'read x < f; echo "${x@P}"',
            "x='a[$(. ./b.sh)]'; echo ${!x}",
            "read x < f; echo $((x))",
            "x='a[$(. ./b.sh)]'; [[ $x -eq 0 ]]",
            "[[ -f x && x -eq 'a[$(. ./b.sh)]' ]]",
            "unset 'a[$(. ./b.sh)]'",
            "test -v 'a[$(. ./b.sh)]'",
            "cat $(cat <<E)\n. ./b.sh\nE",
            "ls &> x . ./b.sh",
            "x=1 \\\n. ./b.sh",
            "echo '",
            "echo " + "$(" * 60 + ")" * 60,
        )
    ),
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
    ("/usr/bin/gawk", ["gawk", "BEGIN { print 1 }", "load@include.d"]),
    ("/usr/bin/env", ["env", "-i", "-u", "X", "TZ=UTC", "ls", "LD_PRELOAD=x"]),
    *(
        ("/usr/bin/bash", ["bash", "-c", text])
        for text in (
            "LANG=C.UTF-8 LC_ALL='en_US.UTF-8' TZ=UTC date",
            "NO_COLOR=1 TERM=dumb PAGER=cat GIT_PAGER='' COLUMNS=200 CI=true git log",
            "export LC_ALL=C PAGER=cat; git diff | cat",
            "FOO=1 rolewall-check -- pytest -q 2>&1 | tail -5",
            "out=/tmp/x; n=3; head -n $n f > $out",
            'total=$(wc -l < f); echo "$total lines, don\'t you see"',
            "set -euo pipefail; cd /workspace && ls -la",
            "find . -name '*.py' -print0 | while IFS= read -r -d '' f; do wc -l \"$f\"; done",
            'while read -r line; do echo "$line"; done < f',
            "for f in a b; do printf '%s\\n' \"${f%.py}\"; done",
            "# don't look\ncat f  # or '",
            "cat f \\\n  g && \\\n  ls",
            "echo 'it''s'; cat <<'E' > x\n. ./b.sh don't\nE\nls",
            'cat > x <<EOF\n{"a": "it\'s"}\nEOF',
            "diff <(sort a) <(sort b)",
            "echo $((1 + 2)); x=3; echo $((x * 2))",
            "if [[ -f x ]]; then cat x; else { ls; }; fi",
            'if [ "$(wc -l < x)" -eq 3 ]; then echo `ls | wc -l`; fi',
            "ls > /dev/null 2>&1; ls &> x; ls >& y",
            'n=$(grep -v x f | wc -l); if [[ -n $n ]]; then echo "[$n]"; fi',
            "case $x in a) ls;; b) pwd;; esac",
            "echo $'a\\'b' \"a \\\" b ${x:-y} ${#x}\"",
        )
    ),
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
