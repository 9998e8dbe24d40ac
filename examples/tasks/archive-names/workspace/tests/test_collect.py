import subprocess


def collect(source, target):
    done = subprocess.run(
        ["sh", "collect.sh", source, target],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()[-1:]


def test_names_with_blanks(tmp_path):
    source = tmp_path / "in"
    (source / "web one").mkdir(parents=True)
    (source / "web one" / "two words.log").write_text("a")
    (source / "plain.log").write_text("b")
    (source / "other.txt").write_text("c")
    assert collect(source, tmp_path / "out") == (0, ["2 files"])
    assert (tmp_path / "out" / "web one" / "two words.log").read_text() == "a"
    assert not (tmp_path / "out" / "other.txt").exists()


def test_nothing_to_copy(tmp_path):
    (tmp_path / "in").mkdir()
    assert collect(tmp_path / "in", tmp_path / "out") == (0, ["0 files"])
