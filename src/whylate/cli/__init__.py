"""One small file per verb: it parses, calls and prints.

Exit status: 0 done, 1 a requirement failed, 2 wrong use, 3 no verdict, 128 + n ended by signal n.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys

import click

from whylate import __version__

#: Verb, and the line that `whylate --help` shows of it without importing it.
VERBS = {
    "measure": "How late is this machine? Measure it and write a report.",
    "report": "Show a recording again; recover one whose run was killed.",
    "diff": "Show where two repeatable runs part.",
    "lab": "Make the virtual boards, and try known causes of latency.",
    "board": "List boards, switch them, use their consoles, soak them.",
    "facts": "Show what can be read of a board.",
    "doctor": "What can be measured here, and what spoils its latency.",
    "completion": "Print the completion script for bash, zsh or fish.",
}


class _Verbs(click.Group):
    """Imports a verb only when it is called: `whylate --help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of a day's work."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb's command."""
        del ctx
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"whylate.cli.{cmd_name}").command
        assert isinstance(command, click.Command)  # noqa: S101 - our own modules
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb. Ctrl-C has a status of its own: click's is that of a requirement."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="whylate")
def whylate() -> None:
    r"""How late is a Linux board, and why?

    whylate measures the wakeup latency of real-time threads and accounts for every activation:
    expected = seen + overrun + dropped. What it cannot know, it says.

    \b
      whylate measure --for 20s --load memory --load net --require 'p99.9<100us'

    Exit status: 0 done, 1 a requirement failed, 2 wrong use, 3 no verdict.
    """


def main() -> None:
    """Run the command line; every fault of the user's or the board's is one line."""
    from whylate.boards.board import BoardError
    from whylate.cli.interrupt import unwind_when_ended
    from whylate.lab.errors import LabError
    from whylate.probe.client import ProbeError
    from whylate.recording.errors import DiskError, RecordingError
    from whylate.run.request import RequestError

    unwind_when_ended()
    try:
        whylate(prog_name="whylate", standalone_mode=True)
    except (BoardError, LabError, ProbeError, DiskError) as error:
        _fail(str(error), 3)
    except (RequestError, RecordingError) as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:  # a defect of ours: it is no failed requirement, which is 1
        import traceback

        traceback.print_exc()
        _fail(f"this is a defect of whylate, please report it: {type(error).__name__}", 3)


def _fail(text: str, status: int) -> None:
    from whylate.report.text import plain

    sys.stderr.write(f"whylate: {plain(text, 1000)}\n")
    sys.exit(status)
