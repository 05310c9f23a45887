"""The course of a search as `git bisect log` prints it, for `git bisect replay`.

git has one verdict per commit, so the log says what the answer says of each commit that was
measured: `bad` if it holds the commits of the answer, `good` if it holds none, nothing if it holds
some. It replays to the commits of the answer, whichever git would have tried.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from whylate.bisect.commits.graph import Commits
from whylate.stats.ordered_search.answer import Answer, Kind


def format_bisect_log(
    commits: Commits, answer: Answer, measured: Sequence[int], unbuildable: Collection[int]
) -> str:
    """Return the log.

    measured: places of commits in the order in which they were measured; one may come several
    times. unbuildable: those that did not build, `skip` in the log. Where the answer is not one
    step, a comment says so, and only both ends have a verdict: git knows one step alone.
    """
    last = len(commits.hashes) - 1
    lines = ["git bisect start"]
    lines += _verdict(commits, "bad", last) + _verdict(commits, "good", 0)
    lines += [line for place in sorted(unbuildable) for line in _verdict(commits, "skip", place)]
    if answer.kind not in (Kind.ONE_VERSION, Kind.VERSIONS):
        lines.append(f"# {answer.kind.value}, with probability {answer.probability:.3f}")
        return "\n".join(lines) + "\n"
    between = [place for place in dict.fromkeys(measured) if place not in (0, last)]
    held = commits.history.changes(between)[:, np.array(answer.versions)]
    for place, row in zip(between, held, strict=True):
        if row.all() or not row.any():
            lines += _verdict(commits, "bad" if row.all() else "good", place)
    for place in answer.versions:
        subject = commits.subjects[place]
        lines.append(f"# first bad commit: [{commits.hashes[place]}] {subject}")
    return "\n".join(lines) + "\n"


def _verdict(commits: Commits, word: str, place: int) -> list[str]:
    commit = commits.hashes[place]
    return [f"# {word}: [{commit}] {commits.subjects[place]}", f"git bisect {word} {commit}"]
