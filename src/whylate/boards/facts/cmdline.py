"""The kernel's command line, without the secrets that people put on it.

Redaction prefers to hide too much: from the first word that names a secret to the end of that
parameter, and everything in a URL before its last @. It precedes any cutting and recording.
"""

from __future__ import annotations

import re

from whylate.boards.facts.reading import Files, decode
from whylate.text import clean

PATH = "/proc/cmdline"
REDACTED = "<redacted>"

#: Words that name a secret anywhere in a name, and short ones that do so as separate words
#: ("bypass", "passthrough" and "keymap" do not).
_SENSITIVE = (
    r"(?:passw(?:or)?d|passphrase|secret|token|credential"
    r"|(?<![a-z])(?:pass|pwd|psk|auth|keys)(?![a-z])|[a-z]*key(?![a-z]))"
)
_SECRET_VALUE = re.compile(rf"{_SENSITIVE}[^=:\s]*[=:]", re.IGNORECASE)
_SECRET_OPTION = re.compile(rf"-+[^=\s]*{_SENSITIVE}[^=\s]*", re.IGNORECASE)
_URL_USER = re.compile(r"://\S*@")
# A parameter ends at a blank outside double quotes, as in the kernel's next_arg().
_PARAMETER = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')


def parameters(text: str) -> list[str]:
    """Return the parameters of a command line in order, secrets replaced by <redacted>."""
    shown: list[str] = []
    hide_next = False
    for parameter in split(text):
        if hide_next and not parameter.startswith("-"):
            shown.append(REDACTED)
            hide_next = False
            continue
        # `--token abc`: init's arguments may separate name and value by a blank.
        hide_next = _SECRET_OPTION.fullmatch(parameter) is not None
        shown.append(_redacted(parameter))
    return shown


def split(text: str) -> list[str]:
    """Return the parameters of a command line in order, secrets included."""
    return [match.group() for match in _PARAMETER.finditer(text)]


def _redacted(parameter: str) -> str:
    secret = _SECRET_VALUE.search(parameter)
    if secret is not None:
        parameter = parameter[: secret.end()] + REDACTED
    return _URL_USER.sub(f"://{REDACTED}@", parameter)


def read_command_line(files: Files) -> list[str] | None:
    """Return the board's command line, redacted, or None where it could not be read."""
    data = files.data(PATH)
    return None if data is None else parameters(clean(decode(data), limit=16384))


def value_of(command_line: list[str] | None, name: str) -> str | None:
    """Return the value of the last `name=value`; "" for a bare `name`; None without either.

    The kernel uses the last of several, and treats - and _ in a name alike. What follows "--" is
    for init and is ignored.
    """
    result = None
    wanted = name.replace("-", "_")
    for parameter in command_line or []:
        if parameter == "--":
            break
        key, _, value = parameter.strip('"').partition("=")
        if key.replace("-", "_") == wanted:
            result = value.strip('"')
    return result
