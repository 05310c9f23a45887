"""A bisection of an ordered history as JUnit's XML."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.bisect.ordered.carry_out import Result
from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.ordered.versions import Versions
from whylate.bisect.ordered.words import lines_of
from whylate.report.exports.junit import Bad, Case, junit_document
from whylate.stats.ordered_search.answer import Kind


def junit_of(plan: OrderedPlan, versions: Versions, steps: Sequence[Step], result: Result) -> bytes:
    """Return one test case: does the last version measure as the first one does?

    It fails where a version, or a gradual change, makes the difference. Where that is one version
    that is not confirmed, or the bisection is not over, it is an error: neither is shown.
    """
    lines = list(lines_of(plan, versions, steps, result))
    answer = result.answer
    kind: Bad | None = None
    if answer is None:
        kind = "error"
    elif answer.kind is not Kind.NO_STEP:
        confirmed = result.confirmation is not None and result.confirmation.confirmed
        kind = "error" if answer.kind is Kind.ONE_VERSION and not confirmed else "failure"
    name = f"{plan.statistic} from {versions.short(0)} to {versions.short(len(versions.names) - 1)}"
    case = Case(name, kind, " ".join(lines[1:]), "\n".join(lines))
    return junit_document(f"whylate bisect {versions.nouns.verb}", "whylate.bisect", [case])
