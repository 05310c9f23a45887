"""The worker: a loop in the board's own shell that runs checked lines and answers them.

An interactive prompt echoes, edits and remembers what is typed. So the first typed line starts a
plain `sh` that reads lines and runs them. From then on

- a request is `length:token:command`: a line that lost characters on the way is not run;
- an answer is `<token|text|token>`, and is valid only if complete: a kernel's line in it is
  removed, or the request is repeated. So every command must be idempotent;
- the terminal echoes nothing and no character of a line can stop the worker (-isig, no ^D).

The worker keeps its files in a private directory. When it exits, or the line hangs up, it kills
what it still runs, removes the files, and restores the terminal.
"""

from __future__ import annotations

import re
import secrets
import time

from whylate.boards.console.drain import ConsoleStream
from whylate.boards.console.listen import Listener
from whylate.boards.console.prompt import STALE_WORKER, type_in
from whylate.boards.errors import BoardError

#: A terminal in canonical mode accepts lines of up to 4095 characters.
LONGEST_LINE = 4000
#: After this much silence a request is repeated, then after twice as much ….
SILENCE_S = 2.0
TRIES = 4
#: How often one is whose answers come, but damaged by what the kernel prints.
DAMAGED_TRIES = 16
#: How long a worker may take to exit.
END_S = 5.0
#: How long a board that keeps printing may leave a request unanswered.
ANSWER_S = 20.0

TOOLS = ("base64", "xz", "gzip", "setsid", "sha256sum", "md5sum", "cksum", "od", "dd")

#: Short: some line editors accept only a few hundred characters.
_FIRST = (
    ' LC_ALL=C sh -c \'s=$(stty -g);trap "stty $s" 0;stty -echo -isig -ixon eof undef;'
    'printf %s%s\\\\n {first} {second};IFS= read -r l;eval "$l"\'\n'
)

#: Becomes one line, with NAME, TOOLS, BYE and STALE filled in. fd 3 is the terminal; what the
#: worker starts reads /dev/null instead. Signals are ignored before it exits: a hangup is both an
#: end of file and a signal, and a shell with a pending signal at the start of its exit trap leaves
#: at once by the signal's own trap, with nothing killed and nothing removed.
_SECOND = r"""
exec 3<&0 </dev/null
w=$(stty -g <&3)
for d in /run /dev/shm /tmp /var/tmp ''; do D=$d/.whylate-NAME
mkdir -m 700 "$D" 2>/dev/null && break
D=
done
trap 'trap "" 1 2 15; cd /; stty $s <&3
for p in "$D"/*.p; do [ -e "$p" ] && [ ! -e "${p%p}s" ] && kill -9 -$(cat "$p"); done 2>/dev/null
[ -n "$D" ] && rm -rf "$D"; printf "%s%s\n" BYE' 0
trap 'trap "" 1 2 15; exit 1' 1 2 15
r() { printf "\n<%s|%s|%s>\n" "$T" "$*" "$T"; }
for t in TOOLS; do if command -v $t >/dev/null 2>&1; then A="$A $t"
elif busybox $t --help >/dev/null 2>&1; then eval "$t() { busybox $t \"\$@\"; }"; A="$A $t"; fi
done
while IFS= read -r l <&3; do c=${l#*:}
if [ "${l%%:*}" = "${#c}" ]; then T=${c%%:*}; eval "${c#*:}"
elif [ -n "$l" ]; then echo STALE
fi
done
trap "" 1 2 15
"""

_EXIT = 'trap "" 1 2 15; exit 0'


class Worker:
    """A worker on a board, commanded over a console; every method raises BoardError."""

    def __init__(self, stream: ConsoleStream, listener: Listener) -> None:
        self.stream = stream
        self.listener = listener
        #: Which of TOOLS the board has.
        self.tools: frozenset[str] = frozenset()
        #: Whether the commands run as root.
        self.root = False
        #: Whether it may be running.
        self._begun = False
        self._bye = b""

    def start(self, timeout_s: float) -> bool:
        """Start it; return whether a shell has answered in that time."""
        halves, name = (secrets.token_hex(4), secrets.token_hex(4)), secrets.token_hex(6)
        self.listener.clear()
        self._bye = b""
        self._begun = True
        type_in(self.stream, _FIRST.format(first=halves[0], second=halves[1]).encode())
        if not self._see("".join(halves).encode(), timeout_s):
            self._begun = False
            return False
        bye = secrets.token_hex(4), secrets.token_hex(4)
        self._bye = "".join(bye).encode()
        second = "; ".join(_SECOND.strip().splitlines())
        for word, filling in (
            ("NAME", name),
            ("TOOLS", " ".join(TOOLS)),
            ("BYE", " ".join(bye)),
            ("STALE", STALE_WORKER.decode()),
        ):
            second = second.replace(word, filling)
        type_in(self.stream, second.replace("do; ", "do ").encode() + b"\n")
        words = self.ask('r "$(id -u)" "${D:-none}" $A').split()
        if len(words) < 2 or words[1] == b"none":
            raise BoardError(
                "the board has no directory to write to: none of /run, /dev/shm, /tmp, /var/tmp "
                "and / accepts a file"
            )
        self.root = words[0] == b"0"
        self.tools = frozenset(word.decode("ascii", "replace") for word in words[2:])
        return True

    def end_stale(self) -> None:
        """End a stale worker that a killed whylate has left."""
        self.listener.clear()
        self.request(secrets.token_hex(5), _EXIT)
        self.listener.wait(2.0)

    def end(self) -> None:
        """Let it restore the terminal and exit, also after an incomplete start.

        Waits at most END_S. Raises BoardError where the line is gone.
        """
        if not self._begun:
            return
        self._begun = False
        self.listener.clear()
        # An interrupted request may have left half a line. An empty line also ends a worker that
        # waits for its script.
        self.resynchronise()
        if self._bye:
            self.request(secrets.token_hex(5), _EXIT)
            self._see(self._bye, END_S)
        else:
            self.listener.wait_until_silent(0.5, time.monotonic() + END_S)

    def request(self, token: str, command: str) -> None:
        """Send a request; its answers carry the token."""
        # Where the worker is gone, a prompt may get this: an empty $D must not become the root.
        body = f"{token}:{command.replace('$D/', '${D:?}/')}"
        line = f"{len(body)}:{body}\n"
        if len(line) > LONGEST_LINE or not (line[:-1].isascii() and line[:-1].isprintable()):
            raise BoardError(
                "this cannot be sent over a console: it is too long or has characters that a "
                "terminal does not transmit"
            )
        type_in(self.stream, line.encode())

    def resynchronise(self) -> None:
        """End an unfinished line, so that the next request begins a line."""
        type_in(self.stream, b"\n")

    def ask(self, command: str, answer_s: float = ANSWER_S, *, tries: int | None = None) -> bytes:
        """Send a request, repeatedly until its answer is complete; return the answer, a line."""
        return self._ask(command, answer_s, tries or TRIES)[1]

    def start_job(self, command: str) -> str:
        """Send a request like ask() and return its token: more answers to it may follow."""
        return self._ask(command, ANSWER_S, TRIES)[0]

    def _ask(self, command: str, answer_s: float, tries: int) -> tuple[str, bytes]:
        token = secrets.token_hex(5)
        silence_s = SILENCE_S
        deadline = time.monotonic() + tries * answer_s
        self.listener.clear()
        unanswered = damaged = 0
        while unanswered < tries and damaged < DAMAGED_TRIES and time.monotonic() < deadline:
            before = self.listener.raw().count(token.encode())
            answer = self._request_once(token, command, silence_s, answer_s, lines=False)
            if answer is not None:
                return token, answer
            if self.listener.raw().count(token.encode()) > before:
                damaged += 1
            else:
                unanswered += 1
                silence_s *= 2
        raise BoardError(f"the shell on the console does not answer{self.listener.last_words()}")

    def attempt(self, command: str, silence_s: float, within_s: float) -> bytes | None:
        """Send a request once; return its answer of several lines, or None if it is incomplete.

        The answer must have its own checksum, to detect a kernel's line in it.
        """
        self.listener.clear()
        return self._request_once(secrets.token_hex(5), command, silence_s, within_s, lines=True)

    def _request_once(
        self, token: str, command: str, silence_s: float, within_s: float, *, lines: bool
    ) -> bytes | None:
        self.request(token, command)
        answer = self.answer(token, silence_s, within_s, lines=lines)
        if answer is None:
            # An unfinished line must not become part of the next request.
            self.resynchronise()
        return answer

    def answer(
        self, token: str, silence_s: float, within_s: float, *, lines: bool = False
    ) -> bytes | None:
        """Return the first answer; None after silence_s of silence, or after within_s."""
        deadline = time.monotonic() + within_s
        pattern = answer_pattern(token, lines=lines)
        while True:
            if answer := pattern.search(self.listener.without_kernel()):
                return answer[1].strip()
            left = deadline - time.monotonic()
            if left <= 0 or not self.listener.wait(min(silence_s, left)):
                return None

    def _see(self, text: bytes, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while text not in self.listener.without_kernel():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.listener.wait(left)
        return True


def answer_pattern(token: str, *, lines: bool = False) -> re.Pattern[bytes]:
    """Return the pattern of the answers to a request."""
    text = rb"[^|<>]*" if lines else rb"[^|<>\r\n]*"
    return re.compile(rb"<%b\|(%b)\|%b>" % (token.encode(), text, token.encode()))
