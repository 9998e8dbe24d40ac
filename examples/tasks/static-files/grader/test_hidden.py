import pytest
from files import read_public


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "public"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "in.txt").write_text("in")
    (tmp_path / "public-not").mkdir()
    (tmp_path / "public-not" / "s.txt").write_text("secret")
    (tmp_path / "s.txt").write_text("secret")
    return root


@pytest.mark.parametrize(
    "path",
    [
        "../s.txt",
        "sub/../../s.txt",
        "%2e%2e%2fs.txt",
        "../public-not/s.txt",
        "/../s.txt",
        "../none",
    ],
)
def test_nothing_outside_is_read(root, path):
    with pytest.raises(PermissionError):
        read_public(root, path)


def test_absolute_paths_mean_names_below_the_root(root, tmp_path):
    for slash in ("/", "//", "%2F"):
        assert read_public(root, f"{slash}sub/in.txt") == b"in"
        with pytest.raises(FileNotFoundError):
            read_public(root, f"{slash}{str(tmp_path)[1:]}/s.txt")


def test_links_that_lead_outside(root, tmp_path):
    (root / "link").symlink_to(tmp_path / "s.txt")
    (root / "dir").symlink_to(tmp_path)
    for path in ("link", "dir/s.txt"):
        with pytest.raises(PermissionError):
            read_public(root, path)


def test_links_that_stay_inside(root):
    (root / "link").symlink_to("sub/in.txt")
    assert read_public(root, "link") == b"in"


@pytest.mark.parametrize(
    ("name", "path"), [("notes..txt", "notes..txt"), ("...", "..."), ("%2e", "%252e")]
)
def test_harmless_names_are_served(root, name, path):
    (root / name).write_text("ok")
    found = read_public(root, path)
    assert type(found) is bytes and found == b"ok"


def test_what_is_no_file(root):
    for path in ("sub", "none.txt", "sub/in.txt/x"):
        with pytest.raises(FileNotFoundError):
            read_public(root, path)
    with pytest.raises(PermissionError):
        read_public(root, "sub/in.txt%00.png")
