"""The options of a kernel configuration, all of them."""

from __future__ import annotations

import re

_OPTION = re.compile(rb"^CONFIG_([A-Za-z0-9_]{1,120})=([^\n]{0,400})$", re.MULTILINE)
#: Written by the build for every kernel, and no option that one sets.
_BUILD = re.compile(
    r"(CC|LD|AS|GCC|CLANG|RUSTC|PAHOLE|BINDGEN|LLD)_(IS_\w+|VERSION(_TEXT)?)|BUILD_SALT"
)


def parse_options(data: bytes) -> dict[str, str]:
    """Return the options that are set, without CONFIG_; an option that is not set is not listed."""
    options = {}
    for match in _OPTION.finditer(data):
        name = match[1].decode("ascii")
        if _BUILD.fullmatch(name) is None:
            options[name] = match[2].decode("utf-8", "replace")
    return options
