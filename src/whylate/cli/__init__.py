"""One small file per verb: it parses, calls and prints.

Exit status: 0 done, 1 a requirement failed, 2 wrong use, 3 no verdict, 128 + n ended by signal n.
"""

from __future__ import annotations

import os
import signal
import sys

import click

from whylate import __version__
from whylate.cli.lazy_verbs import LazyVerbs

#: Verb, the module that has it, and the line that `whylate --help` shows of it.
VERBS = {
    "measure": ("measure", "How late is a board? Measure it and write a report."),
    "explain": ("explain.explain", "Why was it late? Break the late activations down by cause."),
    "section": ("section", "How long does this code take? Time its every execution."),
    "compare": ("compare.compare", "Is B better than A? Compare medians, tails, maxima by run."),
    "study": ("study", "Measure variants in interleaved runs until there is a verdict."),
    "bisect": ("bisect", "Find which of many differences makes the difference."),
    "predict": ("predict", "Predict what a change would bring; show how forecasts did."),
    "bench": ("bench", "Benchmark context switches, memory, clocks or a command."),
    "bound": ("compare.bound", "Bound how often a latency is exceeded."),
    "report": ("report.report", "Show a recording again; recover one whose run was killed."),
    "import": ("import_files", "Make recordings of other tools' files: cyclictest, rtla, …"),
    "baseline": ("compare.baseline", "Save runs under a name, for later comparisons."),
    "diff": ("compare.diff", "Find the first difference between two repeatable runs."),
    "doctor": ("board.doctor", "Check what can be measured on a board, and what adds latency."),
    "facts": ("board.facts", "Show what can be read of a board."),
    "board": ("board", "List boards, switch, flash and soak them, use their consoles."),
    "lab": ("lab", "Build virtual boards, and inject faults into them."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}
OPENBLAS_THREADS = "OPENBLAS_NUM_THREADS"
#: What `whylate` alone prints.
FIRST_STEPS = """\
whylate measure --for 20s    measure how late this machine is; the report names the next step
whylate doctor               check what can be measured here, and what adds latency
whylate --help               list all verbs"""


class _Verbs(LazyVerbs):
    def invoke(self, ctx: click.Context) -> object:
        """Run the verb. Ctrl-C has a status of its own: click's is that of a requirement."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)


@click.group(
    cls=_Verbs,
    verbs=VERBS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="whylate")
@click.pass_context
def whylate(ctx: click.Context) -> None:
    """How late is a Linux board, and why? Every activation is accounted for.

    \b
      whylate measure --for 20s --load memory --require 'p99.9<100us'

    Exit status: 0 done, 1 failed, 2 wrong use, 3 no verdict, 128 + n: signal n.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    if ctx.invoked_subcommand is None:
        # A script whose verb is missing must not pass.
        click.echo(FIRST_STEPS, err=True)
        ctx.exit(2)


def start_no_threads_for_arrays() -> None:
    """Let OpenBLAS have one thread, unless the user has said how many: before numpy is imported.

    Its threads wait busily, on a machine that may be the one that is measured, and nothing here
    multiplies large matrices. os.environ does not have the variable: programs that are started
    with it have the user's environment.
    """
    if OPENBLAS_THREADS not in os.environ:
        os.putenv(OPENBLAS_THREADS, "1")


def main() -> None:
    """Run the command line; every fault of the user's or the board's is one line."""
    from whylate.cli.interrupt import unwind_when_ended

    start_no_threads_for_arrays()
    unwind_when_ended()
    try:
        whylate(prog_name="whylate", standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        from whylate.cli.failures import exit_with

        exit_with(error)
