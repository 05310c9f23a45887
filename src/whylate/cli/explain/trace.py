"""`whylate explain --import`: another tool's trace, by the same accounting."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from whylate.cli.print_json import print_json
from whylate.cli.trace_files import open_trace, trace_name
from whylate.report.plain_console import plain_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whylate.recording.traces.watch import Watch


def explain_trace(
    file: str,
    names: tuple[str, ...],
    pids: tuple[int, ...],
    threshold_ns: int | None,
    worst: int,
    *,
    as_json: bool,
) -> int:
    """Explain the trace in `file` (- for the standard input); return the exit status."""
    from whylate.causes.as_json import answer_as_json
    from whylate.causes.traces.explain_import import explain_import
    from whylate.report.terminal.causes import print_answer
    from whylate.report.terminal.trace import print_lacks, print_read, read_as_json

    with (
        open_trace(file, "a recording is explained without --import") as stream,
        _show_progress(file) as progress,
    ):
        explained = explain_import(
            stream,
            trace_name(file),
            _watch(names, pids),
            threshold_ns=threshold_ns,
            worst=max(worst, 1),
            progress=progress,
        )
    answer, missing = explained.answer, explained.list_missing_data
    if as_json:
        document = answer_as_json(answer, worst)
        document["trace"] = read_as_json(
            explained.read, explained.threads, explained.list_missing_data
        )
        print_json(document)
    else:
        console = plain_console()
        print_read(explained.read, explained.threads, console)
        console.print()
        print_answer(answer, console, worst)
        print_lacks(missing, console)
    return 0 if answer.population is not None else 3


def _watch(names: tuple[str, ...], pids: tuple[int, ...]) -> Watch | None:
    from whylate.recording.traces.watch import Watch, kernel_name

    if not names and not pids:
        return None
    return Watch(frozenset(pids), frozenset(kernel_name(name) for name in names))


@contextmanager
def _show_progress(file: str) -> Iterator[Callable[[int], None] | None]:
    """Yield what shows how far reading is; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    size = Path(file).stat().st_size if file != "-" and Path(file).is_file() else 0

    def show(read: int) -> None:
        done = f"{read / size:.0%}" if size else f"{read >> 20:,} MiB"
        sys.stderr.write(f"\rwhylate: reading … {done} ")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
