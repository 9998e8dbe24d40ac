import pytest
from files import read_public


@pytest.fixture
def root(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "public" / "css").mkdir(parents=True)
    (tmp_path / "public" / "css" / "a b.css").write_text("css")
    return tmp_path / "public"


def test_files_below_the_root_are_served(root):
    assert read_public(root, "css/a%20b.css") == b"css"


@pytest.mark.parametrize("path", ["../secret.txt", "css/../../secret.txt", "%2e%2e/secret.txt"])
def test_files_above_it_are_not(root, path):
    with pytest.raises(PermissionError):
        read_public(root, path)
