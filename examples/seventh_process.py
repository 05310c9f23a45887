"""The seventh process.

`python examples/seventh_process.py [--quick]`

A CPU that keeps an identifier with each entry of its translation buffer need not flush it to
change to another address space: until it has run out of identifiers. How many it has shows as a
cliff in the flushes of a ring of processes; an x86 kernel keeps six for each CPU. The second part
is what the ministat box of a FreeBSD change that brought such identifiers to arm64 says, and what
it cannot. Needs root on an x86 machine to see the flushes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from story import HERE, interval, points, say, telling, whylate

TASKS = (4, 5, 6, 7, 8, 10, 12)
BOX = HERE / "data" / "asid_lat_ctx_ministat.txt"


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


def finding(result: Mapping[str, dict[str, Any]]) -> str:
    """Return where the cliff is, and what it costs."""
    rings = {item["parameters"]["tasks"]: item for item in result.values()}
    flushes = {
        tasks: item["flushes_per_switch"]
        for tasks, item in rings.items()
        if item["flushes_per_switch"] is not None
    }
    if not flushes:
        return "This kernel does not tell when it flushes the translation buffer: no cliff shows."
    edge = cliff(flushes)
    if edge is None:
        return f"No cliff up to {max(flushes)} processes: flushes a switch {flushes}."
    below, above = edge
    before, after = (interval(rings[tasks]["ns_per_switch"]) for tasks in edge)
    return (
        f"With {below} processes {flushes[below]:.3f} of the switches flush the translation "
        f"buffer, with {above} {flushes[above]:.2f}. A switch takes {before} ns with {below} and "
        f"{after} ns with {above}, of processes that touch next to no memory and have little to "
        "read anew; --set-size gives them some."
    )


def main() -> None:
    """Measure the ring, and read the box."""
    with telling(__doc__.splitlines()[0]) as (out, quick):
        less = ["--rounds", "6", "--repetitions", "2", "--block", "20ms"] if quick else []
        result = points(
            whylate("bench", "switch", "--tasks", ",".join(map(str, TASKS)),
                    "-o", out / "ring", *less)
        )  # fmt: skip
    for name, item in result.items():
        flushes = item["flushes_per_switch"]
        output = "not told" if flushes is None else f"{flushes:.3f}"
        print(
            f"  {name:9} {interval(item['ns_per_switch'])} ns a switch, flushes a switch {output}"
        )
    say(finding(result))
    box = whylate("compare", BOX)
    student = box["student"]
    say(
        f"The published box: {100 * student['relative']:.2f} % ± "
        f"{100 * student['relative_half_width']:.2f} % by Student's t, and the verdict is "
        f"{box['verdict']}: {box['why']}."
    )


if __name__ == "__main__":
    main()
