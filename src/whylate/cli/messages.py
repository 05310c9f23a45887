"""One-line messages, and errors of files and recordings that a verb cannot use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from whylate.recording.errors import LackingError
from whylate.text import plain


def print_message(text: str) -> None:
    """Print a line for the user on standard error."""
    click.echo(f"whylate: {plain(text, 1000)}", err=True)


@contextmanager
def writing(path: Path, error: type[Exception]) -> Iterator[None]:
    """Raise `error` with one line where the file cannot be written."""
    try:
        yield
    except OSError as failure:
        raise error(f"{path} cannot be written: {failure.strerror}") from None


def refuse_imported(paths: Iterable[Path], lacking: str) -> None:
    """Raise LackingError for the first path that is an imported recording.

    lacking: what the verb needs and an imported recording does not have, and what to do.
    """
    from whylate.recording.imported.mark import is_imported
    from whylate.recording.imported.recording import read_about

    for path in paths:
        if is_imported(path):
            tool = read_about(path).tool
            raise LackingError(f"{path} was imported ({tool}) and lacks {lacking}")
