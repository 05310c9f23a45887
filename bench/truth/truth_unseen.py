"""What `whylate explain` says of faults whose authors have not read its rules (lab/faults/unseen).

`python bench/truth/truth_unseen.py [--boards pc,pc-rt,virt-arm64] [--engines bpf,tracefs]
[--sizes 2,5,10] [--only WORDS] [--for 90m] [--json FILE] [--mark] [--once]`

Each answer is one of:

right        the first cause that is called is one of the fault's answers, and no other is called
class only   its class is right, and the culprit is not named
unexplained  nothing is called
misnamed     something is called that is neither
bystander    something is called that was beside the fault and delayed nothing

A thread of the fault's own program that is called beside a right cause is no misnaming: it had the
CPU, and it is the culprit.

A run in which the fault did not act, or in which nothing was late, has no mark. Where the fault
delays nothing on that kernel it is right to call nothing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from truth_case import Case, Rig
from truth_plan import Group, causes_of
from truth_runs import is_made, open_made, recording_path

from truth import run, seconds
from whylate.causes.answer import EMULATORS_TURN, explain_recording
from whylate.causes.window.piece import Cause
from whylate.lab.faults.catalogue import Fault, fault
from whylate.lab.faults.log import FaultLog, unpack
from whylate.run.unattended import FAULTS

Verdict = Literal["right", "class only", "unexplained", "misnamed", "bystander", "no mark"]
VERDICTS: tuple[Verdict, ...] = (
    "right", "class only", "unexplained", "misnamed", "bystander", "no mark"
)  # fmt: skip
#: Classes for which time that nothing recorded accounts for is the class, and no name.
OUTSIDE = frozenset({"outside the traced kernel", "exception handler", "hypervisor steal"})


class Called(msgspec.Struct, frozen=True):
    """A cause that an answer calls, with the interval of its share."""

    cause: str
    detail: str
    share: float
    low: float | None
    high: float | None


class Marked(msgspec.Struct, frozen=True):
    """A run with its mark."""

    case: str
    fault: str
    board: str
    engine: str
    size: float
    verdict: Verdict
    acted: int
    episodes: int
    called: list[Called]
    why: str = ""


def cases(
    boards: Sequence[str], engines: Sequence[str], sizes: Sequence[float], group: Group = "unseen"
) -> Iterator[Case]:
    """Yield all runs: every fault on every board that can have it."""
    for board in boards:
        for engine in ("bpf", "tracefs"):
            if engine not in engines or (engine == "bpf" and board.startswith("sabrelite")):
                continue
            for name in causes_of(board, group):
                rig = Rig(board, fault(name).cpus, engine)
                for number, size in enumerate(sizes):
                    yield Case(rig, (name,), size, seed=number + 1)


def matches(pattern: str, alias: str, cause: str, detail: str) -> bool:
    """Whether a pattern, the beginning of a cause and a part of its detail, fits a called cause."""
    words = pattern.replace("{alias}", alias).split()
    return any(
        cause.startswith(" ".join(words[:cut])) and " ".join(words[cut:]) in detail
        for cut in range(len(words), 0, -1)
    )


def mark(case: Case) -> Marked:
    """Explain a run that was made, and mark the answer; raises RunFailedError."""
    recording = open_made(case)
    entry = fault(case.causes[0])
    logs = recording_path(case) / FAULTS
    if not logs.exists():
        return Marked(
            case.name, entry.name, case.rig.board, case.rig.engine, case.size, "no mark", 0, 0, [],
            "the fault did not start",
        )  # fmt: skip
    (log,) = unpack(logs.read_bytes())
    explained = explain_recording(recording)
    population = explained.population
    called = [
        Called(share.cause.value, share.detail, share.share, share.low, share.high)
        for share in (population.causes if population else [])
        # Time that the emulator took is real, and no cause on the board.
        if share.significant and share.detail != EMULATORS_TURN
    ]
    verdict = _verdict(entry, log, called, rt=case.rig.rt)
    why = ""
    if not log.events:
        verdict, why = "no mark", "the fault did not act"
    elif population is None and entry.right_answer(rt=case.rig.rt).pieces:
        verdict, why = "no mark", explained.why_not or ""
    return Marked(
        case.name, entry.name, case.rig.board, case.rig.engine, case.size, verdict,
        len(log.events), population.episodes if population else 0, called, why,
    )  # fmt: skip


def _verdict(entry: Fault, log: FaultLog, called: Sequence[Called], *, rt: bool) -> Verdict:
    answer = entry.right_answer(rt=rt)
    if any(
        other.replace("{alias}", log.alias) in item.detail
        for item in called
        for other in entry.bystanders
    ):
        return "bystander"
    if not called:
        return "unexplained" if answer.pieces else "right"
    marks = [
        (_mark_of(answer.kind, answer.pieces, answer.class_only, log.alias, item), item)
        for item in called
    ]
    others = [
        verdict
        for verdict, item in marks
        if verdict != "misnamed" or item.cause != Cause.THREAD or log.alias not in item.detail
    ]
    return "misnamed" if not others or "misnamed" in others else others[0]


def _mark_of(
    kind: str, pieces: Sequence[str], class_only: Sequence[str], alias: str, called: Called
) -> Verdict:
    if any(matches(piece, alias, called.cause, called.detail) for piece in pieces):
        return "right"
    if any(matches(piece, alias, called.cause, called.detail) for piece in class_only):
        return "class only"
    if called.cause == Cause.OUTSIDE and kind in OUTSIDE:
        return "class only"
    return "misnamed"


def table(marked: Sequence[Marked]) -> str:
    """Return the marks by board and engine, as Markdown."""
    lines = [f"| board | engine | runs | {' | '.join(VERDICTS)} |", "|---|---|" + "---:|" * 7]
    groups: dict[tuple[str, str], Counter[str]] = {}
    for item in marked:
        for key in ((item.board, item.engine), ("all", "")):
            groups.setdefault(key, Counter())[item.verdict] += 1
    for (board, engine), counts in sorted(groups.items(), key=lambda item: item[0][0] == "all"):
        runs = sum(counts.values())
        cells = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
        lines.append(f"| {board} | {engine} | {runs} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Make the runs, mark them, and print the marks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", default="pc,pc-rt,virt-arm64")
    parser.add_argument("--engines", default="bpf,tracefs")
    parser.add_argument("--sizes", default="2,5,10")
    parser.add_argument("--only", default="", help="cases whose name contains one of these words")
    parser.add_argument("--for", dest="limit", default="24h", help="no case begins after that")
    parser.add_argument("--json", type=Path, help="where the marks are written")
    parser.add_argument("--mark", action="store_true", help="run nothing")
    parser.add_argument(
        "--once", action="store_true", help="those that were unseen, and have mended a rule"
    )
    options = parser.parse_args()
    group: Group = "once unseen" if options.once else "unseen"
    sizes = [float(size) for size in options.sizes.split(",")]
    planned = [
        case
        for case in cases(options.boards.split(","), options.engines.split(","), sizes, group)
        if any(word in case.name for word in options.only.split(","))
    ]
    if not options.mark:
        run(planned, seconds(options.limit))
    marked = [mark(case) for case in planned if is_made(case)]
    for item in marked:
        called = ", ".join(f"{c.cause} {c.detail} {c.share:.0%}" for c in item.called)
        print(f"{item.verdict:12} {item.case:52} {called or item.why}")
    print(table(marked))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(marked)))


if __name__ == "__main__":
    main()
