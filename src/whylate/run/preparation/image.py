"""A board that has the files of a run in its image, in virtual time: nothing is put there later.

Its init runs a script before the plan, which leaves its result in a file that the probe reads.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from whylate.boards.board import ImageFile
from whylate.boards.facts.snapshot import FileRequest
from whylate.lab.faults.place import SERVICES
from whylate.run.preparation.model import Preparation, PreparationError, check_script
from whylate.text import clean

#: Where files wait in the image: under their own paths, what init mounts there would hide some.
_FILES = "/whylate/files"
_RESULT = "/run/whylate-prepared"
_OUTPUT = "/run/whylate-output"
_DONE = "done"
_LIMIT = 1000
#: Of what a command printed, this many bytes of the end are shown.
_SHOWN = 200
#: Reads the result.
RESULT = FileRequest(_RESULT, _LIMIT)


def image_files(
    preparation: Preparation, services: Sequence[ImageFile] = ()
) -> tuple[ImageFile, ...]:
    """Return the files of an image, with the script that prepares the board.

    services: of injected faults, which are started afterwards. What runs after a run is left out:
    the board is off then.
    """
    others = tuple(file for file in services if file[0] != SERVICES)
    then = b"".join(data for path, data, _ in services if path == SERVICES)
    script = _script(preparation).encode() + then
    waiting = (
        (f"{_FILES}/{number}", data, mode)
        for number, (_, data, mode) in enumerate(preparation.files)
    )
    return (*waiting, *others, (SERVICES, script, 0o755))


def check_result(files: Mapping[str, bytes]) -> None:
    """Raise PreparationError where the script failed; files: by path, with its result."""
    text = files.get(_RESULT, b"").decode(errors="replace").strip()
    if text != _DONE:
        raise PreparationError(clean(text, 300) or "the board did not run the commands before it")


def _script(preparation: Preparation) -> str:
    """Return a script that stops at the first failure, and writes why."""
    steps = []
    for number, file in enumerate(preparation.files):
        path, folder = shlex.quote(file[0]), shlex.quote(file[0].rpartition("/")[0] or "/")
        failure = shlex.quote(f"{file[0]} cannot be put there")
        put = f"mkdir -p {folder} && rm -f {path} && mv {_FILES}/{number} {path}"
        steps.append(
            f"{put} && chmod {file[2]:o} {path} && {check_script(file)} || "
            f"{{ echo {failure}; exit 1; }}"
        )
    for words in preparation.before:
        failure = shlex.quote(f"{' '.join(words)[:80]} ended with status")
        steps.append(
            f"{shlex.join(words)} >{_OUTPUT} 2>&1 || "
            f'{{ echo {failure} "$? ($(tail -c {_SHOWN} {_OUTPUT}))"; exit 1; }}'
        )
    lines = "".join(f"{step}\n" for step in steps)
    return f"if (\n{lines}true\n) >{_RESULT}; then echo {_DONE} >{_RESULT}; fi\n"
