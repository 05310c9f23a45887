"""A board that is reached over SSH: `ssh://root@board7`.

By the OpenSSH client, so that ~/.ssh/config, agents and jump hosts work as they do by hand. It
never prompts: a key, an agent or a shared connection (ControlMaster) must authenticate us.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from whylate.boards.board import BoardError, Finished, Notify, StartedProbe, notify_nobody
from whylate.boards.deploy import SLOWEST_BYTES_PER_S, Deployment
from whylate.boards.facts.reading import clean
from whylate.boards.streams.process import (
    MAX_OUTPUT,
    Ended,
    ProcessStream,
    StoppedError,
    run_to_end,
)
from whylate.text import is_number

#: The probe ends after this much silence: TCP alone would take hours to notice a dead host.
KEEPALIVE_S = 4.0
#: How long connecting may take, unless the user's configuration sets it.
CONNECT_S = 10
#: A board that misses this many checks, this many seconds apart, is considered gone.
ALIVE_INTERVAL_S, ALIVE_COUNT = 10, 3
#: How long ending a command that timed out may take.
KILL_S = 10.0

_URL = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.+-]*\$?)@)?"
    r"(?:(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*)|\[(?P<ip6>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)\])"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)

#: $0 is a random word. On the error stream, the text between the two lines that begin with it is
#: the command's, the rest is ssh's: a status of 255 may come from either. The process ids serve to
#: end a command that takes too long.
_RUN = 'sh -c \'echo "$0 $PPID $$" >&2; exec "$@"\' "$0" "$@"; s=$?; echo "$0 $s" >&2; exit $s'
#: With OpenSSH the first is a process group, with dropbear it is not.
_KILL = (
    "e() { kill -$1 -$2 2>/dev/null || kill -$1 $3 2>/dev/null; };"
    ' e TERM "$@"; sleep 1; e KILL "$@"; :'
)
#: Into a new file, so that no existing link redirects it.
_PUT = (
    '[ ! -d "$1" ] || { echo "is a directory" >&2; exit 1; }; umask 077; set -C; t=$1.$5.part;'
    ' (: >"$t") || exit 1; set +C; if cat >"$t" && [ "$(wc -c <"$t")" -eq $2 ]'
    ' && case $(sha256sum "$t" 2>/dev/null) in ""|"$3 "*) true;; *) false;; esac'
    ' && chmod $4 "$t" && mv -f "$t" "$1"; then exit 0; fi; rm -f "$t"; exit 1'
)


@dataclass(frozen=True)
class SshAddress:
    """Where a board listens; None: as in the user's configuration."""

    host: str
    user: str | None = None
    port: int | None = None

    def words(self) -> tuple[str, ...]:
        """Return ssh's arguments: nothing in them can be read as an option."""
        user = ("-l", self.user) if self.user is not None else ()
        port = ("-p", str(self.port)) if self.port is not None else ()
        return (*user, *port, "--", self.host)


def parse_url(url: str) -> SshAddress:
    """Return the address in `ssh://[user@]host[:port]`; raises BoardError."""
    if "@" in url and ":" in url.removeprefix("ssh://").rpartition("@")[0]:
        raise BoardError("an ssh:// address holds no password: use a key, or an agent")
    match = _URL.fullmatch(url)
    port = int(match["port"]) if match and match["port"] else None
    if match is None or port == 0 or (port or 0) > 65535 or not _is_ip6(match["ip6"]):
        raise BoardError(
            f"invalid address {clean(url, 80)!r}: expected ssh://[user@]host[:port], an IPv6 "
            "address in brackets"
        )
    return SshAddress(match["host"] or match["ip6"], match["user"], port)


def _is_ip6(text: str | None) -> bool:
    if text is None:
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text).version == 6
    return False


class SshBoard:
    """A board behind an SSH server; it is on, and stays on.

    `options`: additional options for ssh, which override the user's configuration.
    """

    power = None
    console = None

    def __init__(self, url: str, *, options: Sequence[str] = ()) -> None:
        self.name = url
        self._address = parse_url(url)
        self._more = tuple(options)
        self._probe = Deployment(self)
        self._tell: Notify = notify_nobody

    def hold(self, notify: Notify) -> None:
        """Check that we can log in; the board is not locked. Raises BoardError."""
        self._tell = notify
        notify(f"connecting to {self.name}")
        self.run(["true"])

    def boot(self, notify: Notify) -> None:
        """Do nothing: hold() has seen that it is on."""

    def stay_on(self) -> None:
        """Do nothing: it has no supply that can be switched."""

    def close(self) -> None:
        """Remove the probe; where the board does not answer, show that."""
        try:
            self._probe.remove()
        except BoardError as error:
            self._tell(f"the probe was not removed: {error}")

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Upload the probe for its architecture and start it; raises BoardError."""
        stream, binary = self._probe.start(notify)
        return StartedProbe(stream, binary, KEEPALIVE_S)

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file through a temporary one; raises BoardError.

        The board compares its size, and its hash where it has sha256sum.
        """
        target = f"./{path}" if path.startswith("-") else path
        sha256 = hashlib.sha256(data).hexdigest()
        words = (target, str(len(data)), sha256, f"{mode:o}", secrets.token_hex(8))
        done = self.run(
            ["sh", "-c", _PUT, "whylate", *words],
            data=data,
            timeout_s=60.0 + len(data) / SLOWEST_BYTES_PER_S,
        )
        if done.status != 0:
            why = _last_line(done.error) or "what arrived is not what was sent"
            raise BoardError(f"{self.name}: {clean(path, 200)} cannot be written: {why}")

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command; raises BoardError, also where it prints more than MAX_OUTPUT."""
        token = f"whylate-{secrets.token_hex(8)}"
        what = f"{self.name}: {clean(argv[0], 80)}"
        command = [*self._ssh, shlex.join(["exec", "sh", "-c", _RUN, token, *argv])]
        error_text = bytearray()
        try:
            ended = run_to_end(command, data, timeout_s, MAX_OUTPUT, error_text)
        except StoppedError as error:
            self._kill(token, error.error)
            raise BoardError(f"{what} {error}") from None
        except OSError as error:
            raise _no_ssh(error) from None
        except BaseException:
            # Ctrl-C ended ssh here, but not the command on the board.
            self._kill(token, bytes(error_text))
            raise
        return self._finished(what, token, ended)

    def stream(self, argv: Sequence[str]) -> ProcessStream:
        """Start a command on the board; raises BoardError where there is no ssh.

        A board that cannot be reached shows as the end of the stream, and in last_words().
        """
        try:
            return ProcessStream([*self._ssh, shlex.join(["exec", *argv])], keep_error=True)
        except OSError as error:
            raise _no_ssh(error) from None

    @cached_property
    def _ssh(self) -> tuple[str, ...]:
        """The command line up to the remote command."""
        fixed = (
            "ssh", "-T", "-a", "-x", "-oBatchMode=yes", "-oRemoteCommand=none",
            "-oClearAllForwardings=yes", "-oPermitLocalCommand=no", *self._more,
        )  # fmt: skip
        try:
            asked = run_to_end([*fixed, "-G", *self._address.words()], b"", CONNECT_S)
        except StoppedError:
            raise BoardError(f"{self.name}: `ssh -G` does not end: see ~/.ssh/config") from None
        except OSError as error:
            raise _no_ssh(error) from None
        if asked.status != 0:
            raise BoardError(f"{self.name}: {_last_line(asked.error)}")
        return (*fixed, *_patience(asked.output.decode("utf-8", "replace")), *self._address.words())

    def _finished(self, what: str, token: str, ended: Ended) -> Finished:
        """Separate the command's output and status from ssh's; raises BoardError."""
        _, begun, rest = ended.error.partition(token.encode())
        if not begun:
            raise self._unreachable(ended.error)
        own, over, status = rest.partition(b"\n")[2].rpartition(token.encode())
        number = status.partition(b"\n")[0].strip()
        # A shell's status is below 256; the board may have written anything there.
        if not over or not re.fullmatch(rb"[0-9]{1,3}", number):
            raise BoardError(f"{what} did not end: the connection broke ({_last_line(rest)})")
        return Finished(int(number), ended.output, own)

    def _unreachable(self, error: bytes) -> BoardError:
        """Return the last message of ssh, and what to do about it."""
        text = error.decode("utf-8", "replace")
        by_hand = " ".join(("ssh", *(w for w in self._address.words() if w != "--")))
        advice = next((advice for sign, advice in _ADVICE.items() if sign in text), "")
        line = (_last_line(error) or "ssh printed nothing").rstrip(".")
        why = f"{line}: {advice.format(by_hand=by_hand)}" if advice else line
        return BoardError(f"{self.name} cannot be used: {why}")

    def _kill(self, token: str, error: bytes) -> None:
        """End a command on the board, as far as possible."""
        text = error.decode("utf-8", "replace")
        ids = re.search(rf"{token} ([0-9]{{1,10}}) ([0-9]{{1,10}})\n", text)
        if ids is None:
            return
        with contextlib.suppress(OSError, StoppedError):
            kill = shlex.join(["sh", "-c", _KILL, "whylate", *ids.groups()])
            run_to_end([*self._ssh, kill], b"", KILL_S)


#: A part of ssh's message, and what to do about it; the first match counts.
_ADVICE = {
    "IDENTIFICATION HAS CHANGED": "its host key is not the one that was known; if the board was "
    "set up anew, run `ssh-keygen -R` with its name, and then once `{by_hand}`",
    "Host key verification failed": "run once `{by_hand}` and compare the key that it shows",
    "Permission denied": "whylate asks for no password, so let a key in (ssh-copy-id), load it "
    "(ssh-add), or share a connection (ControlMaster)",
    "Could not resolve": "is the name right?",
    "refused": "does an SSH server run there, and on that port?",
    "timed out": "is it on, and in this network?",
    "No route": "is it on, and in this network?",
}


def _patience(configured: str) -> tuple[str, ...]:
    """Return options that bound every wait, unless `ssh -G` shows stricter ones."""
    values = dict(line.split(" ", 1) for line in configured.splitlines() if " " in line)

    def number(name: str) -> int:
        value = values.get(name, "0")
        return int(value) if is_number(value) else 0

    options: list[str] = []
    if not number("connecttimeout"):
        options.append(f"-oConnectTimeout={CONNECT_S}")
    patience_s = number("serveraliveinterval") * number("serveralivecountmax")
    if not 0 < patience_s <= ALIVE_INTERVAL_S * ALIVE_COUNT:
        options += [
            f"-oServerAliveInterval={ALIVE_INTERVAL_S}",
            f"-oServerAliveCountMax={ALIVE_COUNT}",
        ]
    return tuple(options)


def _last_line(error: bytes) -> str:
    lines = [clean(line, 200) for line in error.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def _no_ssh(error: OSError) -> BoardError:
    return BoardError(f"ssh cannot be run ({error.strerror}): install the OpenSSH client")
