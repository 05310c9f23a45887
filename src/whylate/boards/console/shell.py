"""Commands, files and the probe over a root shell on a serial console."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Sequence
from types import TracebackType

from whylate.boards.board import Finished, Notify, notify_nobody
from whylate.boards.console.drain import KEEPALIVE_S, ConsoleStream, FramedConsoleStream
from whylate.boards.console.listen import Listener
from whylate.boards.console.prompt import STALE_WORKER, Login, Prompt, type_in
from whylate.boards.console.transfer import OutputTooLongError, Progress, Transfer
from whylate.boards.console.worker import SILENCE_S, Worker
from whylate.boards.errors import BoardError

__all__ = ["KEEPALIVE_S", "ConsoleShell", "Login", "Progress"]

#: How long a command may take to end after SIGTERM before it is killed.
GRACE_S = 2.0
#: How often a command's end is polled, in case its announcement was damaged.
ASK_S = 2.0
#: How long a shell may take to answer its first line.
START_S = 5.0
#: A shorter script is sent within the request itself.
SHORT_SCRIPT = 1000


class ConsoleShell:
    """A shell on a console; closing it restores the prompt.

    `stream` is what DrainedConsole.connect() returned; it is closed with the shell. Every method
    raises BoardError. One thread uses it at a time, and while a stream() is open nothing else.
    """

    def __init__(self, stream: ConsoleStream, login: Login | None = None) -> None:
        self._stream = stream
        self._listener = Listener(stream)
        self._prompt = Prompt(stream, self._listener, login or Login())
        self._worker = Worker(stream, self._listener)
        self._transfer: Transfer | None = None
        self._commands = 0
        self._framed: FramedConsoleStream | None = None
        #: Why the shell did not come back after a stream was closed.
        self._lost: str | None = None

    @property
    def root(self) -> bool:
        """Whether its commands run as root."""
        return self._worker.root

    def open(
        self, timeout_s: float = 60.0, *, booting: bool = False, notify: Notify = notify_nobody
    ) -> None:
        """Find the prompt, logging in where the console asks for it, and start working.

        `booting`: the board was just switched on, and nothing may be typed into its boot loader.
        """
        if self._transfer is not None:
            return
        notify("waiting for the console's prompt")
        deadline = time.monotonic() + timeout_s
        while True:
            self._prompt.reach(deadline, booting)
            if STALE_WORKER in self._listener.raw():
                self._worker.end_stale()
                continue
            if self._worker.start(min(START_S, max(deadline - time.monotonic(), 0.5))):
                break
            # Not a prompt after all, or a prompt followed by something else.
            type_in(self._stream, b"\n")
        self._transfer = Transfer(self._worker)

    def close(self) -> None:
        """Restore the terminal, log out if we have logged in, and close the stream.

        Also after an incomplete open().
        """
        try:
            if self._framed is not None:
                self._framed.close()
            if self._lost is None:
                # The shell reads what a worker that is slow to end does not.
                self._worker.end()
                self._prompt.log_out()
        except BoardError:
            # A board that died, or was switched off, has no prompt to restore.
            pass
        finally:
            self._transfer = None
            self._stream.close()

    def __enter__(self) -> ConsoleShell:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def put(
        self, data: bytes, path: str, mode: int = 0o644, progress: Progress | None = None
    ) -> None:
        """Write a file on the board whole or not at all.

        `progress` gets the number of bytes that have arrived, and their total.
        """
        self._ready().put(data, path, mode, progress)

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command to its end with `data` as its input.

        A command that takes longer than `timeout_s`, transfers excluded, is killed with its
        children.
        """
        transfer, worker = self._ready(), self._worker
        self._commands += 1
        n = str(self._commands)
        self._send_script(transfer, _script(argv), n)
        source = "/dev/null"
        if data:
            source = f'"$D/{n}.i"'
            transfer.put_own(data, f"{n}.i")
        leader = "setsid " if "setsid" in worker.tools else ""
        token = worker.start_job(
            f"[ -e $D/{n}.x ] || {{ : >$D/{n}.x; ( {leader}sh $D/{n}.c <{source} >$D/{n}.o "
            f"2>$D/{n}.e 3<&- & p=$!; echo $p >$D/{n}.p; wait $p; echo $? >$D/{n}.t; "
            f"mv $D/{n}.t $D/{n}.s; r done ) & }}; r started"
        )
        if not self._wait_for(n, token, timeout_s):
            self._kill(n)
            worker.ask(f"rm -f $D/{n}.*; r ok")
            raise BoardError(f"{argv[0]} took longer than {timeout_s:g} s")
        answer = worker.ask(f"r $(cat $D/{n}.s) $(wc -c <$D/{n}.o) $(wc -c <$D/{n}.e)")
        words = answer.split()
        if len(words) != 3 or not all(word.isdigit() and len(word) < 12 for word in words):
            raise BoardError(f"the board does not report how {argv[0]} ended: {answer[:80]!r}")
        status, output, error = (int(word) for word in words)
        try:
            done = Finished(status, transfer.get(f"{n}.o", output), transfer.get(f"{n}.e", error))
        except OutputTooLongError:
            worker.ask(f"rm -f $D/{n}.*; r ok")
            raise
        worker.ask(f"rm -f $D/{n}.*; r ok")
        return done

    def stream(self, argv: Sequence[str]) -> FramedConsoleStream:
        """Start a probe and return the stream to it, over the same line.

        Only a probe: text and frames are separated by the probe's framing, and only a keepalive
        (KEEPALIVE_S, as StartedProbe.keepalive_s) ends it.
        """
        self._ready()
        command = " ".join(shlex.quote(word) for word in argv)
        token = secrets.token_hex(5)
        self._listener.clear()
        end = f"<{token}|end|{token}>".encode()
        framed = self._stream.frames(end, self._on_stream_closed)
        # The program opens the terminal again: it makes its input non-blocking, and the worker's
        # must stay blocking. Its output goes through cat, because the probe refuses a terminal on
        # both sides. What comes in after its end is discarded until there is silence.
        self._worker.request(
            token,
            f"stty raw -echo <&3; r go; {{ {command} </proc/self/fd/3 3<&-; }} | cat; "
            "r end; stty min 0 time 2 <&3; cat <&3 >/dev/null; stty $w <&3; r cooked",
        )
        if self._worker.answer(token, SILENCE_S * 4, SILENCE_S * 8) != b"go":
            framed.release()
            raise BoardError(
                f"the console does not become a line for the probe{self._listener.last_words()}"
            )
        self._framed = framed
        return framed

    # -- the steps of the above

    def _ready(self) -> Transfer:
        if self._transfer is None:
            raise BoardError("the shell on the console is not open")
        if self._lost is not None:
            raise BoardError(f"the shell did not come back after the probe: {self._lost}")
        if self._framed is not None:
            raise BoardError("the probe uses the console: no command can run meanwhile")
        return self._transfer

    def _on_stream_closed(self, framed: FramedConsoleStream) -> None:
        """Resynchronise the shell after a stream; where it is gone, the next use reports it."""
        if self._framed is not framed:
            return
        self._framed = None
        try:
            self._listener.wait_until_silent(0.5, time.monotonic() + 3.0)
            self._worker.resynchronise()
            self._worker.ask("r ok", tries=2)
        except BoardError as error:
            self._lost = str(error)

    def _send_script(self, transfer: Transfer, script: str, n: str) -> None:
        quoted = shlex.quote(script)
        if len(quoted) <= SHORT_SCRIPT and script.isascii() and script.isprintable():
            self._worker.ask(f"printf %s {quoted} >$D/{n}.c; r ok")
        else:
            transfer.put_own(script.encode("utf-8", "surrogateescape"), f"{n}.c")

    def _wait_for(self, n: str, token: str, timeout_s: float) -> bool:
        """Wait for a command's end; return whether it came in time."""
        deadline = time.monotonic() + timeout_s
        mark = f"<{token}|done|{token}>".encode()
        while (left := deadline - time.monotonic()) > 0:
            ask_at = time.monotonic() + min(ASK_S, left)
            while (wait_s := ask_at - time.monotonic()) > 0:
                if mark in self._listener.without_kernel():
                    return True
                self._listener.wait(wait_s)
            if self._ended(n):
                return True
        return self._ended(n)

    def _ended(self, n: str) -> bool:
        return self._worker.ask(f"[ -e $D/{n}.s ] && r yes || r no") == b"yes"

    def _kill(self, n: str) -> None:
        """End a command and its children."""
        for signal in ("TERM", "KILL"):
            self._worker.ask(
                f"p=$(cat $D/{n}.p); kill -{signal} -$p 2>/dev/null || kill -{signal} $p "
                "2>/dev/null; r ok"
            )
            deadline = time.monotonic() + GRACE_S
            while time.monotonic() < deadline:
                if self._ended(n):
                    return
                time.sleep(0.1)


def _script(argv: Sequence[str]) -> str:
    """Return a script that executes the command, or runs it where it is a shell builtin."""
    if not argv:
        raise BoardError("no command to run")
    if any("\0" in word for word in argv):
        raise BoardError("a command cannot hold a zero byte")
    words = " ".join(shlex.quote(word) for word in argv)
    return f'set -- {words}; case $(command -v "$1") in /*) exec "$@";; *) "$@";; esac'
