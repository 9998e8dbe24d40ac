"""A decision as JUnit XML: one test case a bound, and one for whether it could be weighed.

The elements and attributes are those that Jenkins' xUnit schema (junit-10.xsd) and GitLab
know. What fails a bound, or leaves it undecided, is a ``failure`` of that kind; what may not
be weighed is an ``error``: a reader that knows only red and green sees red.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rolewall.decision import Bound, Decision
from rolewall.terminal import escape

__all__ = ["junit"]

SUITE = "rolewall gate"
EVIDENCE = "the episodes may be weighed"


def junit(decision: Decision) -> bytes:
    """The file, as UTF-8."""
    root = Element("testsuites")
    suite = SubElement(root, "testsuite")
    properties = SubElement(suite, "properties")
    for name, value in _properties(decision):
        SubElement(properties, "property", name=name, value=escape(value))
    bounds = list(_cases(decision))
    suite.extend(bounds)
    SubElement(suite, "system-out").text = "\n".join(map(escape, decision.lines()))
    counts = {
        "tests": str(len(bounds)),
        "failures": str(sum(case.find("failure") is not None for case in bounds)),
        "errors": str(sum(case.find("error") is not None for case in bounds)),
    }
    root.attrib.update({"name": SUITE, **counts})
    suite.attrib.update({"name": SUITE, **counts, "skipped": "0"})
    indent(root)
    text: str = tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _properties(decision: Decision) -> Iterator[tuple[str, object]]:
    yield "status", decision.status
    yield "exit_code", decision.exit_code
    yield "condition", decision.condition
    yield "place", decision.place
    for option, limit in decision.rules.limits().items() if decision.rules else ():
        yield option.removeprefix("--"), limit


def _cases(decision: Decision) -> Iterator[Element]:
    case = _case(decision, EVIDENCE)
    if decision.status == "refused":
        problem = SubElement(case, "error", type="refused", message=escape(decision.reasons[0]))
        problem.text = _text(decision.reasons)
    yield case
    for bound in decision.bounds:
        yield _bound(decision, bound)


def _bound(decision: Decision, bound: Bound) -> Element:
    case = _case(decision, f"{bound.name} by {bound.limit:g}")
    if bound.status != "holds":
        problem = SubElement(case, "failure", type=bound.status, message=escape(bound.reasons[0]))
        problem.text = _text(bound.reasons)
    return case


def _case(decision: Decision, name: str) -> Element:
    return Element(
        "testcase", name=name, classname=f"rolewall.{escape(decision.condition)}", time="0"
    )


def _text(reasons: tuple[str, ...]) -> str:
    return "\n".join(map(escape, reasons))
