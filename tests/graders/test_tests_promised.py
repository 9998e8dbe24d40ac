from __future__ import annotations

import pytest

from rolewall.graders.pytest_tests import promised_tests

SOURCE = b"""
import pytest, unittest
def helper(): pass
def test_a(): pass
async def test_b(): pass
@pytest.fixture
def test_data(): return 1
class TestC:
    def test_d(self): pass
    def other(self): pass
class TestMade:
    def __init__(self): pass
    def test_e(self): pass
class Odd(unittest.TestCase):
    def test_f(self): pass
class TestOff:
    __test__ = False
    def test_g(self): pass
class Plain:
    def test_h(self): pass
"""


def test_the_source_names_its_tests() -> None:
    assert promised_tests(SOURCE, "t.py") == [
        "t.py::test_a",
        "t.py::test_b",
        "t.py::TestC::test_d",
        "t.py::Odd::test_f",
    ]


def test_a_file_may_opt_out() -> None:
    assert promised_tests(b"__test__ = False\ndef test_a(): pass\n", "t.py") == []


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        promised_tests(b"def test_a(:\n", "t.py")
