"""Bringing the probe onto a board that takes commands and files, and away again.

The board needs a POSIX shell (busybox ash will do) with `uname`, `id`, `ls`, `mkdir`, `chmod`
and `rm`. Nothing of it needs a clock that was set, an SFTP server, bash or GNU options. All
scripts are single lines: some ways to a shell go through a terminal.
"""

from __future__ import annotations

import contextlib
import re
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from whylate import __version__
from whylate.boards.board import BoardError, Finished, Tell
from whylate.boards.facts.reading import clean
from whylate.boards.launch import FED_LAUNCHES, Launch, from_file
from whylate.probe.binaries import NoProbeError, ProbeBinary, probe_binary
from whylate.probe.client import Stream
from whylate.wire.messages import PROTOCOL

#: Where a probe may live. What is gone after a reboot comes before what wears out, and what
#: is the system's before what goes when the user's last session ends.
PLACES = ("/run", "/tmp", "/dev/shm", "$XDG_RUNTIME_DIR", "/var/tmp", "$HOME")  # noqa: S108
#: What the probe answers to --version.
VERSION = f"whylate-probe {__version__} protocol {PROTOCOL}"
#: A word of the scripts; whatever else a board prints there is not ours.
SAID = "whylate: "
#: How long a board may take for one of the scripts.
SCRIPT_S = 30.0
#: How long it may take to start the probe, and how much it may print before.
START_S = 60.0
START_BYTES = 1 << 16
#: The slowest line on which a probe or a file is still waited for.
SLOWEST_BYTES_PER_S = 16_384
#: Removing what we brought is not worth a longer wait: the board may be off.
REMOVE_S = 15.0
_PATH = re.compile(r"(/[A-Za-z0-9._+-]+)+")

#: `own D`: the directory D is the user's, and nobody else can look into it.
_OWN = (
    'w() { set -- $(ls -ldn "$1" 2>/dev/null); p=$1; o=$3; };'
    ' own() { [ -d "$1" ] && [ ! -h "$1" ] || return 1; w "$1"; [ "$o" = "$u" ] || return 1;'
    " case $p in drwx--[-S]---*) return 0;; esac; return 1; };"
    " umask 077; u=$(id -u); "
)

#: Finds the first place that is safe and lets programs run, and says why the others do not.
#: A directory that others may write to, and so put their own probe in the place of ours, is
#: safe only where its sticky bit keeps them from moving ours away.
LOOK = _OWN + (
    'say() { echo "' + SAID + '$*"; };'
    " say machine $(uname -m); say user $u;"
    " for t in python3 perl unshare; do command -v $t >/dev/null 2>&1 && say tool $t; done;"
    ' for n in "$@"; do d=$n;'
    " case $n in '$HOME') d=$HOME;; '$XDG_RUNTIME_DIR') d=$XDG_RUNTIME_DIR;; esac;"
    ' [ -n "$d" ] && [ -d "$d" ] || { say not "$n" is not there; continue; };'
    ' d=$(cd "$d" 2>/dev/null && pwd -P) || { say not "$n" cannot be entered; continue; };'
    ' case $d in /|*[!A-Za-z0-9._/+-]*) say not "$n" has a name that is not used; continue;; esac;'
    ' w "$d"; case $o in 0|$u) ;; *) say not $d belongs to user $o; continue;; esac;'
    " case $p in d????-??-*|d????????[tT]*) ;;"
    " *) say not $d is open to others without a sticky bit; continue;; esac;"
    " h=$d/whylate-probe-$u; m=kept;"
    " if mkdir $h 2>/dev/null; then m=made; elif [ ! -d $h ] && [ ! -h $h ]; then"
    " say not $d cannot be written to; continue; fi;"
    " own $h || { say not $h is not ours alone; continue; };"
    " t=$h/try.$$; if echo '#!/bin/sh' >$t && chmod 700 $t; then r=\"lets no program run\";"
    ' $t </dev/null >/dev/null 2>&1 && r=; else r="is full"; fi 2>/dev/null; rm -f $t;'
    ' if [ -n "$r" ]; then [ $m = kept ] || rmdir $h; say not $d $r; continue; fi;'
    " say place $h; for f in $h/whylate-probe.*; do [ -f $f ] && [ ! -h $f ] && say file $f; done;"
    " break; done; say end"
)

#: Removes every probe from a directory, and the directory when nothing else is in it.
REMOVE = _OWN + 'for h in "$@"; do own $h && rm -f $h/whylate-probe.* && rmdir $h; done'


class FedStream(Stream, Protocol):
    """A stream whose writer can say how long writing may take."""

    def write(self, data: bytes, timeout_s: float = ...) -> None:
        """Send all of data; raises OSError when the other end is gone or does not take it."""


class Commands(Protocol):
    """What is needed of a board to look at it: as the Board protocol has it."""

    @property
    def name(self) -> str:
        """The name by which the user calls it."""

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command to its end; raises BoardError."""


class Shell(Commands, Protocol):
    """What is needed of a board to bring it a probe."""

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file whole or not at all; raises BoardError."""

    def stream(self, argv: Sequence[str]) -> FedStream:
        """Start a command and return its input and output; raises BoardError."""


@dataclass(frozen=True)
class Look:
    """What a board said of itself, and of where a probe can live."""

    machine: str
    root: bool
    tools: frozenset[str]
    #: The private directory, None where there is no place for one.
    directory: str | None
    #: Probes that lie there already, by their paths.
    files: frozenset[str]
    #: Places that do not do, each with the reason.
    refused: tuple[str, ...]


class UnfitError(Exception):
    """The probe does not run from where it was brought; the text says what was seen."""


@dataclass
class Deployment:
    """The probe on one board, from the first look to its removal."""

    board: Shell
    _directories: set[str] = field(default_factory=set)

    def start(self, tell: Tell) -> tuple[Stream, ProbeBinary]:
        """Bring the probe to the board where it is not there yet, and start it.

        Raises BoardError where no way leads there. The stream is at the probe's first byte.
        """
        refused: list[str] = []
        places = list(PLACES)
        while True:
            seen = look(self.board, places)
            refused += seen.refused
            # A board that was asked of no place any more can name none, whatever it says.
            directory = seen.directory if places else None
            if directory is not None:
                self._directories.add(directory)
            binary = self._binary(seen.machine)
            if directory is None:
                return self._start_without_a_place(seen, binary, refused, tell), binary
            try:
                return self._start_from(seen, directory, binary, tell), binary
            except UnfitError as error:
                refused.append(f"{directory}: {error}")
            # Each place named after this one is still to be tried.
            places = places[_tried(seen, places) :]

    def remove(self) -> None:
        """Remove what was brought; raises BoardError."""
        if self._directories:
            self.board.run(_sh(REMOVE, *sorted(self._directories)), timeout_s=REMOVE_S)
            self._directories.clear()

    def _binary(self, machine: str) -> ProbeBinary:
        try:
            return probe_binary(machine)
        except NoProbeError as error:
            raise BoardError(f"{self.board.name}: {error}") from None

    def _start_from(self, seen: Look, directory: str, binary: ProbeBinary, tell: Tell) -> Stream:
        """Start the probe from a private directory; raises UnfitError and BoardError."""
        path = f"{directory}/whylate-probe.{binary.sha256}"
        data = binary.path.read_bytes()
        launch = from_file(path, len(data), binary.sha256)
        if path in seen.files:
            # One that was cut off or changed does not start; then it is brought anew.
            with contextlib.suppress(UnfitError):
                return self._launch(launch, data)
        tell(f"copying the probe to {self.board.name}")
        try:
            self.board.put(data, path, 0o700)
        except BoardError as error:
            raise UnfitError(str(error)) from None
        return self._launch(launch, data)

    def _start_without_a_place(
        self, seen: Look, binary: ProbeBinary, refused: list[str], tell: Tell
    ) -> Stream:
        """Start it where only memory is left to hold it; raises BoardError."""
        data = binary.path.read_bytes()
        for make in FED_LAUNCHES:
            launch = make(binary.arch, len(data), binary.sha256)
            if launch.tool not in seen.tools or (launch.root and not seen.root):
                continue
            tell(f"sending the probe to {self.board.name}, into memory")
            try:
                return self._launch(launch, data)
            except UnfitError as error:
                refused.append(f"memory, by {launch.tool}: {error}")
        raise BoardError(
            f"{self.board.name}: the probe can be run from nowhere ({'; '.join(refused)}): "
            "mount one of them without noexec, or install python3"
        )

    def _launch(self, launch: Launch, data: bytes) -> Stream:
        """Start a launch and wait for its word; raises UnfitError and BoardError."""
        stream = self.board.stream(launch.argv)
        try:
            if launch.fed:
                stream.write(data, START_S + len(data) / SLOWEST_BYTES_PER_S)
            _wait_until_ready(stream)
        except (UnfitError, OSError) as error:
            stream.close()
            raise UnfitError(_why(error, stream)) from None
        except BaseException:
            stream.close()
            raise
        return stream


def look(board: Commands, places: Sequence[str]) -> Look:
    """Ask a board in one command what it is and where a probe can live; raises BoardError."""
    done = board.run(_sh(LOOK, *places), timeout_s=SCRIPT_S)
    said = [line[len(SAID) :].split() for line in _lines(done.output) if line.startswith(SAID)]
    words = [one for one in said if one]
    if ["end"] not in words:
        shown = clean((done.error or done.output).decode("utf-8", "replace"), 200)
        raise BoardError(
            f"{board.name}: its shell did not do what was asked ({shown or 'no answer'}): "
            "a POSIX shell with uname, id, ls, mkdir, chmod and rm is needed"
        )
    place = _first(words, "place")
    return Look(
        machine=_first(words, "machine") or "",
        root=_first(words, "user") == "0",
        tools=frozenset(one[1] for one in words if one[0] == "tool" and len(one) == 2),
        directory=place if place is not None and _PATH.fullmatch(place) else None,
        files=frozenset(one[1] for one in words if one[0] == "file" and len(one) == 2),
        # No more of them than it was asked of.
        refused=tuple(clean(" ".join(one[1:]), 200) for one in words if one[0] == "not")[
            : len(places)
        ],
    )


def _tried(seen: Look, places: Sequence[str]) -> int:
    """Return how many of the places the look came to: those refused, and the one it took."""
    return min(len(seen.refused) + 1, len(places))


def _wait_until_ready(stream: Stream) -> None:
    """Read up to the word that the probe is started next; raises UnfitError with what came."""
    deadline = time.monotonic() + START_S
    said = b""
    ready = f"{SAID}ready\n".encode()
    while not said.endswith(ready):
        left = deadline - time.monotonic()
        if left <= 0 or len(said) > START_BYTES:
            raise UnfitError(f"it did not start within {START_S:g} s")
        if not select.select([stream.fileno()], [], [], left)[0]:
            continue
        # The probe says nothing before it is spoken to: nothing comes behind the word.
        data = stream.read(4096)
        if not data:
            raise UnfitError(clean(" ".join(_lines(said)), 200))
        said += data
    if VERSION not in _lines(said):
        shown = clean(" ".join(_lines(said[: -len(ready)])), 200)
        raise UnfitError(f"it says {shown!r} of itself, not {VERSION!r}")


def _why(error: Exception, stream: Stream) -> str:
    """Return what was seen, with the error stream's words where the stream keeps them."""
    words = getattr(stream, "last_words", None)
    heard = " ".join(_lines(words())) if callable(words) else ""
    return clean(f"{error} {heard}".strip(), 300) or "it ended without a word"


def _first(words: Sequence[Sequence[str]], key: str) -> str | None:
    return next((one[1] for one in words if one[0] == key and len(one) == 2), None)


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines()]


def _sh(script: str, *words: str) -> list[str]:
    return ["sh", "-c", script, "whylate", *words]
