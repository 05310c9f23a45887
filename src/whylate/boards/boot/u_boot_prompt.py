"""U-Boot's prompt on a board's console: interrupt its countdown, and type commands."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from whylate.boards.console.drain import ConsoleStream
from whylate.boards.console.listen import Listener
from whylate.boards.console.prompt import type_in
from whylate.boards.errors import BoardError
from whylate.text import clean

#: From the power on to the prompt.
PROMPT_S = 60.0
#: A command that loads a file over a slow network.
COMMAND_S = 120.0
_ECHO_S = 3.0
_TRIES = 3
#: How often the key is sent that stops the countdown.
_KEY_S = 0.15
_INTERRUPT = b"\x03"
_COUNTS = re.compile(rb"(?i)autoboot|U-Boot")
_KERNEL_RUNS = re.compile(rb"Starting kernel|Linux version|\[ {0,10}\d{1,10}\.\d{6}\]")
#: A kernel that is quiet prints nothing.
_HANDED_OVER = re.compile(rb"Starting kernel|EFI stub|Linux version|\[ {0,10}\d{1,10}\.\d{6}\]")
#: U-Boot's CONFIG_SYS_CBSIZE is 256 or more.
MOST_COMMAND = 250


def boot_by(stream: ConsoleStream, commands: Sequence[str], prompt: str, stop: str) -> None:
    """Stop the countdown of a board that was just switched on, and have it boot by commands.

    Return once the kernel was started. Raises BoardError with what U-Boot printed.
    """
    listener = Listener(stream)
    _interrupt(stream, listener, prompt, stop.encode())
    for number, command in enumerate(commands, 1):
        _type(stream, listener, command, prompt)
        if _runs(listener, command, prompt, last=number == len(commands)):
            return
    raise BoardError(f"U-Boot started no kernel{listener.last_words()}")


def _interrupt(stream: ConsoleStream, listener: Listener, prompt: str, stop: bytes) -> None:
    deadline = time.monotonic() + PROMPT_S
    while time.monotonic() < deadline:
        listener.wait(_KEY_S)
        text = listener.raw()
        if _KERNEL_RUNS.search(text):
            raise BoardError(
                "U-Boot's countdown was not stopped: declare the keys that stop it as `stop`"
            )
        if _at_prompt(listener, prompt):
            break
        if _COUNTS.search(text):
            type_in(stream, stop)
    else:
        raise BoardError(f"U-Boot came to no prompt {prompt!r}{listener.last_words()}")
    # The line may hold more of the keys.
    type_in(stream, _INTERRUPT)
    listener.wait_until_silent(0.3, time.monotonic() + 3.0)


def _type(stream: ConsoleStream, listener: Listener, command: str, prompt: str) -> None:
    """Type a command, and send it once its echo is right: a slow UART loses characters."""
    for _ in range(_TRIES):
        listener.clear()
        type_in(stream, command.encode())
        deadline = time.monotonic() + _ECHO_S
        while time.monotonic() < deadline:
            if command.encode() in listener.raw():
                listener.clear()
                type_in(stream, b"\r")
                return
            listener.wait(0.1)
        type_in(stream, _INTERRUPT)
        listener.wait_until_silent(0.5, time.monotonic() + 3.0)
    raise BoardError(f"U-Boot does not echo {clean(command, 60)!r} at {prompt!r}")


def _runs(listener: Listener, command: str, prompt: str, *, last: bool) -> bool:
    """Wait for a command; return whether a kernel was started. Raises BoardError."""
    deadline = time.monotonic() + COMMAND_S
    while time.monotonic() < deadline:
        if _HANDED_OVER.search(listener.raw()):
            return True
        if _at_prompt(listener, prompt):
            if last:
                raise BoardError(f"U-Boot: {clean(command, 60)}: {_printed(listener, prompt)}")
            return False
        listener.wait(0.2)
    raise BoardError(f"U-Boot: {clean(command, 60)} took longer than {COMMAND_S:g} s")


def _at_prompt(listener: Listener, prompt: str) -> bool:
    return listener.last_line().rstrip().endswith(prompt.rstrip())


def _printed(listener: Listener, prompt: str) -> str:
    """Return the last lines that were printed before the prompt."""
    lines = listener.raw().decode("utf-8", "replace").splitlines()
    shown = [clean(line, 120) for line in lines if line.strip()]
    return " | ".join(line for line in shown if line.strip() != prompt.strip())[-300:]
