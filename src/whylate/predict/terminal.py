"""Forecasts, checks and scores on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.predict.forecast import Answer, Forecast
from whylate.predict.removal import AXIS as CPUS
from whylate.predict.removal import rate_limit
from whylate.predict.score import Outcome, Score
from whylate.quantities import (
    format_count,
    format_estimate,
    format_number,
    format_percent,
    format_short_ns,
)
from whylate.text import plain

#: More are not listed below a recording or a study.
_MOST_OUTCOMES = 12
_UNITS = {"calls_per_us": "calls/µs", "hops_per_us": "hops/µs"}


def unit_of(quantity: str) -> str:
    """Return how the unit of a quantity is written; of another name than ours its last part."""
    return _UNITS.get(quantity, quantity.rpartition("_")[2])


def answer_lines(answer: Answer) -> Iterator[Table | Text]:
    """Lay out what was predicted from a recording, with all that it supposes."""
    for forecasts in _by_fit(answer.forecasts):
        series, quantity = forecasts[0].series, forecasts[0].quantity
        what = f" · {plain(forecasts[0].model, 80)} · {plain(quantity, 40)}"
        yield Text.assemble((plain(series, 120), "bold"), what)
        fitted = ", ".join(map(str, forecasts[0].fitted_to))
        parameters = ", ".join(
            f"{plain(name, 40)} {format_number(value)}"
            for name, value in forecasts[0].parameters.items()
        )
        yield Text(f"fitted to {fitted} {forecasts[0].axis}: {parameters}", style="dim")
        yield _forecast_table(forecasts)
        for text in dict.fromkeys(text for made in forecasts for text in made.supposes):
            yield Text(f"supposes  {plain(text, 300)}", style="dim")
    for check in answer.checks:
        yield Text(
            f"check  {plain(check.series, 120)}: each number predicted from all others: "
            f"{check.held} of {check.made} intervals held, off by × {check.worst:.2f} at most"
        )
    for refused in answer.no_model:
        yield Text.assemble(
            ("no model", "bold yellow"),
            f"  {plain(refused.series, 120)}, {plain(refused.model, 80)}: "
            f"{plain(refused.reason, 500)}",
        )


def _by_fit(forecasts: Sequence[Forecast]) -> list[list[Forecast]]:
    fits: dict[object, list[Forecast]] = {}
    for forecast in forecasts:
        fit = (*forecast.fitted_to, *forecast.parameters.items())
        fits.setdefault((forecast.series, forecast.quantity, fit), []).append(forecast)
    return list(fits.values())


def _forecast_table(forecasts: Sequence[Forecast]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("")
    table.add_column(Text(plain(unit_of(forecasts[0].quantity), 40)), justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("")
    for forecast in forecasts:
        table.add_row(
            f"{format_count(forecast.at)} {plain(forecast.axis, 20)}",
            *_estimate(forecast),
            Text(plain(forecast.change, 80)),
        )
    return table


def _is_time(forecast: Forecast) -> bool:
    return forecast.quantity.endswith("_ns")


def _place_text(forecast: Forecast) -> str:
    """Return what a row is about: a quantile, a number of what was swept, or both."""
    above_ns = rate_limit(forecast.quantity)
    if above_ns is not None:
        return f"per s above {format_short_ns(above_ns)}"
    quantity = plain(forecast.quantity.removesuffix("_ns"), 20)
    if forecast.axis == CPUS and _is_time(forecast):
        return quantity
    place = f"{format_count(forecast.at)} {plain(forecast.axis, 20)}"
    return f"{place}: {quantity}" if _is_time(forecast) else place


def _value_text(forecast: Forecast, value: float) -> str:
    return format_short_ns(round(value)) if _is_time(forecast) else format_number(value)


def _estimate(forecast: Forecast) -> tuple[str, str]:
    if _is_time(forecast):
        high = "∞" if forecast.high is None else format_short_ns(round(forecast.high))
        low = format_short_ns(round(forecast.low))
        return format_short_ns(round(forecast.value)), f"{low} … {high}"
    if forecast.high is None:
        return format_number(forecast.value), f"{format_number(forecast.low)} or more"
    return format_estimate(forecast.value, forecast.low, forecast.high)


def outcome_lines(outcomes: Iterable[Outcome]) -> Iterator[Table | Text]:
    """Lay out what was predicted beside what was measured, by what was swept."""
    series: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        series.setdefault(outcome.forecast.series, []).append(outcome)
    for name, members in series.items():
        unit = plain(unit_of(members[0].forecast.quantity), 40)
        of_time = "" if _is_time(members[0].forecast) else f", {unit}"
        yield Text.assemble((plain(name, 120), "bold"), of_time)
        yield _outcome_table(sorted(members, key=lambda outcome: outcome.forecast.at))


def _outcome_table(outcomes: Iterable[Outcome]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("", "predicted", "95 % interval", "measured", "", ""):
        right = heading in ("predicted", "95 % interval", "measured")
        justify: Literal["left", "right"] = "right" if right else "left"
        # What a row is about stays on a line.
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=not table.columns)
    for outcome in outcomes:
        forecast = outcome.forecast
        held = Text("held", "green") if outcome.holds else Text("did not hold", "bold red")
        model = f"{forecast.model}; {forecast.change}" if forecast.change else forecast.model
        table.add_row(
            _place_text(forecast),
            *_estimate(forecast),
            _value_text(forecast, outcome.measured),
            held,
            Text(plain(model, 100), style="dim"),
        )
    return table


def print_outcomes(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print what was predicted beside what was measured; of many forecasts only how many held."""
    if not outcomes:
        return
    console.print("predicted before, and measured now:")
    shown = outcomes if len(outcomes) <= _MOST_OUTCOMES else _middle_runs(outcomes)
    if len(shown) <= _MOST_OUTCOMES:
        if len(shown) < len(outcomes):
            console.print("of the runs that measured the same, the one in the middle:")
        for line in outcome_lines(shown):
            console.print(line)
    held = sum(outcome.holds for outcome in outcomes)
    console.print(f"{held} of {len(outcomes)} intervals held")


def _middle_runs(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return for each forecast the run whose value is the median, the lower of two."""
    runs: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        runs.setdefault(id(outcome.forecast), []).append(outcome)
    return [
        sorted(members, key=lambda outcome: outcome.measured)[(len(members) - 1) // 2]
        for members in runs.values()
    ]


def score_lines(score: Score) -> Iterator[Table | Text]:
    """Lay out a score: each outcome, and how often the intervals held."""
    if score.outcomes:
        yield from outcome_lines(score.outcomes)
        share = format_percent(score.held / len(score.outcomes))
        ends = ""
        if score.low is not None and score.high is not None:
            ends = f" [{format_percent(score.low)}, {format_percent(score.high)}]"
        yield Text(
            f"{score.held} of {len(score.outcomes)} intervals held, {share}{ends}; of 95 % "
            "intervals 95 % should."
        )
    yield Text(
        f"{format_count(score.made)} forecasts; {format_count(score.waiting)} have no later "
        "measurement on the same board."
    )
    for path, reason in list(score.unread.items())[:5]:
        yield Text(f"not read  {plain(path, 200)}: {plain(reason, 300)}", style="yellow")
