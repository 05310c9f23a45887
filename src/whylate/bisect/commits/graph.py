"""The commits between GOOD and BAD, in an order in which parents come first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whylate.bisect.commits.git import GitError, check_commit, resolve_commit, run_git
from whylate.stats.ordered_search.history import MAX_MERGED_VERSIONS, History

MAX_COMMITS = 200_000
_MAX_SUBJECT = 200


@dataclass(frozen=True, eq=False)
class Commits:
    """A range of a repository.

    hashes: GOOD first, then the commits that BAD holds and GOOD does not, BAD last. subjects: the
    first line of each one's message, without control characters. parents: the places of those
    within the range; a parent outside it, which GOOD holds, is 0. history: which holds which.
    """

    hashes: tuple[str, ...]
    subjects: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    history: History

    def place(self, commit: str) -> int:
        """Return the place of a hash; raises GitError if the range does not have it."""
        try:
            return self.hashes.index(commit)
        except ValueError:
            raise GitError(f"commit {commit[:12]} is not between GOOD and BAD") from None


def read_commits(repository: Path, good: str, bad: str, *, first_parent: bool = False) -> Commits:
    """Read the range GOOD..BAD; good, bad: any names of commits.

    first_parent: follow the first parent of each merge alone, so that a merge counts as one commit
    and the range is a line. Raises GitError for names that name no commit, a GOOD that BAD does not
    descend from, an empty range, and one that is too large.
    """
    start, end = resolve_commit(repository, good), resolve_commit(repository, bad)
    if start == end:
        raise GitError(f"GOOD and BAD are the same commit, {start[:12]}")
    _check_descent(repository, start, end)
    arguments = ["rev-list", "--topo-order", "--reverse", "--format=%H %P%x00%s"]
    arguments.append(f"--max-count={MAX_COMMITS + 1}")
    if first_parent:
        arguments.append("--first-parent")
    lines = run_git(repository, [*arguments, end, f"^{start}", "--"]).split("\n")
    # A line "commit HASH" stands before each of ours.
    rows = [line.split("\0", 1) for line in lines if "\0" in line]
    if len(rows) > MAX_COMMITS:
        raise GitError(f"the range has more than {MAX_COMMITS:,} commits: choose a nearer GOOD")
    hashes, subjects, places = [start], [""], {start: 0}
    all_parents: list[tuple[int, ...]] = [()]
    for names, subject in rows:
        commit, *before = (check_commit(name) for name in names.split())
        if first_parent:
            before = before[:1]
        all_parents.append(tuple(dict.fromkeys(places.get(name, 0) for name in before)))
        places[commit] = len(hashes)
        hashes.append(commit)
        subjects.append(_plain(subject))
    if hashes[-1] != end:
        raise GitError(f"git did not list {end[:12]} last")
    return Commits(tuple(hashes), tuple(subjects), tuple(all_parents), _history(tuple(all_parents)))


def _check_descent(repository: Path, start: str, end: str) -> None:
    base = run_git(repository, ["merge-base", "--all", start, end]).split()
    if start not in base:
        advice = f"use {base[0][:12]}, their merge base" if base else "they have none in common"
        raise GitError(f"BAD does not descend from GOOD, {start[:12]}: {advice}")


def _history(parents: tuple[tuple[int, ...], ...]) -> History:
    """Return which commit holds which.

    Raises GitError for a range with merges that is too large for a table.
    """
    size = len(parents)
    if all(before == (place - 1,) for place, before in enumerate(parents) if place):
        return History(size)
    if size > MAX_MERGED_VERSIONS:
        raise GitError(
            f"{size:,} commits with merges are more than {MAX_MERGED_VERSIONS:,}: "
            "search the first parents, then the branch of the merge that is found"
        )
    holds = np.eye(size, dtype=bool)
    holds[:, 0] = True
    for place, before in enumerate(parents):
        for parent in before:
            holds[place] |= holds[parent]
    return History(size, holds)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:_MAX_SUBJECT])
