"""JUnit XML, as the schemas of both Ant and Jenkins have it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from xml.etree import ElementTree as ET

__all__ = ["TestCase", "junit_xml"]

# What XML 1.0 cannot hold, escaped or not.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, kw_only=True)
class TestCase:
    """One test.

    Attributes:
        name: Its name within the suite.
        classname: What the CI server groups by.
        seconds: How long it took.
        status: How it ended; an error is a fault that says nothing about the case itself.
        kind: Type of the failure or error.
        message: One line of why it did not pass.
        detail: All of why.
        properties: Figures to report.
    """

    __test__ = False  # not a test class, whatever pytest makes of the name

    name: str
    classname: str
    seconds: float
    status: Literal["passed", "failed", "error", "skipped"]
    kind: str = ""
    message: str = ""
    detail: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


def junit_xml(suite: str, cases: Sequence[TestCase], *, started: datetime) -> str:
    """A report with one suite.

    Properties stand at the suite, as ``<case>.<property>``: Ant's schema has no place for them in a case.
    """
    root = ET.Element("testsuites")
    node = ET.SubElement(
        root,
        "testsuite",
        {
            "package": "cutegen",
            "id": "0",
            "name": _text(suite),
            "timestamp": started.strftime("%Y-%m-%dT%H:%M:%S"),
            "hostname": "localhost",
            "tests": str(len(cases)),
            "failures": _count(cases, "failed"),
            "errors": _count(cases, "error"),
            "skipped": _count(cases, "skipped"),
            "time": _seconds(sum(case.seconds for case in cases)),
        },
    )
    properties = ET.SubElement(node, "properties")
    for case in cases:
        for name, value in case.properties.items():
            full = _text(f"{case.name}.{name}")
            ET.SubElement(properties, "property", {"name": full, "value": _text(value)})
    for case in cases:
        _case(node, case)
    ET.SubElement(node, "system-out")
    ET.SubElement(node, "system-err")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(parent: ET.Element, case: TestCase) -> None:
    node = ET.SubElement(
        parent,
        "testcase",
        {"name": _text(case.name), "classname": _text(case.classname), "time": _seconds(case.seconds)},
    )
    if case.status == "skipped":
        ET.SubElement(node, "skipped", {"message": _text(case.message)})
    elif case.status != "passed":
        tag = "failure" if case.status == "failed" else "error"
        body = ET.SubElement(node, tag, {"type": _text(case.kind), "message": _text(case.message)})
        body.text = _text(case.detail)


def _count(cases: Iterable[TestCase], status: str) -> str:
    return str(sum(case.status == status for case in cases))


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _text(value: str) -> str:
    return _ILLEGAL.sub("\ufffd", value)
