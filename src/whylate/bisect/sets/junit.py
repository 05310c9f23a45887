"""A bisection as JUnit, for a pipeline: a test case that passes where there is an answer."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from whylate.bisect.sets.model import MadeRun, Sets
from whylate.bisect.sets.words import lines_of
from whylate.stats.search.model import (
    Answer,
    Culprits,
    ExplainsPart,
    GapTooSmall,
    NotAmong,
    Undecided,
)
from whylate.text import plain


def junit_document(sets: Sets, runs: Sequence[MadeRun], answer: Answer | None) -> bytes:
    """Return one test case: is the second side as the first?

    A gap is a failure, whose message says what makes it; what is undecided is an error; no gap
    passes.
    """
    lines = [plain(line, 600) for line in lines_of(sets, runs, answer)]
    suite = Xml.Element("testsuite", name="whylate bisect", tests="1")
    name = f"{plain(sets.plan.second.name, 200)} against {plain(sets.plan.first.name, 200)}"
    case = Xml.SubElement(
        suite, "testcase", classname=f"whylate.bisect.{sets.nouns.verb}", name=name
    )
    kind = _kind(answer)
    if kind is not None:
        message = " ".join(line.strip() for line in lines[1:])[:2000]
        Xml.SubElement(case, kind, message=message)
    Xml.SubElement(case, "system-out").text = "\n".join(lines)
    suite.set("failures", str(int(kind == "failure")))
    suite.set("errors", str(int(kind == "error")))
    document: bytes = Xml.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document


def _kind(answer: Answer | None) -> str | None:
    if answer is None or isinstance(answer, Undecided | GapTooSmall):
        return "error"
    return "failure" if isinstance(answer, Culprits | ExplainsPart | NotAmong) else None
