"""Pages of one file that need no network and trust nothing they show."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whylate.files import write_whole
from whylate.recording.errors import DiskError
from whylate.report.plots import chart

if TYPE_CHECKING:
    from jinja2 import Environment


def render_page(
    template: str, styles: Sequence[str], scripts: Sequence[str] = (), **words: Any
) -> str:
    """Return a page of a template, styles and scripts of this package; every word is escaped.

    Scripts and styles are admitted by hash alone: the page asks for nothing from anywhere.
    """
    from markupsafe import Markup

    style = "\n".join(map(asset, styles))
    codes = [asset(name) for name in scripts]
    text: str = environment().get_template(template).render(
        policy=content_policy(codes, style),
        style=Markup(style),  # noqa: S704 (files of this package, no data)
        scripts=[Markup(code) for code in codes],  # noqa: S704
        box={"width": chart.WIDTH, "height": chart.HEIGHT, "left": chart.LEFT,
             "right": chart.RIGHT, "top": chart.TOP, "bottom": chart.BOTTOM},
        **words,
    )  # fmt: skip
    return text


@cache
def environment() -> Environment:
    """Return what compiles the templates of this package, and keeps them: one takes 0.05 s."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )


def write(path: Path, text: str) -> None:
    """Write a page whole or not at all; raises OSError.

    A browser that reloads never sees half a page.
    """
    # A lone surrogate, which some file name of the board may hold, has no UTF-8.
    write_whole(path, text.encode("utf-8", "replace"))


def write_or_say(path: Path, text: str) -> None:
    """Write a page as write() does; raises DiskError."""
    try:
        write(path, text)
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None


def asset(name: str) -> str:
    """Return a file of this package as text."""
    text = resources.files("whylate.report.page").joinpath("assets", name).read_text("utf-8")
    # A browser reads CRLF as LF and hashes what it read.
    return text.replace("\r\n", "\n")


def content_policy(scripts: Sequence[str], style: str) -> str:
    """Admit these scripts and this style, and nothing else: no fetch, no image, no form."""
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + (" ".join(_source_hash(s) for s in scripts) or "'none'"),
            f"style-src {_source_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def _source_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
