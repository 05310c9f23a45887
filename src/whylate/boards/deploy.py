"""Deploying the probe to a board that takes commands and files, and removing it.

The board needs a POSIX shell (busybox ash suffices) with `uname`, `id`, `ls`, `mkdir`, `chmod`
and `rm`, but no correct clock, SFTP server, bash or GNU options. All scripts are single lines,
because some shells are reached through a terminal.
"""

from __future__ import annotations

import contextlib
import re
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from whylate import __version__
from whylate.boards.board import Finished, Notify
from whylate.boards.errors import BoardError
from whylate.probe.binaries import NoProbeError, ProbeBinary, probe_binary
from whylate.probe.client import Stream
from whylate.text import clean
from whylate.wire.messages import PROTOCOL

#: Where a probe may be put: memory before storage that wears out, and the system's directories
#: before those that end with the user's last session.
PLACES = ("/run", "/tmp", "/dev/shm", "$XDG_RUNTIME_DIR", "/var/tmp", "$HOME")  # noqa: S108
#: The probe's answer to --version.
VERSION = f"whylate-probe {__version__} protocol {PROTOCOL}"
#: Begins the scripts' lines of output; all others are ignored.
MARK = "whylate: "
#: How long a script may take.
SCRIPT_S = 30.0
#: How long the probe may take to start, and how much may be printed before.
START_S = 60.0
START_BYTES = 1 << 16
#: Transfers on slower lines time out.
SLOWEST_BYTES_PER_S = 16_384
#: How long removal may take: the board may be off.
REMOVE_S = 15.0
_PATH = re.compile(r"(/[A-Za-z0-9._+-]+)+")

#: `own D`: the directory D is the user's, and closed to everybody else.
_OWN = (
    'w() { set -- $(ls -ldn "$1" 2>/dev/null); p=$1; o=$3; };'
    ' own() { [ -d "$1" ] && [ ! -h "$1" ] || return 1; w "$1"; [ "$o" = "$u" ] || return 1;'
    " case $p in drwx--[-S]---*) return 0;; esac; return 1; };"
    " umask 077; u=$(id -u); "
)

#: Finds the first place that is safe and executable, and prints why the others are not. Others who
#: may write to a directory could replace our probe there: it is safe only if its sticky bit keeps
#: them from moving ours away.
LOOK = _OWN + (
    'say() { echo "' + MARK + '$*"; };'
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
    """A stream whose write() has a timeout."""

    def write(self, data: bytes, timeout_s: float = ...) -> None:
        """Send all of data; raises OSError when the other end is gone or does not read it."""


class Commands(Protocol):
    """What is needed of a board to examine it, as in the Board protocol."""

    @property
    def name(self) -> str:
        """The name by which the user calls it."""

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command to its end; raises BoardError."""


class Shell(Commands, Protocol):
    """What is needed of a board to deploy a probe."""

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file whole or not at all; raises BoardError."""

    def stream(self, argv: Sequence[str]) -> FedStream:
        """Start a command and return its input and output; raises BoardError."""


@dataclass(frozen=True)
class Survey:
    """What a board is, and where a probe can be put."""

    machine: str
    root: bool
    tools: frozenset[str]
    #: The private directory for the probe, None where none can be made.
    directory: str | None
    #: Paths of probes that are there already.
    files: frozenset[str]
    #: Unsuitable places, each with the reason.
    refused: tuple[str, ...]


class UnfitError(Exception):
    """The probe does not run from a place; the text has what was seen."""


@dataclass
class Deployment:
    """The probe on one board, from the survey to its removal."""

    board: Shell
    _directories: set[str] = field(default_factory=set)

    def start(self, notify: Notify) -> tuple[Stream, ProbeBinary]:
        """Upload the probe to the board unless it is there, and start it.

        Raises BoardError if that is impossible. The stream is at the probe's first byte.
        """
        refused: list[str] = []
        places = list(PLACES)
        while True:
            seen = survey(self.board, places)
            refused += seen.refused
            # With no place left, a directory that the board names is invalid.
            directory = seen.directory if places else None
            if directory is not None:
                self._directories.add(directory)
            binary = self._binary(seen.machine)
            if directory is None:
                return self._start_without_a_place(seen, binary, refused, notify), binary
            try:
                return self._start_from(seen, directory, binary, notify), binary
            except UnfitError as error:
                refused.append(f"{directory}: {error}")
            # Drop the places that this survey examined: those refused, and the one chosen.
            places = places[len(seen.refused) + 1 :]

    def remove(self) -> None:
        """Remove what was uploaded; raises BoardError."""
        if self._directories:
            self.board.run(_sh(REMOVE, *sorted(self._directories)), timeout_s=REMOVE_S)
            self._directories.clear()

    def _binary(self, machine: str) -> ProbeBinary:
        try:
            return probe_binary(machine)
        except NoProbeError as error:
            raise BoardError(f"{self.board.name}: {error}") from None

    def _start_from(
        self, seen: Survey, directory: str, binary: ProbeBinary, notify: Notify
    ) -> Stream:
        """Start the probe from a private directory; raises UnfitError and BoardError."""
        path = f"{directory}/whylate-probe.{binary.sha256}"
        data = binary.path.read_bytes()
        launch = from_file(path, len(data), binary.sha256)
        if path in seen.files:
            # A truncated or changed probe does not start, and is uploaded again.
            with contextlib.suppress(UnfitError):
                return self._launch(launch, data)
        notify(f"copying the probe to {self.board.name}")
        try:
            self.board.put(data, path, 0o700)
        except BoardError as error:
            raise UnfitError(str(error)) from None
        return self._launch(launch, data)

    def _start_without_a_place(
        self, seen: Survey, binary: ProbeBinary, refused: list[str], notify: Notify
    ) -> Stream:
        """Start it from memory; raises BoardError."""
        data = binary.path.read_bytes()
        for make in FED_LAUNCHES:
            launch = make(binary.arch, len(data), binary.sha256)
            if launch.tool not in seen.tools or (launch.root and not seen.root):
                continue
            notify(f"sending the probe to {self.board.name}, into memory")
            try:
                return self._launch(launch, data)
            except UnfitError as error:
                refused.append(f"memory, by {launch.tool}: {error}")
        raise BoardError(
            f"{self.board.name}: the probe cannot run from any place ({'; '.join(refused)}): "
            "mount one of them without noexec, or install python3"
        )

    def _launch(self, launch: Launch, data: bytes) -> Stream:
        """Start a launch and wait until it is ready; raises UnfitError and BoardError."""
        stream = self.board.stream(launch.argv)
        try:
            if launch.fed:
                stream.write(data, START_S + len(data) / SLOWEST_BYTES_PER_S)
            _wait_until_ready(stream)
        except (UnfitError, OSError) as error:
            stream.close()
            raise UnfitError(_describe(error, stream)) from None
        except BaseException:
            stream.close()
            raise
        return stream


def survey(board: Commands, places: Sequence[str]) -> Survey:
    """Find out in one command what a board is and where a probe can be; raises BoardError."""
    done = board.run(_sh(LOOK, *places), timeout_s=SCRIPT_S)
    rows = [line[len(MARK) :].split() for line in _lines(done.output) if line.startswith(MARK)]
    if ["end"] not in rows:
        shown = clean((done.error or done.output).decode("utf-8", "replace"), 200)
        raise BoardError(
            f"{board.name}: its shell did not run the script ({shown or 'no answer'}): "
            "a POSIX shell with uname, id, ls, mkdir, chmod and rm is needed"
        )

    def values(key: str) -> list[str]:
        return [row[1] for row in rows if len(row) == 2 and row[0] == key]

    directory = next(iter(values("place")), None)
    refused = [clean(" ".join(row[1:]), 200) for row in rows if row[:1] == ["not"]]
    return Survey(
        machine=next(iter(values("machine")), ""),
        root=values("user")[:1] == ["0"],
        tools=frozenset(values("tool")),
        directory=directory if directory is not None and _PATH.fullmatch(directory) else None,
        files=frozenset(values("file")),
        refused=tuple(refused[: len(places)]),
    )


def _wait_until_ready(stream: Stream) -> None:
    """Read up to the line that precedes the probe's start; raises UnfitError with what came."""
    deadline = time.monotonic() + START_S
    output = b""
    ready = f"{MARK}ready\n".encode()
    while not output.endswith(ready):
        left = deadline - time.monotonic()
        if left <= 0 or len(output) > START_BYTES:
            raise UnfitError(f"it did not start within {START_S:g} s")
        if not select.select([stream.fileno()], [], [], left)[0]:
            continue
        # The probe is silent until the host sends: nothing follows that line.
        data = stream.read(4096)
        if not data:
            raise UnfitError(clean(" ".join(_lines(output)), 200))
        output += data
    if VERSION not in _lines(output):
        shown = clean(" ".join(_lines(output[: -len(ready)])), 200)
        raise UnfitError(f"its --version is {shown!r}, not {VERSION!r}")


def _describe(error: Exception, stream: Stream) -> str:
    """Return what was seen, with the end of the error stream where the stream keeps it."""
    words = getattr(stream, "last_words", None)
    text = " ".join(_lines(words())) if callable(words) else ""
    return clean(f"{error} {text}".strip(), 300) or "it ended without output"


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines()]


def _sh(script: str, *words: str) -> list[str]:
    return ["sh", "-c", script, "whylate", *words]


#: Precedes the first output of the probe.
READY = "whylate: ready"

#: The number of the system call memfd_create: for 64-bit programs, for 32-bit ones.
_MEMFD_CREATE = {
    "x86_64": (319, 356),
    "aarch64": (279, 385),
    "armv7": (385, 385),
    "riscv64": (279, 279),
}

#: With the path in $p, the size in $1 and the SHA-256 in $2: only that probe is started.
#: Without sha256sum, size and --version are compared.
_CHECK_AND_START = (
    "s=$(sha256sum $p 2>/dev/null) || s=$(busybox sha256sum $p 2>/dev/null) || s=;"
    ' case $s in "") [ "$(wc -c <$p)" -eq $1 ];; "$2 "*) true;; *) false;; esac ||'
    ' { echo "it is not what was sent"; exit 1; };'
    f' $p --version </dev/null 2>&1 && echo "{READY}" && exec $p'
)

#: A private mount that ends with the probe. Not over /run, where the probe logs what it changes,
#: and over /tmp only as the last choice: loads work there.
_IN_A_PRIVATE_MOUNT = (
    "umask 077; for d in /mnt /media /srv /opt /tmp; do [ -d $d ] &&"
    " mount -t tmpfs -o mode=700,size=8m,exec whylate $d 2>&1 && break; d=; done;"
    ' [ -n "$d" ] || exit 1; p=$d/whylate-probe; head -c $1 >$p && chmod 700 $p || exit 1; '
) + _CHECK_AND_START

#: 17 is MFD_CLOEXEC | MFD_EXEC, which kernels before 6.3 do not know.
_PYTHON = (
    "import os,sys; n=int(sys.argv[1]); d=sys.stdin.buffer.read(n);"
    r" exec('try: m=os.memfd_create(\'whylate-probe\',17)\n"
    r"except OSError: m=os.memfd_create(\'whylate-probe\',1)');"
    " len(d)==n==os.write(m,d) or sys.exit('it is not what was sent');"
    " os.spawnv(os.P_WAIT,'/proc/%d/fd/%d'%(os.getpid(),m),['whylate-probe','--version'])"
    " and sys.exit('it cannot be run from a memfd');"
    f" print('{READY}',flush=True); os.execv('/proc/self/fd/%d'%m,['whylate-probe'])"
)
_PERL = (
    'my($n,$a,$b)=@ARGV; my $w="whylate-probe"; my $c=length(pack("p",""))==4?$b+0:$a+0;'
    ' binmode STDIN; read(STDIN,my $d,$n)==$n or die "it is not what was sent\\n";'
    " my $m=syscall($c,$w,17); $m=syscall($c,$w,1) if $m<0;"
    ' $m>=0 or die "no memfd: $!\\n"; open(my $f,">&=",$m) or die; binmode $f;'
    ' syswrite($f,$d)==$n or die "no memory: $!\\n"; $|=1;'
    ' system{"/proc/$$/fd/$m"}"whylate-probe","--version";'
    ' $?==0 or die "it cannot be run from a memfd\\n";'
    f' print "{READY}\\n"; exec{{"/proc/self/fd/$m"}}"whylate-probe"'
)


@dataclass(frozen=True)
class Launch:
    """A command that becomes the probe, and what it needs."""

    argv: tuple[str, ...]
    #: The program that it needs, besides a shell; "" for none.
    tool: str = ""
    #: Whether it needs root.
    root: bool = False
    #: Whether the probe's bytes go to its input first.
    fed: bool = True


def from_file(path: str, size: int, sha256: str) -> Launch:
    """Start the probe in a file, if it is the right one."""
    script = f"p=$3; {_CHECK_AND_START}"
    return Launch(("sh", "-c", script, "whylate", str(size), sha256, path), fed=False)


def by_python(arch: str, size: int, sha256: str) -> Launch:
    """Start it from a memfd that python3 (from 3.8) makes; the line must be binary-safe."""
    del arch, sha256
    return Launch(("python3", "-c", _PYTHON, str(size)), tool="python3")


def by_perl(arch: str, size: int, sha256: str) -> Launch:
    """Start it from a memfd that perl makes; the line must be binary-safe."""
    del sha256
    wide, narrow = _MEMFD_CREATE[arch]
    return Launch(("perl", "-e", _PERL, str(size), str(wide), str(narrow)), tool="perl")


def by_mount(arch: str, size: int, sha256: str) -> Launch:
    """Start it from a tmpfs in a private mount namespace."""
    del arch
    inner = ("sh", "-c", _IN_A_PRIVATE_MOUNT, "whylate", str(size), sha256)
    return Launch(("unshare", "-m", *inner), tool="unshare", root=True)


#: From the architecture, the size in bytes and the SHA-256 of a probe.
MakeLaunch = Callable[[str, int, str], Launch]
#: The launches that need no directory on the board, in the order in which they are tried.
FED_LAUNCHES: tuple[MakeLaunch, ...] = (by_python, by_perl, by_mount)
