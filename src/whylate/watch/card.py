"""What is seen of a board in words: the same for the terminal and for the page."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from whylate.files import bytes_text
from whylate.quantities import format_count, format_ns, format_percent
from whylate.text import plain
from whylate.watch.model import BoardView, LastRun, Line, PowerState, RunView, UseView

#: Characters of a command that a card shows.
_COMMAND = 200


class Row(msgspec.Struct, frozen=True):
    """A line of a card. alarm: something is wrong."""

    label: str
    text: str
    alarm: bool = False


class Figure(msgspec.Struct, frozen=True):
    """A figure of the run so far and of the previous run."""

    name: str
    now: str
    before: str


class Card(msgspec.Struct, frozen=True):
    """A board in words. before: what the figures of the previous run are of."""

    name: str
    power: PowerState
    rows: list[Row]
    figures: list[Figure]
    before: str
    lines: list[Line]


def board_card(view: BoardView) -> Card:
    """Return a board in words."""
    rows = [Row("used by", _use_text(use)) for use in view.uses] or [Row("used by", "nobody")]
    if view.run is not None:
        rows.append(Row("run", _run_text(view.run)))
    elif view.last is not None:
        rows.append(
            Row(
                "last run",
                f"{last_run_text(view.last)} ({view.last.recording})",
                alarm=not view.last.sound,
            )
        )
    when = " (when the run began)" if view.run is not None else " (of the last run)"
    for label, text in (("temperature", view.temperature), ("frequency", view.frequency)):
        if text:
            rows.append(Row(label, text + when))
    console = view.console
    if console is not None:
        rows += [Row("crash", headline, alarm=True) for headline in console.crashes]
        if console.skipped_bytes:
            skipped = f"{bytes_text(console.skipped_bytes)} before these lines were not looked at"
            rows.append(Row("console", skipped))
    elif not view.uses or view.power != "on":
        rows.append(Row("console", "no log"))
    run = view.run
    figures = run.figures if run is not None else []
    return Card(
        name=view.name,
        power=view.power,
        rows=rows,
        figures=[
            Figure(
                figure.name,
                _ns_text(figure.now_ns, at_least=figure.now_at_least),
                _ns_text(figure.before_ns, at_least=figure.before_at_least),
            )
            for figure in figures
        ],
        before=run.before if run is not None else "",
        lines=console.lines if console is not None else [],
    )


def last_run_text(last: LastRun) -> str:
    """Return when the latest run was made and how it ended."""
    return f"{moment(last.created)} {last.result}" if last.created else last.result


def moment(text: str) -> str:
    """Return a moment of a file in local time, with its date where that is not today."""
    try:
        then = datetime.fromisoformat(text).astimezone()
    except ValueError:
        return text
    today = datetime.now(UTC).astimezone().date() == then.date()
    return then.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M")


def _use_text(use: UseView) -> str:
    since = f", since {moment(use.since)}" if use.since else ""
    command = f": {plain(use.command, _COMMAND)}" if use.command else ""
    return f"{use.holder}{since}{command}"


def _run_text(run: RunView) -> str:
    planned = f" of {run.planned_s:g} s" if run.planned_s is not None else ""
    if run.planned_s is not None:
        done = f"{format_count(run.seen)} activations"
        if run.overruns:
            done += f", {format_count(run.overruns)} overruns"
        done = f"{run.elapsed_s:.1f} s{planned}, {done}"
    else:
        done = f"{format_count(run.repetitions)} repetitions"
    unread = f"; {format_percent(run.unread)} of it not read yet" if run.unread > 0.005 else ""
    loads = f" beside {', '.join(run.loads)}" if run.loads else ""
    return f"{run.workload}{loads}: {done}{unread} ({run.recording})"


def _ns_text(ns: int | None, *, at_least: bool) -> str:
    return "–" if ns is None else ("≥ " if at_least else "") + format_ns(ns)
