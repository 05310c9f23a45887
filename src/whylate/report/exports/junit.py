"""JUnit's XML for pipelines: test cases that pass, fail, end in an error or are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as Xml

from whylate.text import plain, plain_lines

Bad = Literal["failure", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """A test case. kind, message: why it did not pass; kind None: it did."""

    name: str
    kind: Bad | None = None
    message: str = ""
    output: str = ""


def junit_document(name: str, classname: str, cases: Sequence[Case]) -> bytes:
    """Return a suite of test cases; control characters, which XML cannot hold, become visible."""
    suite = Xml.Element("testsuite", name=name, tests=str(len(cases)))
    for case in cases:
        element = Xml.SubElement(suite, "testcase", classname=classname, name=plain(case.name))
        if case.kind is not None:
            Xml.SubElement(element, case.kind, message=plain(case.message, 800))
        Xml.SubElement(element, "system-out").text = plain_lines(case.output, 100_000)
    kinds = [case.kind for case in cases]
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(kinds.count(kind)))  # type: ignore[arg-type]
    document: bytes = Xml.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document
