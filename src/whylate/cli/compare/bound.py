"""`whylate bound`: bound how often a latency is exceeded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.messages import refuse_imported
from whylate.cli.parameter_types import CLAIM, DURATION
from whylate.cli.print_json import json_option, print_document, print_json
from whylate.quantities import (
    format_count,
    format_rough_ns,
    format_seconds_down,
    format_seconds_up,
    format_short_ns,
)
from whylate.text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.compare.bound import Bound
    from whylate.compare.extrapolation import Extrapolation
    from whylate.summary.requirements import RateLimit


@click.command(name="bound")
@click.argument("recordings", nargs=-1, type=click.Path(path_type=Path))
@click.option("--above", "above_ns", type=DURATION, metavar="TIME",
              help="The latency whose rate is bounded.  [default: the largest seen]")  # fmt: skip
@click.option("--claim", type=CLAIM,
              help="Test this claim. Without RECORDINGS: how long the runs must be.")  # fmt: skip
@click.option("--once-in", "once_in_ns", type=DURATION, metavar="TIME",
              help="Extrapolate to the latency that is exceeded about once in TIME: at most ten "
              "times what the runs are worth, and only if they pass the checks.")  # fmt: skip
@click.option("--analytic", is_flag=True,
              help="Print also the worst latency that the longest pieces seen could make together: "
              "sections, interrupts by their arrivals, the switch.")  # fmt: skip
@json_option
def command(
    recordings: tuple[Path, ...],
    above_ns: int | None,
    claim: RateLimit | None,
    once_in_ns: int | None,
    analytic: bool,
    as_json: bool,
) -> None:
    """Bound how often a latency is exceeded, from all RECORDINGS together.

    Late activations whose windows overlap, on any CPU, are one episode. Without an episode in time
    T the rate is below 3/T, with 95 % confidence; if episodes come in clusters, it takes longer. No
    run proves a maximum.

    Exit status: 0 done, 1 the claim fails, 3 the runs do not decide the claim, or do not allow the
    extrapolation that alone was asked for.
    """
    if not recordings:
        if once_in_ns is not None:
            raise click.UsageError("--once-in extrapolates from recordings: name them")
        if analytic:
            raise click.UsageError("--analytic takes recordings: name them")
        _print_needed_time(claim, as_json=as_json)
        return
    if above_ns is not None and claim is not None:
        raise click.UsageError("--claim has a latency of its own: not with --above")
    import msgspec

    from whylate.cli.report.outcomes import STATUS
    from whylate.compare.bound import bound
    from whylate.compare.sources import recordings_in
    from whylate.report.plain_console import plain_console

    paths = [recording for path in recordings for recording in recordings_in(path)]
    refuse_imported(paths, "when its activations came, so that nothing says how rare a late one "
                    "is: no verdict; whylate measure records it")  # fmt: skip
    worst = None
    if analytic:
        from whylate.cli.compare.analytic import print_analytic, split_sampled
        from whylate.compare.analytic import analytic_bound

        worst = analytic_bound(paths)
        paths = split_sampled(paths)
    result = bound(paths, above_ns, claim, once_in_ns)
    if as_json:
        content = msgspec.to_builtins(result)
        print_document("bound", content | ({"analytic": worst} if worst is not None else {}))
    else:
        _print(result)
        if worst is not None:
            print_analytic(worst, plain_console())
    if result.verdict is not None:
        sys.exit(STATUS[result.verdict])
    asked = result.extrapolation if above_ns is None else None
    refused = asked is not None and asked.level_ns is None
    sys.exit(3 if result.why_not is not None or refused else 0)


def _print_needed_time(claim: RateLimit | None, *, as_json: bool) -> None:
    """Print how long runs must be to support a claim."""
    if claim is None:
        raise click.UsageError("name recordings, or a claim to plan runs for (--claim)")
    from whylate.compare.bound import planned_seconds

    seconds = planned_seconds(claim)
    if as_json:
        print_json({"claim": claim.text, "seconds": seconds})
        return
    click.echo(
        f"To claim {claim.text} takes {format_seconds_up(seconds)} without any activation later "
        f"than {format_short_ns(claim.limit_ns)}, if late activations come one by one; if k of "
        "them come together, k times as long. Each later one makes it longer still."
    )


def _print(result: Bound) -> None:
    from rich.text import Text

    from whylate.report.plain_console import plain_console

    console = plain_console()
    plural = "s" if result.runs != 1 else ""
    runs = f"{result.runs} run{plural}, {format_seconds_down(result.seconds)}"
    if result.largest_ns is not None:
        sign = "≥ " if result.at_least else ""
        console.print(f"{runs}; the largest latency {sign}{format_short_ns(result.largest_ns)}")
    if result.why_not is not None:
        console.print(Text(f"no verdict  {plain(result.why_not, 500)}", style="bold red"))
    if result.once_in_s is not None:
        noun = "episode" if result.episodes == 1 else "episodes"
        more = ""
        if result.more_often_than_s is not None:
            more = f", and more often than once in {format_seconds_down(result.more_often_than_s)}"
        console.print(
            f"Above {format_short_ns(result.above_ns)}: {format_count(result.episodes)} {noun}; "
            "with 95 % confidence less often than once in "
            f"{format_seconds_down(result.once_in_s)}{more} (about {result.clusters:.1f} episodes "
            "count as one)."
        )
    if result.verdict is not None:
        console.print(Text(f"{result.verdict}  {result.claim}: {plain(result.why or '', 400)}."))
    if result.more_s is not None:
        console.print(
            f"About {format_seconds_up(result.more_s)} more of such runs would decide it."
        )
    if result.extrapolation is not None:
        _print_extrapolation(console, result.extrapolation)
    console.print(
        Text(
            "In as much time again, the largest latency of such runs rises with probability 1/2.",
            style="dim",
        )
    )


def _print_extrapolation(console: Console, extrapolation: Extrapolation) -> None:
    from rich.text import Text

    level, low, high = (extrapolation.level_ns, extrapolation.low_ns, extrapolation.high_ns)
    if level is None or low is None or high is None:
        console.print(Text("no extrapolation:", style="bold red"))
        for reason in extrapolation.reasons:
            console.print(Text(f"– {plain(reason, 500)}"))
        return
    one_boot = "; all runs are from one boot, another may differ" if extrapolation.one_boot else ""
    console.print(
        f"About once in {format_seconds_down(extrapolation.every_s)}: later than "
        f"{format_rough_ns(level)}, 95 % interval {format_rough_ns(low)} … "
        f"{format_rough_ns(high)}; {extrapolation.label}{one_boot}. From the "
        f"{format_count(extrapolation.episodes or 0)} episodes above "
        f"{format_short_ns(extrapolation.threshold_ns or 0)}, generalised Pareto "
        f"with shape {extrapolation.shape:.2f}."
    )
