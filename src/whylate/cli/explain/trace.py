"""`whylate explain --import`: another tool's trace, by the same account."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whylate.recording.traces.watch import Watch


def explain_import(
    file: str,
    names: tuple[str, ...],
    pids: tuple[int, ...],
    threshold_ns: int | None,
    stories: int,
    *,
    as_json: bool,
) -> int:
    """Explain the trace in `file` (- for the standard input); return the exit status."""
    from whylate.causes.as_json import answer_as_json
    from whylate.causes.traces.explain_import import explain_import
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.causes import print_answer
    from whylate.report.terminal.trace import print_lacks, print_read, read_as_json

    with _opened(file) as stream, _progress(file) as progress:
        found = explain_import(
            stream,
            "the standard input" if file == "-" else file,
            _watch(names, pids),
            threshold_ns=threshold_ns,
            worst=max(stories, 1),
            progress=progress,
        )
    answer = found.answer
    if as_json:
        told = answer_as_json(answer, stories)
        told["trace"] = read_as_json(found.read, found.threads, found.list_missing_data)
        print_json(told)
    else:
        console = plain_console()
        print_read(found.read, found.threads, console)
        console.print()
        print_answer(answer, console, stories)
        print_lacks(found.list_missing_data, console)
    return 0 if answer.population is not None else 3


def _watch(names: tuple[str, ...], pids: tuple[int, ...]) -> Watch | None:
    from whylate.recording.traces.watch import Watch, kernel_name

    if not names and not pids:
        return None
    return Watch(frozenset(pids), frozenset(kernel_name(name) for name in names))


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    from whylate.recording.errors import RecordingError

    source = nullcontext(sys.stdin.buffer) if file == "-" else None
    try:
        with source or Path(file).open("rb") as stream:
            yield stream
    except IsADirectoryError:
        what = "is a directory: a recording is explained without --import"
        raise RecordingError(f"{file} {what}") from None
    except OSError as error:
        raise RecordingError(f"{file} cannot be read: {os.strerror(error.errno or 0)}") from None


@contextmanager
def _progress(file: str) -> Iterator[Callable[[int], None] | None]:
    """Give what shows how far reading is, where a person is there to see it."""
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
