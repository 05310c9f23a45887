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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from whylate.boards.board import Finished, Notify, StartedProbe, notify_nobody
from whylate.boards.deploy import SLOWEST_BYTES_PER_S, Deployment
from whylate.boards.errors import BoardError
from whylate.boards.streams.process import (
    MAX_OUTPUT,
    Ended,
    ProcessStream,
    StoppedError,
    run_to_end,
)
from whylate.text import clean, is_number

#: The probe ends after this much silence: TCP alone would take hours to notice a dead host.
KEEPALIVE_S = 4.0
#: How long connecting may take, unless the user's configuration sets it.
CONNECT_S = 10
#: A board that misses this many checks, this many seconds apart, is considered gone.
ALIVE_INTERVAL_S, ALIVE_COUNT = 10, 3
#: How long ending a command that timed out may take.
KILL_S = 10.0
#: ssh's own exit status.
NO_CONNECTION = 255
#: How long it may take to find it, where it had just begun, and to begin.
FIND_S, BEGINS_S = 5.0, 0.5
#: How long a server may take to send its banner: in the same lab, and behind a jump host, which is
#: logged in to first. And how long ssh may then take to end.
GREETING_S, GREETING_BEHIND_S, PARTING_S = 2, 5, 5.0
#: What ssh itself logs of a server's banner.
_GREETED = b"Remote protocol version"
_GREETING_BYTES = 1 << 16

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
#: Prints these ids by the word: its shell has it as an argument. It is read from the input, so that
#: no other process has it. Shells skip the NULs between arguments, at which busybox's grep stops.
_FIND = (
    'exec 2>/dev/null; read -r t; [ "$t" ] || exit; s=" ";'
    ' for p in /proc/[0-9]*; do l=; read -r l <"$p/cmdline";'
    ' case $l in *"$t"*) s="$s${p#/proc/} ";; esac; done; [ "$s" != " " ] || exit;'
    " for p in /proc/[0-9]*; do while read -r k v; do case $k in PPid:)"
    ' case $s in *" $v "*) echo "$v ${p#/proc/}";; esac; break;; esac; done <"$p/status"; done'
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

    `options`: additional options for ssh, which override the user's configuration. `jump`: the
    host over which it is reached, [user@]host[:port], where that configuration has no other way;
    "" for none.
    """

    power = None
    console = None

    def __init__(self, url: str, *, options: Sequence[str] = (), jump: str = "") -> None:
        self.name = url
        self._address = parse_url(url)
        self._more = tuple(options)
        self._jump = jump
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

    def why_silent(self) -> str | None:
        """Return why its SSH server sends no banner, or None: it does. Raises BoardError.

        By the way on which commands go, over jump hosts too. Nobody logs in to the board, and no
        shared connection is used: that of a board without power lives on for a while.
        """
        limit_s = GREETING_BEHIND_S if self._is_behind else GREETING_S
        program, *words = self._ssh
        command = [
            program, "-oLogLevel=DEBUG1", "-oControlPath=none", f"-oConnectTimeout={limit_s}",
            "-oPreferredAuthentications=none", *words, "true",
        ]  # fmt: skip
        try:
            log = run_to_end(command, b"", limit_s + PARTING_S, _GREETING_BYTES).error
        except StoppedError as error:
            log = error.error
        except OSError as error:
            raise _no_ssh(error) from None
        if _GREETED in log:
            return None
        return _reason([line for line in _lines(log) if not line.startswith("debug1: ")])[0]

    @property
    def _is_behind(self) -> bool:
        """Whether it is reached over another host."""
        return bool(self._jump) or _has_proxy(self._configured)

    @cached_property
    def _ssh(self) -> tuple[str, ...]:
        """The command line up to the remote command."""
        configured = self._configured
        jump = (f"-oProxyJump={self._jump}",) if self._jump and not _has_proxy(configured) else ()
        return (*self._fixed, *jump, *_patience(configured), *self._address.words())

    @property
    def _fixed(self) -> tuple[str, ...]:
        return (
            "ssh", "-T", "-a", "-x", "-oBatchMode=yes", "-oRemoteCommand=none",
            "-oClearAllForwardings=yes", "-oPermitLocalCommand=no", *self._more,
        )  # fmt: skip

    @cached_property
    def _configured(self) -> dict[str, str]:
        """What the user's configuration has for the board: `ssh -G`."""
        try:
            asked = run_to_end([*self._fixed, "-G", *self._address.words()], b"", CONNECT_S)
        except StoppedError:
            raise BoardError(f"{self.name}: `ssh -G` does not end: see ~/.ssh/config") from None
        except OSError as error:
            raise _no_ssh(error) from None
        if asked.status != 0:
            raise BoardError(f"{self.name}: {_last_line(asked.error)}")
        lines = asked.output.decode("utf-8", "replace").splitlines()
        return dict(line.split(" ", 1) for line in lines if " " in line)

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
        by_hand = " ".join(("ssh", *(w for w in self._address.words() if w != "--")))
        return BoardError(f"{self.name} cannot be used: {explain(error, by_hand)}")

    def _kill(self, token: str, error: bytes) -> None:
        """End a command on the board, as far as possible."""
        text = error.decode("utf-8", "replace")
        sent = re.search(rf"{token} ([0-9]{{1,10}}) ([0-9]{{1,10}})\n", text)
        with contextlib.suppress(OSError, StoppedError):
            for ids in [sent.groups()] if sent is not None else self._find(token):
                kill = shlex.join(["sh", "-c", _KILL, "whylate", *ids])
                run_to_end([*self._ssh, kill], b"", KILL_S)

    def _find(self, token: str) -> list[tuple[str, str]]:
        """Return the process ids of a command that had just begun: they were still on their way.

        Raises OSError, StoppedError.
        """
        find = shlex.join(["sh", "-c", _FIND])
        for _ in range(2):
            listed = run_to_end([*self._ssh, find], token.encode(), FIND_S)
            if ids := re.findall(rb"^([0-9]{1,10}) ([0-9]{1,10})$", listed.output, re.MULTILINE):
                return [(parent.decode(), child.decode()) for parent, child in ids]
            if listed.status == NO_CONNECTION:
                break
            # The server may be about to start it.
            time.sleep(BEGINS_S)
        return []


#: A part of ssh's message, and what to do about it; the first match counts.
_ADVICE = {
    "IDENTIFICATION HAS CHANGED": "its host key is not the one that was known; if the board was "
    "set up anew, run `ssh-keygen -R` with its name, and then once `{by_hand}`",
    "Host key verification failed": "run once `{by_hand}` and compare the key that it shows",
    "Permission denied": "whylate asks for no password, so let a key in (ssh-copy-id), load it "
    "(ssh-add), or share a connection (ControlMaster)",
    "administratively prohibited": "the jump host does not lead on: see AllowTcpForwarding in its "
    "sshd_config",
    "Could not resolve": "is the name right?",
    "refused": "does an SSH server run there, and on that port?",
    "timed out": "is it on, and in this network?",
    "No route": "is it on, and in this network?",
}


def explain(error: bytes, by_hand: str) -> str:
    """Return the reason in ssh's messages and what to do about it, as one safe line.

    by_hand: the command that a user would type.
    """
    line, advice = _reason(_lines(error))
    return f"{line}: {advice.format(by_hand=by_hand)}" if advice else line


def _reason(lines: Sequence[str]) -> tuple[str, str]:
    """Return the line of ssh's messages that has the reason, and what to do about it or "".

    It is the last one with a known sign, else the last one: where a jump host fails, ssh prints
    more after it. The first sign that is anywhere counts.
    """
    known = [line for line in lines if any(sign in line for sign in _ADVICE)]
    line = next(reversed(known or lines), "ssh printed nothing")
    advice = (advice for sign, advice in _ADVICE.items() if any(sign in x for x in known))
    return line.rstrip("."), next(advice, "")


def _has_proxy(configured: Mapping[str, str]) -> bool:
    return not configured.keys().isdisjoint(("proxyjump", "proxycommand"))


def _patience(configured: Mapping[str, str]) -> tuple[str, ...]:
    """Return options that bound every wait, unless `ssh -G` shows stricter ones."""

    def number(name: str) -> int:
        value = configured.get(name, "0")
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


def _lines(error: bytes) -> list[str]:
    """Return the lines of ssh's messages that are not empty, safe to show."""
    lines = [clean(line, 200) for line in error.decode("utf-8", "replace").splitlines()]
    return [line for line in lines if line]


def _last_line(error: bytes) -> str:
    return next(reversed(_lines(error)), "")


def _no_ssh(error: OSError) -> BoardError:
    return BoardError(f"ssh cannot be run ({error.strerror}): install the OpenSSH client")
