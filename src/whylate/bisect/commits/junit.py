"""A bisection of commits as JUnit's XML."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.bisect.commits.carry_out import Result
from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.model import CommitsPlan, Step
from whylate.bisect.commits.words import lines_of
from whylate.report.exports.junit import Bad, Case, junit_document
from whylate.stats.ordered_search.answer import Kind


def junit_of(plan: CommitsPlan, commits: Commits, steps: Sequence[Step], result: Result) -> bytes:
    """Return one test case: does BAD measure as GOOD does?

    It fails where a commit, or a gradual change, makes the difference. Where that is one commit
    that is not confirmed, or the bisection is not over, it is an error: neither is shown.
    """
    lines = list(lines_of(plan, commits, steps, result))
    answer = result.answer
    kind: Bad | None = None
    if answer is None:
        kind = "error"
    elif answer.kind is not Kind.NO_STEP:
        confirmed = result.confirmation is not None and result.confirmation.confirmed
        kind = "error" if answer.kind is Kind.ONE_VERSION and not confirmed else "failure"
    name = f"{plan.statistic} from {plan.good[:12]} to {plan.bad[:12]}"
    case = Case(name, kind, " ".join(lines[1:]), "\n".join(lines))
    return junit_document("whylate bisect commits", "whylate.bisect", [case])
