"""From a console in any state to a shell's prompt."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from whylate.boards.console.drain import ConsoleStream
from whylate.boards.console.listen import Listener
from whylate.boards.errors import BoardError

#: Silence after what looks like a prompt.
PROMPT_SILENCE_S = 0.3
#: Silence after which Enter may be typed in an unknown state. A boot loader's countdown prints
#: every second, and any key would stop it.
UNKNOWN_SILENCE_S = 1.5
#: The same where nothing was printed at all, on a board that should be up.
NOTHING_SILENCE_S = 0.6
#: The same on a board that was just switched on and has printed nothing of Linux yet.
BOOT_SILENCE_S = 20.0
TRIES_TO_LOG_IN = 3
#: How long a board may still print when we log out.
LEAVE_S = 3.0

#: What is typed into silence, in turn: Enter makes a prompt appear; a line with a space is empty to
#: a shell, but a worker answers it (and to a login it is a user's name).
PRODS = (b"\n", b" \n", b"\n")
#: The answer of a worker (whylate.boards.console.worker) to a line that is not a request.
STALE_WORKER = b"whylate-worker"

_LOGIN = re.compile(r"\blogin: ?$")
_PASSWORD = re.compile(r"[Pp]assword(?: for \S{1,40})?: ?$")
_PROMPT = re.compile(r"[#$%>] ?$")
_BOOT_LOADER = re.compile(r"^(?:=>|U-Boot>|\S{1,20} ?=>|barebox\S{0,80}[#>]|grub>) ?$")
_COUNTDOWN = re.compile(
    r"(?i)autoboot|any key|\bpress \S{1,20} (?:key )?to (?:stop|abort|interrupt)"
)
_PRESS_ENTER = re.compile(r"(?i)press enter to activate")
_REFUSED = re.compile(rb"(?i)login incorrect|authentication failure|permission denied")
_LINUX = re.compile(rb"Linux version|\[ {0,10}\d{1,10}\.\d{6}\]|login:")


@dataclass(frozen=True)
class Login:
    """The user to log in as on a console; an environment variable has the password."""

    user: str = "root"
    #: The variable's name, None where the user has no password.
    password_env: str | None = None

    def password(self) -> bytes:
        """Return the password; raises BoardError where it is not set."""
        if self.password_env is None:
            raise BoardError(
                f"the console asks for the password of {self.user}: put it into an environment "
                "variable and name that variable as password_env"
            )
        password = os.environ.get(self.password_env)
        if password is None:
            raise BoardError(
                f"the console asks for the password of {self.user}, and the environment variable "
                f"{self.password_env}, which should hold it, is not set"
            )
        encoded = password.encode("utf-8", "surrogateescape")
        if not encoded or any(byte < 0x20 or byte == 0x7F for byte in encoded):
            raise BoardError(f"{self.password_env} holds what cannot be typed at a password prompt")
        return encoded


class Prompt:
    """Finds a shell's prompt, and logs in where the console asks for it."""

    def __init__(self, stream: ConsoleStream, listener: Listener, login: Login) -> None:
        self._stream = stream
        self._listener = listener
        self._login = login
        #: Whether we have typed the user's name.
        self.logged_in = False
        #: Whether what seems to be a prompt was seen since then.
        self._reached = False
        self._tries = 0

    def reach(self, deadline: float, booting: bool) -> None:
        """Return when the console seems to stand at a prompt; raises BoardError.

        `booting`: the board was just switched on: nothing is typed that might stop its boot.
        """
        prods = 0
        while True:
            if time.monotonic() > deadline:
                raise BoardError(
                    f"the console reached no shell in time{self._listener.last_words()}"
                )
            if not self._silent_for(PROMPT_SILENCE_S, deadline):
                continue
            line = self._listener.last_line()
            if _LOGIN.search(line):
                self._type_name()
            elif _PASSWORD.search(line):
                self._type_password(deadline)
            elif _BOOT_LOADER.search(line):
                raise BoardError(
                    f"the board is at its boot loader's prompt {line[-40:]!r}: let it boot"
                )
            elif (
                STALE_WORKER in self._listener.raw() or _PROMPT.search(line) or prods >= len(PRODS)
            ):
                self._reached = True
                return
            elif self._listener.raw() and _PRESS_ENTER.search(line):
                self._type(b"\n")
            elif self._may_prod(line, booting, deadline):
                self._type(PRODS[prods])
                prods += 1
                self._listener.wait(1.0)

    def log_out(self) -> None:
        """Log out if we have logged in; raises BoardError where the line is gone.

        Also where reach() was interrupted; but nothing is typed at a login or password prompt.
        """
        if not self.logged_in:
            return
        self._listener.wait_until_silent(PROMPT_SILENCE_S, time.monotonic() + LEAVE_S)
        line = self._listener.last_line()
        if _LOGIN.search(line) or _PASSWORD.search(line):
            return
        if self._reached or _PROMPT.search(line):
            self._type(b" exit\n")
            self._listener.wait_until_silent(0.5, time.monotonic() + LEAVE_S)

    def _may_prod(self, line: str, booting: bool, deadline: float) -> bool:
        """Return whether the silence is long enough to type Enter."""
        if _COUNTDOWN.search(line):
            return self._silent_for(BOOT_SILENCE_S, deadline)
        if booting and not _LINUX.search(self._listener.raw()):
            return self._silent_for(BOOT_SILENCE_S, deadline)
        silence_s = UNKNOWN_SILENCE_S if self._listener.raw() else NOTHING_SILENCE_S
        return self._silent_for(silence_s, deadline)

    def _silent_for(self, seconds: float, deadline: float) -> bool:
        return not self._listener.wait(min(seconds, max(deadline - time.monotonic(), 0.01)))

    def _type_name(self) -> None:
        if self.logged_in and _REFUSED.search(self._listener.raw()):
            raise BoardError(
                f"the console refuses {self._login.user}'s password: set the right one in "
                f"{self._login.password_env}"
            )
        self._tries += 1
        if self._tries > TRIES_TO_LOG_IN:
            raise BoardError(
                f"the console does not let {self._login.user} log in{self._listener.last_words()}"
            )
        self._listener.clear()
        self._reached = False
        self.logged_in = True
        self._type(self._login.user.encode() + b"\n")

    def _type_password(self, deadline: float) -> None:
        """Type the password, hidden from log and error messages should it be echoed."""
        if not self.logged_in:
            # Somebody else's login: let it fail.
            self._listener.clear()
            self._type(b"\n")
            return
        password = self._login.password()
        self._listener.clear()
        self._stream.hide(password)
        try:
            self._type(password + b"\n")
            while self._silent_for(3.0, deadline) and time.monotonic() < deadline:
                pass
            self._listener.wait_until_silent(PROMPT_SILENCE_S, deadline)
        finally:
            self._stream.hide(b"")

    def _type(self, data: bytes) -> None:
        type_in(self._stream, data)


def type_in(stream: ConsoleStream, data: bytes) -> None:
    """Send what a user would type; raises BoardError where the line is gone or stuck."""
    try:
        stream.write(data)
    except OSError as error:
        raise BoardError(f"the console accepts nothing: {error.strerror or error}") from None
