"""`whylate predict without`: what latencies would be without a cause."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.messages import refuse_imported
from whylate.cli.parameter_types import DURATION
from whylate.cli.predict.options import keep_option, keep_printed
from whylate.cli.print_json import json_option, print_document
from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from whylate.predict.without import PredictedRate, Without

#: Causes that are listed by name.
_MOST_NAMED = 6


@click.command(name="without")
@click.argument("causes", nargs=-1, required=True, metavar="CAUSE...")
@click.argument("directory", type=click.Path(path_type=Path), metavar="RECORDING")
@click.option("--speed", type=click.FloatRange(1, 1e6, min_open=True), metavar="N",
              help="Make the causes N times as fast instead.  [default: remove them]")  # fmt: skip
@click.option("--over", "above_ns", type=DURATION, metavar="TIME",
              help="Predict how often a latency exceeds TIME.  [default: the largest that would be "
              "left]")  # fmt: skip
@keep_option
@json_option
def command(
    causes: tuple[str, ...], directory: Path, speed: float | None, above_ns: int | None,
    no_keep: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict what the latencies of RECORDING would be without each CAUSE.

    CAUSE is a row of whylate explain: "interrupts disabled", "thread make", or a part of what
    stands behind one: "[driver]". What the recorded windows cannot show is stated as two bounds:
    what ran behind the cause, and what the cause hid. An experiment (whylate explain --experiment),
    and a later run of the same plan without the injected fault, are shown beside it.

    Exit status: 0 predicted, 3 the recording lacks what that takes.
    """
    from whylate.causes.counterfactual import UnknownCauseError
    from whylate.predict.removal import removal_forecasts
    from whylate.predict.without import predict_without
    from whylate.recording.reader import open_recording
    from whylate.report.plain_console import plain_console

    refuse_imported([directory], "what ran while an activation was late: whylate measure records it"
                    )  # fmt: skip
    recording = open_recording(directory)
    try:
        forecast = predict_without(recording, causes, speed, above_ns or 0)
    except UnknownCauseError as error:
        raise click.UsageError(plain(str(error), 2000)) from None
    if as_json:
        print_document("without", forecast)
    else:
        print_forecast(forecast, plain_console())
    if not no_keep:
        keep_printed(directory, removal_forecasts(recording, forecast))


def print_forecast(forecast: Without, console: Console) -> None:
    """Print a forecast: a table of figures, and what it supposes."""
    from rich.table import Table
    from rich.text import Text

    console.print(Text(_headline(forecast), style="bold"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("", "recorded", "predicted", "another run, 95 %"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for figure in forecast.quantiles:
        sign = "≥ " if figure.recorded_is_bound else ""
        limits = "–"
        if figure.low_ns is not None or figure.high_ns is not None:
            limits = _range(figure.low_ns or 0, figure.high_ns)
        table.add_row(
            figure.name,
            f"{sign}{format_short_ns(figure.recorded_ns)}",
            _range(figure.least_ns, figure.most_ns),
            limits,
        )
    table.add_row(
        "max",
        format_short_ns(forecast.largest_ns),
        _range(forecast.least_largest_ns, forecast.most_largest_ns),
        "no limit",
    )
    console.print(table)
    console.print()
    console.print(Text(_rate_line(forecast.rate)))
    for line in _suppositions(forecast):
        console.print(Text(line, style="dim"))


def _headline(forecast: Without) -> str:
    named = ", ".join(plain(cause, 120) for cause in forecast.causes[:_MOST_NAMED])
    more = len(forecast.causes) - _MOST_NAMED
    named += f" and {more} more" if more > 0 else ""
    how = "without" if forecast.speed is None else f"{forecast.speed:g} times as fast:"
    return f"{format_count(forecast.activations)} activations {how} {named}"


def _range(least_ns: int, most_ns: int | None) -> str:
    least = format_short_ns(least_ns)
    if most_ns is None:
        return f"{least} … ∞"
    most = format_short_ns(most_ns)
    return least if least == most else f"{least} … {most}"


def _rate_line(rate: PredictedRate) -> str:
    counts = format_count(rate.least)
    counts += "" if rate.least == rate.most else f" to {format_count(rate.most)}"
    line = (
        f"Above {format_short_ns(rate.above_ns)}: {counts} episodes in {rate.seconds:.4g} s, not "
        f"{format_count(rate.recorded)}"
    )
    if rate.high_per_s is None:
        return f"{line}; too few separate late episodes for an interval"
    return f"{line}; another run has {rate.low_per_s or 0:.3g} to {rate.high_per_s:.3g} a second"


def _suppositions(forecast: Without) -> list[str]:
    part = forecast.most_unseen / max(forecast.unseen, 1)
    lines = [
        "predicted: from what may have queued behind the cause, to what the cause may have hidden",
        (
            f"{format_count(forecast.affected)} recorded activations have the cause; of "
            f"{format_count(forecast.unseen)} without a window at most {format_percent(part, 1)} "
            f"can have it, by {format_count(forecast.control)} control activations"
        ),
        "max: of these very activations; another run's has no limit",
    ]
    if forecast.left_out:
        lines.append(
            f"{format_count(forecast.left_out)} activations with the recorder detached are left out"
        )
    return lines
