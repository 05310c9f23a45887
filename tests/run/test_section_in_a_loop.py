"""Functions that are called in a loop, as often as a CPU can: neither board nor program stands."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from section_rig import ACTIVE, KINDS, LATER, LOGS, carry_out

from own_boards import own_boards
from user_sections import NEEDS, command, compiled, output, time_section
from whylate import __version__
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.files import read_commands
from whylate.lab.description import virtual_board
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.run.unattended import Script
from whylate.run.workloads.section import SectionRules
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    Failed,
    File,
    Hello,
    Message,
    Note,
    Pause,
    Phase,
    SectionResult,
    SectionStarted,
    Setting,
)

BOARD = "pc"
RUN_S = 1.0
#: Calls a second without hooks: one takes some instructions of 2 ns there.
LEAST_PER_S = 30_000_000
UPTIME = "/proc/uptime"


@dataclass(frozen=True)
class Loop:
    """What came of a section whose function is called in a loop on a board.

    Times in s of the board's. calls_per_s: without hooks; None: it began later. tried_s: how long
    there were hooks before it was known how often it begins; None: it was refused. started_s: from
    the command to the first CPU that is timed. run_s: so long it was timed. over_s: from the
    command to the end, with what is measured after the run. calls: how often it was called, by its
    own log. notes: what the probe noticed.
    """

    calls_per_s: float | None
    refusal: str
    tried_s: float | None
    started_s: float | None
    one_in: int
    account: SectionResult | None
    rows: int
    dropped: int
    run_s: float
    over_s: float
    calls: int
    notes: str


@pytest.fixture(scope="module")
def boards() -> Iterator[None]:
    with own_boards(BOARD):
        yield


@cache
def loops_on_a_board() -> list[Loop]:
    """Return what came of a loop before the start, and of one that begins in the run."""
    script = Script()
    script.add(Hello(__version__), set())
    script.add(Phase(0), set())
    for later in (0, 1):
        script.add(Setting(LATER, str(later)), set())
        script.add(Setting(ACTIVE, str(1 << KINDS.index("loops"))), set())
        script.add(Pause(100), set())
        section = Section(duration_ns=int(RUN_S * 1e9), place=KernelFunction("noop_fsync"))
        before = [f"{LOGS}/loops", UPTIME]
        for command_of in read_commands([FileRequest(path, 1 << 16) for path in before]):
            script.add(command_of, set())
        script.add(SectionRules().start(section, ()), set())
        for command_of in read_commands([FileRequest(path, 1 << 16) for path in before]):
            script.add(command_of, set())
        script.add(Setting(ACTIVE, "0"), set())
        script.add(Pause(20), set())
    messages, console = carry_out(virtual_board(BOARD), script)
    texts = [m.data.split(b"\0")[0].decode() for m in messages if isinstance(m, File)]
    assert len(texts) == 8, console[-2000:]
    ends = [n for n, message in enumerate(messages) if isinstance(message, File)]
    return [
        loop_of(messages[ends[4 * number] : ends[4 * number + 3]], *texts[4 * number :][:4])
        for number in (0, 1)
    ]


def loop_of(
    messages: list[Message], log: str, uptime: str, later_log: str, later_uptime: str
) -> Loop:
    began_s, over_s = (float(text.split()[0]) for text in (uptime, later_uptime))
    rows = [[int(word) for word in line.split()] for line in log.splitlines()]
    later_rows = [[int(word) for word in line.split()] for line in later_log.splitlines()]
    starts = [m.start_ns for m in messages if isinstance(m, CpuStarted)]
    started = [m for m in messages if isinstance(m, SectionStarted)]
    ends = [m for m in messages if isinstance(m, CpuResult)]
    accounts = [m for m in messages if isinstance(m, SectionResult)]
    before = rows[-1][-1] if rows else 0
    is_begun = bool(rows) and rows[-1][1] == later_rows[-1][1]
    return Loop(
        calls_per_s=1e9 * before / (rows[-1][2] - rows[-1][1]) if is_begun else None,
        refusal="".join(str(m) for m in messages if isinstance(m, Failed)),
        tried_s=started[0].tried_ns / 1e9 if started else None,
        started_s=starts[0] / 1e9 - began_s if starts else None,
        one_in=started[0].one_in if started else 0,
        account=accounts[0] if accounts else None,
        rows=sum(m.seen for m in ends),
        dropped=sum(m.dropped for m in ends),
        run_s=(ends[0].end_ns - ends[0].start_ns) / 1e9 if ends else 0,
        over_s=over_s - began_s,
        calls=later_rows[-1][-1] - (before if is_begun else 0),
        notes=" ".join(m.text for m in messages if isinstance(m, Note)),
    )


@pytest.mark.qemu
@pytest.mark.usefixtures("boards")
def test_a_function_in_a_loop_is_refused_or_thinned_within_a_second_and_the_board_goes_on() -> None:
    loop, _ = loops_on_a_board()
    assert loop.calls_per_s is not None
    assert loop.calls_per_s > LEAST_PER_S
    if loop.refusal:
        assert "times a second" in loop.refusal
        return
    assert loop.tried_s is not None
    assert loop.tried_s <= 1
    assert loop.one_in > 1
    assert "before the run its hooks take" in loop.notes
    check_goes_on(loop)


@pytest.mark.qemu
@pytest.mark.usefixtures("boards")
def test_a_loop_that_begins_in_the_run_is_counted_and_the_board_goes_on() -> None:
    _, loop = loops_on_a_board()
    assert not loop.refusal
    assert loop.one_in == 1
    # Chosen for what it was before. Rows that are overwritten are counted.
    assert loop.account is not None
    assert loop.rows + loop.dropped == loop.account.returned
    check_goes_on(loop)


def check_goes_on(loop: Loop) -> None:
    sys.stdout.write(f"{loop}\n")
    account = loop.account
    assert account is not None
    parts = account.returned + account.in_flight + account.left + account.too_deep
    assert account.entries == parts + account.no_room
    assert "in the run its hooks take" in loop.notes
    # It began as often as hooks let it.
    assert 100_000 * RUN_S < account.entries <= loop.calls
    # And what the board was asked after it is answered.
    assert loop.run_s == RUN_S


# ---------------------------------------------------------------- a program

LOOP = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline, noipa)) void empty(void) {}
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
int main(int argc, char **argv) {
    double end = now() + atof(argv[1]);
    long calls = 0;
    while (now() < end)
        for (int i = 0; i < 100; i++, calls++)
            empty();
    printf("%ld\\n", calls);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("loop"), LOOP)


@pytest.mark.parametrize("seconds", ["3", "0.5"])
@NEEDS[0]
@NEEDS[1]
def test_a_program_whose_function_is_called_in_a_loop_goes_on(program: Path, seconds: str) -> None:
    """From before the first hook to the end of the run, or in the middle of it.

    A uprobe takes so long that no row is lost.
    """
    begins_later = seconds == "0.5"
    with subprocess.Popen([program, "0" if begins_later else seconds], stdout=subprocess.PIPE) as p:
        timed = time_section(
            command(f"{program}:empty"),
            output(program, seconds) if begins_later else lambda: time.sleep(0.3),
        )
        calls = int(p.communicate()[0])
    assert p.returncode == 0
    entries, returned, left, too_deep = timed.counts
    assert entries - 1 <= returned
    assert (left, too_deep) == (0, 0)
    assert returned > 100
    if not begins_later:
        # Most of its calls were before the hooks.
        assert calls > 10 * entries
