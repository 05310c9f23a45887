"""Forecasts of work in chunks under a lock, from recordings or a table of a calibration run."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whylate import __version__
from whylate.files import read_bounded
from whylate.predict.forecast import Answer, Check, Forecast, NoModel
from whylate.predict.sweep import Source
from whylate.predict.workloads.bulk import AXIS, read_chunk_sweeps
from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.moments import now_text
from whylate.recording.reader import Recording
from whylate.recording.workloads.bulk import Bulk
from whylate.stats.scaling.chunks import fit_chunk_cost, fit_chunk_latency, locate_knee
from whylate.stats.scaling.law import LawFit

MODEL = "work in chunks"
SERIES = "work in chunks under a lock"
#: A law that is off by a larger factor somewhere is refused.
_MOST_MISFIT = 1.25
_MAX_TABLE = 1 << 20
_MAX_ROWS = 1000
#: Largest chunk, and longest time in ns.
_MAX_NUMBER = 1e15
_COLUMNS = ("chunk", "work_ns", "p50_ns", "p99_ns")
_SHARE = {"p50_ns": 0.5, "p99_ns": 0.99}


@dataclass(frozen=True)
class Calibration:
    """A table of chunks: how long the whole work takes, and the latency of who comes meanwhile.

    items: of the whole work. columns: by name, in the order of the chunks; a NaN where it is not
    known. source: the recording that has the forecasts; None: a table is none.
    """

    path: Path
    items: int
    chunks: tuple[float, ...]
    columns: dict[str, tuple[float, ...]]
    series: str = SERIES
    axis: str = "items"
    source: Recording | None = None

    @property
    def item_cost(self) -> float:
        """What an item costs, in ns: of the work with the largest chunk, which lets go least."""
        return self.columns["work_ns"][-1] / self.items

    def knee(self) -> float:
        """Return the smallest chunk of the table that makes the work at most 15 % dearer."""
        return locate_knee(self.chunks, self.columns["work_ns"])


def read_calibration(path: Path, items: int) -> Calibration:
    """Read a CSV with the columns chunk, work_ns and p50_ns, p99_ns or both.

    Raises RecordingError for another file.
    """
    try:
        text = read_bounded(path, _MAX_TABLE).decode()
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RecordingError(f"{path} is no table of chunks: {error}") from None
    try:
        rows = _read_rows(path, csv.DictReader(io.StringIO(text)), items)
    except csv.Error:
        raise RecordingError(
            f"{path} is no table of chunks: a CSV has lines that end with a line feed, and short "
            "fields"
        ) from None
    if not rows:
        raise RecordingError(f"{path} has no rows")
    ordered = [rows[chunk] for chunk in sorted(rows)]
    columns = {name: tuple(row[name] for row in ordered) for name in ordered[0]}
    return Calibration(path, items, columns.pop("chunk"), columns)


def _read_rows(
    path: Path, reader: csv.DictReader[str], items: int
) -> dict[float, dict[str, float]]:
    """Return rows by their chunk; raises RecordingError for others than are asked for."""
    names = [name for name in _COLUMNS if name in (reader.fieldnames or ())]
    if "chunk" not in names or "work_ns" not in names or len(names) < 3:
        raise RecordingError(
            f"{path} is no table of chunks: its first line names the columns chunk, work_ns and "
            "p50_ns, p99_ns or both"
        )
    rows: dict[float, dict[str, float]] = {}
    for number, row in enumerate(reader, 2):
        if len(rows) >= _MAX_ROWS:
            raise RecordingError(f"{path} has more than {_MAX_ROWS} rows")
        values = {name: _number(row.get(name)) for name in names}
        if any(value is None for value in values.values()):
            raise RecordingError(f"{path}, line {number}: numbers above zero are needed")
        numbers = {name: value for name, value in values.items() if value is not None}
        if not 1 <= numbers["chunk"] <= items or numbers["chunk"] in rows:
            raise RecordingError(
                f"{path}, line {number}: a chunk is from 1 item to all {items}, each once"
            )
        rows[numbers["chunk"]] = numbers
    return rows


def recorded_calibration(recordings: Sequence[Recording]) -> Calibration:
    """Return what recordings of whylate bench bulk measured; the newest is the source.

    Raises LackingError for other recordings, and for those of different work.
    """
    newest = max(recordings, key=lambda recording: recording.manifest.created)
    for recording in recordings:
        if not isinstance(recording.manifest.plan.benchmark, Bulk):
            raise LackingError(
                f"no model: {recording.directory} is not of work in chunks; whylate bench bulk "
                "records it"
            )
        if recording.manifest.board != newest.manifest.board:
            raise LackingError(
                f"no model: {recording.directory} is of another board than {newest.directory}: "
                "costs of one are not those of the other"
            )
    sources = [Source(recording.manifest, recording.repetitions) for recording in recordings]
    sweeps = read_chunk_sweeps(*sources)
    names = sorted({sweep.name for sweep in sweeps})
    if len(names) != 1:
        which = "; ".join(names) if names else "no chunks with a delay"
        raise LackingError(f"no model: one work in chunks is needed, the recordings have: {which}")
    by_quantity = {sweep.quantity: sweep.measured for sweep in sweeps}
    chunks = sorted(by_quantity["work_ns"])
    columns = {
        quantity: tuple(measured.get(chunk, math.nan) for chunk in chunks)
        for quantity, measured in by_quantity.items()
    }
    lines = next(point.lines for point in newest.manifest.plan.benchmark.points)  # type: ignore[union-attr]
    return Calibration(
        newest.directory, lines, tuple(map(float, chunks)), columns, names[0], AXIS, newest
    )


def predict_chunks(
    calibration: Calibration, chunks: Sequence[int], period_ns: int | None = None
) -> Answer:
    """Predict latency and cost with these chunks.

    chunks: from 1 item to all of them. period_ns: the time between two arrivals. Chunks that hold
    the lock longer are in no fit of the latency: the first to arrive then waits for nearly all.
    """
    forecasts: list[Forecast] = []
    refused: list[NoModel] = []
    checks: list[Check] = []
    for quantity, values in calibration.columns.items():
        kept = [
            (chunk, value)
            for chunk, value in zip(calibration.chunks, values, strict=True)
            if not math.isnan(value)
            and (
                quantity == "work_ns"
                or period_ns is None
                or chunk * calibration.item_cost <= period_ns
            )
        ]
        try:
            fit = _fit(calibration, quantity, kept)
        except ValueError as error:
            refused.append(NoModel(quantity, MODEL, str(error)))
            continue
        forecasts += [_forecast(calibration, quantity, fit, chunk) for chunk in chunks]
        check = _check(calibration, quantity, kept)
        checks += [] if check is None else [check]
    return Answer(str(calibration.path), forecasts, refused, checks)


def _fit(calibration: Calibration, quantity: str, pairs: Sequence[tuple[float, float]]) -> LawFit:
    fit = _law(calibration, quantity, pairs)
    if fit.misfit > _MOST_MISFIT:
        ratios = dict(zip(fit.places, fit.ratios(), strict=True))
        chunk = max(ratios, key=lambda place: abs(math.log(ratios[place])))
        held_longest = max(fit.places) * calibration.item_cost
        hint = (
            ""
            if quantity == "work_ns"
            else f"; the largest chunk is held for {held_longest:.0f} ns: if others come more "
            "often, --period leaves it out"
        )
        raise ValueError(
            f"the law is off by × {fit.misfit:.2f} with chunks of {chunk:.0f}; with more than × "
            f"{_MOST_MISFIT} it is refused{hint}"
        )
    return fit


def _law(calibration: Calibration, quantity: str, pairs: Sequence[tuple[float, float]]) -> LawFit:
    chunks, values = [chunk for chunk, _ in pairs], [value for _, value in pairs]
    if quantity == "work_ns":
        return fit_chunk_cost(chunks, values)
    return fit_chunk_latency(chunks, values, calibration.item_cost)


def _check(
    calibration: Calibration, quantity: str, pairs: Sequence[tuple[float, float]]
) -> Check | None:
    held, made, worst = 0, 0, 1.0
    for chunk, measured in pairs:
        try:
            others = [pair for pair in pairs if pair[0] != chunk]
            fit = _law(calibration, quantity, others)
        except ValueError:
            continue
        value, low, high = _expect(fit, chunk)
        made += 1
        held += low <= measured <= high
        worst = max(worst, measured / value, value / measured)
    return Check(quantity, MODEL, made, held, worst) if made else None


def _expect(fit: LawFit, chunk: float) -> tuple[float, float, float]:
    value = fit.law.value(chunk, fit.parameters)
    low, high = fit.interval(lambda parameters: fit.law.value(chunk, parameters))
    return value, low, high


def _forecast(calibration: Calibration, quantity: str, fit: LawFit, chunk: int) -> Forecast:
    value, low, high = _expect(fit, chunk)
    least = math.exp(float(fit.logs.min()))
    first = least * math.exp(float(fit.parameters[0]))
    if quantity == "work_ns":
        again = math.exp(float(fit.parameters[1]))
        parameters = {"whole_ns": first, "letting_go_ns": again * first / calibration.items}
        supposes = [
            "the work takes N (c + r / k): letting go costs the same r after each chunk of k items"
        ]
    else:
        share = float(fit.parameters[1])
        parameters = {"floor_ns": first, "item_ns": calibration.item_cost, "share": share}
        law = (
            f"{quantity.removesuffix('_ns')} = floor + share × chunk × cost of an item; who comes "
            f"at any moment of the work gives a share of {_SHARE[quantity]}"
        )
        supposes = [law, "a chunk is held no longer than the time between two arrivals"]
    source = calibration.source
    return Forecast(
        created=now_text(),
        whylate=__version__,
        board="" if source is None else source.manifest.board,
        source=calibration.path.name,
        source_created="" if source is None else source.manifest.created,
        model=MODEL,
        series=calibration.series,
        quantity=quantity,
        axis=calibration.axis,
        at=chunk,
        value=value,
        low=low,
        high=None if math.isinf(high) else high,
        supposes=supposes,
        fitted_to=[int(place) for place in fit.places],
        parameters=parameters,
    )


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value <= _MAX_NUMBER else None
