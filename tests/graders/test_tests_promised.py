from __future__ import annotations

import pytest

from rolewall.graders.pytest_tests import promised_tests, undefined_tests

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


MAKES = b"""
import unittest
from shared import Common, test_shared
if True:
    def test_here(): pass
test_made = test_here
class Base:
    def test_base(self): pass
class TestChild(Base):
    def test_own(self): pass
    class TestDeep:
        def test_deep(self): pass
class TestOther(Common): pass
class TestUnit(unittest.TestCase):
    def test_unit(self): pass
@decorated
class TestMarked: pass
"""


@pytest.mark.parametrize(
    "name",
    ["test_here[1]", "test_made", "test_shared", "TestChild::test_base", "TestChild::test_own[a]",
     "TestChild::TestDeep::test_deep", "TestOther::test_any", "TestUnit::test_unit",
     "TestMarked::test_any"],
)  # fmt: skip
def test_a_name_that_the_source_may_define_is_not_refused(name: str) -> None:
    assert undefined_tests([f"t.py::{name}"], {"t.py": MAKES}) == []


@pytest.mark.parametrize(
    "node",
    ["t.py::test_gone", "t.py::TestGone::test_own", "t.py::TestChild::test_gone", "t.py::test_own",
     "t.py::TestUnit::test_gone", "u.py::test_here", "t.py::TestChild::TestDeep::test_own"],
)  # fmt: skip
def test_a_name_that_the_source_cannot_define_is_named(node: str) -> None:
    assert undefined_tests([node, "t.py::test_here"], {"t.py": MAKES}) == [node]


@pytest.mark.parametrize("source", [b"from shared import *\n", b"globals()['test_a'] = print\n"])
def test_a_source_that_makes_names_unseen_gets_the_benefit_of_the_doubt(source: bytes) -> None:
    assert undefined_tests(["t.py::test_a"], {"t.py": source}) == []
