"""One-line messages on standard error, and files that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

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
