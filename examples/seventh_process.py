"""The seventh process.

`python examples/seventh_process.py [--out DIR] [--quick] [--json]`

A CPU that keeps an identifier with each entry of its translation buffer need not flush it to
change to another address space: until it has run out of identifiers. How many it has shows as a
cliff in the flushes of a ring of processes; an x86 kernel keeps six for each CPU. The ring below
the cliff and the ring above it are a CPU with identifiers and one without. The last part is what
the ministat box of a FreeBSD change that brought such identifiers to arm64 says, and what it
cannot. Needs root on an x86 machine to see the flushes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from story import (
    HERE,
    Claim,
    Interval,
    Reproduced,
    judge,
    median,
    points,
    refused,
    telling,
    whylate,
)

TASKS = (4, 5, 6, 7, 8, 10, 12)
BOX = HERE / "data" / "asid_lat_ctx_ministat.txt"
#: A switch with identifiers to one without, as published of 20 processes.
PUBLISHED = 2.908 / 3.584
#: Rings by their number of tasks.
Rings = Mapping[int, Mapping[str, Any]]


def cliff(flushes: Mapping[int, float]) -> tuple[int, int] | None:
    """Return between which numbers of tasks the flushes begin; None where they do not.

    A ring between them may flush at a part of its switches: identifiers are given in turn.
    """
    few = [tasks for tasks, each in flushes.items() if each < 0.1]
    most = [tasks for tasks, each in flushes.items() if each > 0.5]
    if not few or not most or max(few) > min(most):
        return None
    between = [tasks for tasks in flushes if tasks not in few and tasks not in most]
    if any(not max(few) < tasks < min(most) for tasks in between):
        return None
    return max(few), min(most)


def over_runs(runs: Sequence[Rings], figure: str) -> dict[int, Interval]:
    """Return the median over runs of a figure, by the number of tasks, where each run has it."""
    result = {}
    for tasks in runs[0]:
        values = [rings[tasks][figure] for rings in runs]
        values = [each["value"] if isinstance(each, dict) else each for each in values]
        if all(each is not None for each in values):
            result[tasks] = median(values)
    return result


def flushing(flushes: Mapping[int, Interval]) -> tuple[Claim, tuple[int, int] | None]:
    """Return whether flushes begin where identifiers run out, and between which rings."""
    edge = cliff({tasks: each.value for tasks, each in flushes.items()})
    seen, why = "no figure", "this kernel does not tell when it flushes the translation buffer"
    reproduced: Reproduced = "cannot be told here"
    if edge is not None:
        below, above = edge
        reproduced = "yes"
        seen = (
            f"flushes a switch: {flushes[below]} with {below} processes, {flushes[above]} with "
            f"{above}"
        )
        why = "without an identifier to spare each switch flushes, with one hardly any does"
        if (flushes[below].high or 1) >= (flushes[above].low or 0):
            reproduced, why = "cannot be told here", "the intervals of both rings meet"
    elif flushes:
        reproduced = "no"
        seen = "flushes a switch: " + ", ".join(
            f"{each} with {tasks}" for tasks, each in flushes.items()
        )
        why = f"they do not begin between two rings of up to {max(flushes)} processes"
    return Claim(
        "Without identifiers of address spaces each context switch invalidates the translation "
        "buffer, with them it does not.",
        seen,
        reproduced,
        why,
    ), edge


def faster(runs: Sequence[Rings], edge: tuple[int, int] | None) -> Claim:
    """Return whether a switch without a flush is as much faster as was published."""
    claim = (
        "Identifiers make a switch between 20 processes 18.86 % faster: 2.908 instead of 3.584 us "
        f"(× {PUBLISHED:.3g})."
    )
    if edge is None:
        return refused(claim, "no two rings differ in flushes")
    below, above = edge
    ratio = median(
        [
            rings[below]["ns_per_switch"]["value"] / rings[above]["ns_per_switch"]["value"]
            for rings in runs
        ]
    )
    reproduced, why = judge(ratio, PUBLISHED)
    return Claim(
        claim,
        f"a switch with {below} processes takes × {ratio} of one with {above}, over {len(runs)} "
        "runs",
        reproduced,
        f"{why}; another CPU, and processes that touch next to no memory have little to read anew",
    )


def published(box: Mapping[str, Any]) -> Claim:
    """Return what the published box of two times ten figures can show."""
    student = box["student"]
    return Claim(
        "The difference is -18.8616 % ± 0.15136 % at 95 % confidence.",
        f"computed again from the published summary: {100 * student['relative']:.2f} % ± "
        f"{100 * student['relative_half_width']:.2f} % by Student's t; whylate compare: "
        f"{box['verdict']}",
        "cannot be told here",
        f"the arithmetic is the same; {box['why']}; both sides are of one boot",
    )


def main() -> None:
    """Measure the ring, and read the box."""
    with telling(__doc__) as story:
        less = ["--rounds", "2", "--repetitions", "2", "--block", "20ms"] if story.quick else (
            ["--rounds", "4", "--repetitions", "3"])  # fmt: skip
        runs = []
        for number in range(6 if story.quick else 10):
            document = whylate(
                "bench", "switch", "--tasks", ",".join(map(str, TASKS)), "--seed", str(number + 1),
                "-o", story.out / f"ring-{number + 1}", *less,
            )  # fmt: skip
            runs.append({item["parameters"]["tasks"]: item for item in points(document).values()})
        flushes = over_runs(runs, "flushes_per_switch")
        for tasks, cost in over_runs(runs, "ns_per_switch").items():
            output = flushes.get(tasks, "not told")
            print(f"  {tasks:2} tasks  {cost} ns a switch, flushes a switch {output}")
        flush, edge = flushing(flushes)
        story.end(flush, faster(runs, edge), published(whylate("compare", BOX)))


if __name__ == "__main__":
    main()
