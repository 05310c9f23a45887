"""`whylate predict asid`: flushes by the policy of ids for address spaces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import CommaList
from whylate.cli.print_json import json_option
from whylate.quantities import format_count, format_percent
from whylate.stats.id_policies import MOST_IDS, POLICIES
from whylate.text import is_number, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table
    from rich.text import Text

    from whylate.predict.address_ids import AddressIds, Check, RecordedIds


def _parse_ids(word: str) -> int | None:
    number = int(word) if is_number(word) else 0
    return number if 1 <= number <= MOST_IDS else None


_IDS = CommaList("numbers", _parse_ids, f"6,8,16, up to {MOST_IDS}")
_POLICY = CommaList("policies", lambda word: word if word in POLICIES else None,
                    ",".join(POLICIES))  # fmt: skip


@click.command(name="asid")
@click.argument("file", metavar="TRACE")
@click.option("--ids", type=_IDS, default="6,8,16", show_default=True, metavar="N,…",
              help="Ids of each CPU; of generations for all CPUs.")  # fmt: skip
@click.option("--policy", "policies", type=_POLICY, default="in-turn,lru", show_default=True,
              metavar="POLICY,…", help="in-turn (x86), lru, generations (arm64).")  # fmt: skip
@json_option
def command(file: str, ids: tuple[int, ...], policies: tuple[str, ...], as_json: bool) -> None:
    """Predict how often translations are flushed with N ids for address spaces on each CPU.

    TRACE is a recording of whylate bench switch --record, or the text of ftrace, trace-cmd or perf
    with the events sched:sched_switch and tlb:tlb_flush; - reads the standard input. What the
    kernel did, by the latter, is shown beside the simulation of its policy.

    Exit status: 0 done, 3 no policy can have these numbers of ids.
    """
    from whylate.cli.predict.options import open_benchmark, print_answer
    from whylate.cli.trace_files import open_trace, trace_name
    from whylate.predict.address_ids import predict_flushes, predict_recorded
    from whylate.recording.traces.address_spaces import read_address_spaces

    answer: AddressIds | RecordedIds
    if Path(file).is_dir():
        answer = predict_recorded(open_benchmark(Path(file)), ids, policies)  # type: ignore[arg-type]
        points = answer.points
        lines = _lines_of_points(points)
    else:
        with open_trace(file, "name the file of the trace in it") as stream:
            spaces = read_address_spaces(stream, trace_name(file))
        answer = predict_flushes(file, spaces, ids, policies)  # type: ignore[arg-type]
        points = [answer]
        lines = _lines(answer)
    print_answer("address-ids", answer, lines, as_json=as_json)
    sys.exit(0 if any(point.policies for point in points) else 3)


def _lines_of_points(points: Sequence[AddressIds]) -> Iterator[Table | Text]:
    from rich.text import Text

    from whylate.recording.workloads.point_names import count_text

    for point in points:
        yield Text(f"{plain(point.trace, 120)}, {count_text(point.turns, 'turn')}", "bold")
        yield from _lines(point)


def _lines(answer: AddressIds) -> Iterator[Table | Text]:
    from rich.table import Table
    from rich.text import Text

    yield Text(
        f"{format_count(answer.switches)} switches between {format_count(answer.spaces)} address "
        f"spaces in {answer.seconds:.4g} s ({format_count(answer.threads)} of threads)"
    )
    if answer.check is not None:
        yield Text(_check_text(answer.check))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("policy", "ids", "flushes", "per switch", "outdated"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for made in answer.policies:
        least = "" if made.least == made.flushes else f"{format_count(made.least)} … "
        table.add_row(
            made.policy,
            format_count(made.ids),
            f"{least}{format_count(made.flushes)}",
            f"{made.per_switch:.3f}",
            format_count(made.outdated),
        )
    if answer.policies:
        yield table
    for refused in answer.no_model:
        yield Text(f"no model  {refused.policy}: {refused.reason}", style="yellow")
    for text in answer.supposes:
        yield Text(f"supposes  {plain(text, 300)}", style="dim")
    if answer.unread:
        yield Text(f"{format_count(answer.unread)} lines of these events were not understood")


def _check_text(check: Check) -> str:
    counted = f"counted  {format_count(check.counted)} flushes at switches by the kernel; its own"
    simulated = check.simulated
    least = "" if simulated.least == simulated.flushes else f"{format_count(simulated.least)} … "
    off = "" if check.off is None else f", off by {format_percent(check.off, 1, signed=True)}"
    return (
        f"{counted} policy simulated ({simulated.policy}, {simulated.ids} ids): "
        f"{least}{format_count(simulated.flushes)}{off}"
    )
