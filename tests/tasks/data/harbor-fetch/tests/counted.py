from pathlib import Path


def test_count() -> None:
    assert Path("/app/count.txt").exists()
