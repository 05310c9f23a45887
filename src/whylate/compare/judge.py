"""Is the second better than the first? A verdict from two sets of runs.

The rule. Runs that cannot be trusted, that are of different workloads, or that did not run the code
that they should have (whylate.compare.hits), give no verdict. What is compared is a run, or a boot
of several runs (whylate.compare.confounded). All statistics that the runs bear are tested together,
at 5 % over both directions: where any differs, the side that is higher there is the worse one, by
the statistic that shows it most clearly. Test and interval are two methods: a statistic whose 95 %
interval holds that there is no change shows nothing. One of a side that overruns hide is only known
to be at least so high: it can show that side worse, and better only where it would be that as high
as it can be. Where margins were stated, "same" takes the whole 90 % interval of each of those
ratios within its margin (two one-sided tests at 5 %), and that nothing else differs. All else is
inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylate.compare.cautions import cautions, distrust
from whylate.compare.confounded import units, without_partner
from whylate.compare.counted import compare_counts
from whylate.compare.environment import (
    clock_warning,
    compare_environments,
    environment_cautions,
)
from whylate.compare.hits import compare_hits
from whylate.compare.model import ArmFigures, Comparison, Question, StatisticRow, Verdict
from whylate.compare.runs import Arm
from whylate.compare.tested import Tested, tested
from whylate.compare.words import change_text, names_text, percent_text
from whylate.stats.comparison.joint import fewest_pairs, fewest_runs
from whylate.stats.comparison.run_statistics import P99, STATISTICS
from whylate.stats.limits import normal

#: The level that more runs are planned for.
_NOMINAL = 0.05
#: Power of what "about so many more runs would decide" plans for.
_POWER = 0.8
#: The t that a statistic takes to show in a joint test of several, about.
_SHOWS = 2.8
#: One run shows nothing of how runs of its side differ, however many the other side has.
_FEWEST_RUNS = 2
_FEW_TEXT = (
    "a side has a single run, which shows nothing of how such runs differ: make several of each"
)
#: More runs than this nobody makes.
_MOST_RUNS = 1000


@dataclass(frozen=True)
class _Finding:
    verdict: Verdict
    why: str


def compare(first: Arm, second: Arm, question: Question) -> Comparison:
    """Compare two sides; each has at least one run. Every refusal states what would be enough."""
    question = _of_these(first, second, question)
    of = units(first, second, accept=question.accept)
    shown = tested(of.first, of.second, question)
    finding = _finding(shown, question)
    verdict, why = finding.verdict, finding.why
    distrusted = distrust(first, second)
    hits = compare_hits(first, second, question.hits)
    environment = compare_environments(first, second, question.studied)
    if distrusted is not None:
        verdict, why = "no verdict", distrusted
    elif hits.why_not is not None:
        verdict, why = "no verdict", hits.why_not
    elif of.why_not is not None and verdict == "inconclusive":
        verdict, why = "no verdict", f"nothing differs in these runs, and {of.why_not}"
    elif of.why_not is not None and verdict != "no verdict":
        verdict, why = "no verdict", f"{why}, in these runs alone: {of.why_not}"
    elif (lonely := without_partner(first, second)) is not None and verdict != "no verdict":
        verdict, why = "no verdict", f"{why}, in these pairs alone: {lonely}"
    more = _more_runs(shown, question.alpha) if verdict == "inconclusive" else None
    if verdict == "inconclusive" and more is None:
        why += f"; more than {_MOST_RUNS} runs a side would not show what so little differs"
    warning = clock_warning(environment)
    if warning is not None:
        why += f"; {warning}"
    return Comparison(
        first=_figures(first),
        second=_figures(second),
        unit=question.unit,
        verdict=verdict,
        why=why,
        scope=of.scope,
        statistics=shown.rows,
        within=finding.verdict,
        p=shown.test.p if shown.test else None,
        smallest_p=shown.test.smallest_p if shown.test else None,
        paired=shown.paired,
        more_runs=more,
        cautions=[
            *hits.cautions,
            *environment_cautions(environment),
            *cautions(first, second, of, question),
        ],
        environment=environment,
        hits=hits.rows,
        counters=compare_counts(shown.first, shown.second, paired=shown.paired),
    )


def _of_these(first: Arm, second: Arm, question: Question) -> Question:
    """Return the question with the statistics that these runs have, where it names none itself."""
    if question.statistics is not STATISTICS:
        return question
    # Also those that not every run has: they are refused, and not left out without a word.
    every = {
        statistic.name: statistic
        for run in (*second.runs, *first.runs)
        for statistic in run.statistics
    }
    order = dict.fromkeys(
        statistic.name for run in (*first.runs, *second.runs) for statistic in run.statistics
    )
    return replace(question, statistics=tuple(every[name] for name in order))


def _figures(arm: Arm) -> ArmFigures:
    boots = arm.boots
    return ArmFigures(arm.name, len(arm.runs), None if boots is None else len(boots))


def _finding(shown: Tested, question: Question) -> _Finding:
    """Say what the units show, whatever else they may stand for."""
    test = shown.test
    if test is None:
        reasons = [row.refused for row in shown.rows if row.refused]
        return _Finding("no verdict", "; ".join(reasons[:2]) or "nothing to compare")
    if test.smallest_p > question.alpha:
        return _Finding("no verdict", _too_few(shown, test.smallest_p, question))
    if min(len(shown.first.runs), len(shown.second.runs)) < _FEWEST_RUNS:
        return _Finding("no verdict", _FEW_TEXT)
    if test.p <= question.alpha:
        return _differing(shown, question)
    return _alike(shown, question)


def _too_few(shown: Tested, smallest_p: float, question: Question) -> str:
    runs = min(len(shown.first.runs), len(shown.second.runs))
    of = "pair" if shown.paired else "run"
    each = "" if shown.paired else " a side"
    fewest = fewest_pairs(question.alpha) if shown.paired else fewest_runs(question.alpha)
    moved = [row for row in shown.rows if row.ratio not in (None, 0.0 if row.linear else 1.0)]
    seen = moved[0] if moved else None
    change = f"; {change_text(seen)}" if seen is not None else ""
    level = f"{100 * question.alpha:.2g} %"
    return (
        f"{runs} {of}{'s' if runs > 1 else ''}{each} can show nothing at {level}: the smallest p "
        f"that could come out is {smallest_p:.2g}; {fewest} {of}s{each} are the least, "
        f"and 10 are better{change}"
    )


def _differing(shown: Tested, question: Question) -> _Finding:
    """Say which side is worse, where the joint test found that they differ."""
    assert shown.test is not None  # noqa: S101 (what is called for where there is one)
    rows = [row for row in shown.rows if row.p is not None]
    weights = {statistic.name: statistic.weight for statistic in question.statistics}
    scores = {
        row.name: weights[row.name] * t for row, t in zip(rows, shown.test.t.tolist(), strict=True)
    }
    # Above zero where the second side is the worse one.
    bad = {row.name: scores[row.name] * (-1 if row.higher_is_better else 1) for row in rows}
    by_score = sorted(rows, key=lambda row: -abs(scores[row.name]))
    clear = [row for row in by_score if (row.p or 0.0) <= question.alpha] or by_score[:1]
    held = [row for row in clear if row.name not in shown.hidden]
    doubtful = [row for row in held if _holds_null(row)]
    held = [row for row in held if row not in doubtful]
    if not held and doubtful:
        return _Finding(
            "inconclusive",
            f"{change_text(doubtful[0])}, of which the test finds a difference and the interval "
            "none",
        )
    if not held:
        return _Finding(
            "no verdict",
            f"{names_text([row.name for row in clear])} differ, but overruns hide how high the "
            "lower side is: a longer --interval measures them in full",
        )
    # What overruns of the lower side hide may be as high as the other side's, or lower.
    unknown = [row for row in clear if row.name in shown.hidden]
    kept = [row for row in held if not row.within]
    if not kept and not unknown and _all_within(shown.rows):
        return _Finding("same", _same_text(shown.rows))
    best = (kept or held)[0]
    worse = bad[best.name] > 0
    against = [row for row in held if (bad[row.name] > 0) != worse]
    perhaps_worse = [row.name for row in unknown if bad[row.name] > 0]
    if not worse and not against and perhaps_worse:
        return _Finding(
            "no verdict",
            f"{change_text(best)}, but {names_text(perhaps_worse)} "
            f"{'is' if len(perhaps_worse) == 1 else 'are'} higher unless overruns of the first "
            "side hide as much: a longer --interval measures them in full",
        )
    # Where some statistics are better and others worse, the worse news is the verdict's.
    if against and not worse:
        best, against = against[0], [row for row in held if bad[row.name] <= 0]
        worse = True
    alike = [row for row in held if row is not best and row not in against]
    # Of rates and of times what is worse goes different ways.
    others = [row for row in alike if (scores[row.name] > 0) == (scores[best.name] > 0)]
    apart = [row for row in alike if row not in others]
    why = change_text(best)
    if others:
        names = names_text([row.name for row in others])
        why += f"; {names} {'is' if len(others) == 1 else 'are'} too"
    for row in apart[:2]:
        why += f"; {change_text(row)}"
    if against:
        why += f"; but {'; '.join(change_text(row) for row in against[:2])}"
    return _Finding("worse" if worse else "better", why)


def _holds_null(row: StatisticRow) -> bool:
    """Whether an interval holds that there is no change: test and interval are two methods."""
    null = 0.0 if row.linear else 1.0
    return row.low is not None and row.high is not None and row.low <= null <= row.high


def _alike(shown: Tested, question: Question) -> _Finding:
    """Say whether what was not found to differ was shown to be the same."""
    if _all_within(shown.rows):
        return _Finding("same", _same_text(shown.rows))
    wide = [row for row in shown.rows if row.margin is not None and not row.within]
    untested = [row for row in wide if row.p is None]
    if question.linear and wide:
        return _Finding(
            "no verdict",
            "values that are not all above zero have no ratio, and a margin in % is one: no "
            "margin can be kept here",
        )
    if untested:
        return _Finding(
            "no verdict",
            f"no statement is possible for {names_text([row.name for row in untested])}, for which "
            f"a margin was stated: {untested[0].refused}",
        )
    if not wide:
        return _Finding(
            "inconclusive",
            "no statistic differs at 5 %, which does not show that they are the same: "
            f"--same {_example(question)}:10% asks for that",
        )
    row = wide[0]
    return _Finding(
        "inconclusive",
        f"{change_text(row)}, which is neither shown to differ nor to be the same "
        f"within {percent_text(row.margin or 1).lstrip('+')}",
    )


def _example(question: Question) -> str:
    """Return a statistic that a margin may be stated for."""
    names = [statistic.name for statistic in question.statistics]
    if P99.name in names:
        return P99.name
    return f"'{names[0]}'" if " " in names[0] else names[0]


def _all_within(rows: Sequence[StatisticRow]) -> bool:
    stated = [row for row in rows if row.margin is not None]
    return bool(stated) and all(row.within for row in stated)


def _same_text(rows: Sequence[StatisticRow]) -> str:
    return "; ".join(
        f"{row.name} is the same within {percent_text(row.margin or 1).lstrip('+')}"
        for row in rows
        if row.margin is not None
    )


def _more_runs(shown: Tested, alpha: float) -> int | None:
    """Return about how many more runs a side would decide; None: no number that anybody makes.

    Where a margin was stated, so many that two variants that are equal would be shown the same
    with a power of 80 %: n = 2 (z(1 - alpha) + z(1 - beta / 2))^2 sd^2 / margin^2. Else so many
    that the statistic which differs most would show at that level, if the difference is what it
    looks like.
    """
    if shown.test is None:
        return None
    runs = min(len(shown.first.runs), len(shown.second.runs))
    wanted = []
    for row in shown.rows:
        if row.margin is not None and not row.within and row.p is not None:
            sd = _spread(shown, row.name)
            z = normal(1 - _NOMINAL) + normal(1 - (1 - _POWER) / 2)
            wanted.append(2 * (z * sd / math.log(row.margin)) ** 2)
    if not wanted:
        largest = float(np.abs(shown.test.t).max())
        if largest < 1:
            return None
        shows = _SHOWS + normal(1 - alpha / 2) - normal(1 - _NOMINAL / 2)
        wanted.append(runs * ((shows + normal(_POWER)) / largest) ** 2)
    more = max(1, math.ceil(max(wanted) - runs))
    return more if more <= _MOST_RUNS else None


def _spread(shown: Tested, name: str) -> float:
    """Return the standard deviation of runs of one side, by which a difference is judged."""
    first, second = shown.first.compared(name), shown.second.compared(name)
    if shown.paired:
        return float((second - first).std(ddof=1)) / math.sqrt(2)
    return math.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
