"""`whylate bound`: how rare is it that something is later than so much?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import CLAIM, DURATION
from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.compare.bound import Bound
    from whylate.compare.extrapolation import Extrapolation
    from whylate.summary.requirements import RateLimit

STATUS = {"pass": 0, "fail": 1, "inconclusive": 3, "no verdict": 3}


@click.command(name="bound")
@click.argument("recordings", nargs=-1, type=click.Path(path_type=Path))
@click.option("--above", "above_ns", type=DURATION, metavar="TIME",
              help="How rare is what is later than this?  [default: the largest latency seen]",
              )  # fmt: skip
@click.option("--claim", type=CLAIM,
              help="Do the runs bear it out? Without RECORDINGS: how long they must be.",
              )  # fmt: skip
@click.option("--once-in", "once_in_ns", type=DURATION, metavar="TIME",
              help="Extrapolate: which latency is exceeded about once in TIME? At most ten times "
              "what the runs are worth, and only where they can bear it.",
              )  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    recordings: tuple[Path, ...],
    above_ns: int | None,
    claim: RateLimit | None,
    once_in_ns: int | None,
    as_json: bool,
) -> None:
    """Say how rare late activations are, from what RECORDINGS bear out together.

    Late activations whose windows overlap, on whatever CPU, are one episode. With none above it in
    so much time a limit is exceeded less often than three times in that time, with 95 %
    confidence; where episodes come in clusters it takes longer. No run can prove a maximum. Exit
    status 0, 1 where a claim fails, 3 where the runs do not decide it, or where only an
    extrapolation was asked for and they do not bear one.
    """
    from whylate.cli.imported import refuse_imported
    from whylate.compare.bound import bound
    from whylate.compare.sources import recordings_in

    if not recordings:
        if once_in_ns is not None:
            raise click.UsageError("--once-in extrapolates from recordings: name them")
        _plan(claim, as_json=as_json)
        return
    if above_ns is not None and claim is not None:
        raise click.UsageError("--claim says itself above what: leave --above out")
    places = [one for path in recordings for one in recordings_in(path)]
    refuse_imported(places, "when its activations came, so that nothing says how rare a late one "
                    "is: no verdict; whylate measure records it")  # fmt: skip
    found = bound(places, above_ns, claim, once_in_ns)
    if as_json:
        _print_json(found)
    else:
        _print(found)
    if found.verdict is not None:
        sys.exit(STATUS[found.verdict])
    asked = found.extrapolation if above_ns is None else None
    refused = asked is not None and asked.level_ns is None
    sys.exit(3 if found.why_not is not None or refused else 0)


def _plan(claim: RateLimit | None, *, as_json: bool) -> None:
    """Say before a run how long it must be."""
    from whylate.compare.bound import planned_seconds
    from whylate.quantities import format_seconds_up, format_short_ns

    if claim is None:
        raise click.UsageError("name recordings, or a claim that is still to be tried (--claim)")
    seconds = planned_seconds(claim)
    if as_json:
        print_json({"claim": claim.text, "seconds": seconds})
        return
    click.echo(
        f"To claim {claim.text} takes {format_seconds_up(seconds)} without any activation later "
        "than "
        f"{format_short_ns(claim.limit_ns)}, where they come one by one; where k of them come "
        "together, k "
        "times as long. One that is later makes it longer still."
    )


def _print(found: Bound) -> None:
    from rich.text import Text

    from whylate.quantities import (
        format_count,
        format_seconds_down,
        format_seconds_up,
        format_short_ns,
    )
    from whylate.report.plain_console import plain_console
    from whylate.text import plain

    console = plain_console()
    runs = f"{found.runs} run{'s' if found.runs != 1 else ''}, {format_seconds_down(found.seconds)}"
    if found.largest_ns is not None:
        sign = "≥ " if found.at_least else ""
        console.print(f"{runs}; the largest latency {sign}{format_short_ns(found.largest_ns)}")
    if found.why_not is not None:
        console.print(Text(f"no verdict  {plain(found.why_not, 500)}", style="bold red"))
    if found.once_in_s is not None:
        noun = "episode" if found.episodes == 1 else "episodes"
        console.print(
            f"Above {format_short_ns(found.above_ns)}: {format_count(found.episodes)} {noun}; "
            "with 95 % "
            f"confidence less often than once in {format_seconds_down(found.once_in_s)}"
            + (
                f", and more often than once in {format_seconds_down(found.more_often_than_s)}"
                if found.more_often_than_s is not None
                else ""
            )
            + f" (about {found.clusters:.1f} episodes count as one)."
        )
    if found.verdict is not None:
        console.print(Text(f"{found.verdict}  {found.claim}: {plain(found.why or '', 400)}."))
    if found.more_s is not None:
        console.print(f"About {format_seconds_up(found.more_s)} more like these would bear it out.")
    if found.extrapolation is not None:
        _print_extrapolation(console, found.extrapolation)
    console.print(
        Text(
            "Of runs like these: in as much time again the largest latency rises every second "
            "time, whatever it is.",
            style="dim",
        )
    )


def _print_extrapolation(console: Console, found: Extrapolation) -> None:
    from rich.text import Text

    from whylate.quantities import (
        format_count,
        format_rough_ns,
        format_seconds_down,
        format_short_ns,
    )
    from whylate.text import plain

    if found.level_ns is None or found.low_ns is None or found.high_ns is None:
        console.print(Text("no extrapolation:", style="bold red"))
        for reason in found.reasons:
            console.print(Text(f"– {plain(reason, 500)}"))
        return
    one_boot = "; all runs are from one boot, and another may differ by itself"
    label = found.label + (one_boot if found.one_boot else "")
    console.print(
        f"About once in {format_seconds_down(found.every_s)}: later than "
        f"{format_rough_ns(found.level_ns)}, "
        f"95 % interval {format_rough_ns(found.low_ns)} … {format_rough_ns(found.high_ns)}; "
        f"{label}. From the {format_count(found.episodes or 0)} episodes above "
        f"{format_short_ns(found.threshold_ns or 0)}, generalised Pareto with shape "
        f"{found.shape:.2f}."
    )


def _print_json(found: Bound) -> None:
    import msgspec

    document = {"format": "whylate-bound", "version": 1, **msgspec.to_builtins(found)}
    print_json(document)
