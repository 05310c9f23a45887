"""Experiments on this machine: code is read or flushed before executions, or caches are emptied."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from processes import probes_below
from user_sections import NEEDS, Timed, command, compiled, output, time_section, timing
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.decode_sections import decode_arm
from whylate.recording.sections import ArmReport
from whylate.recording.treatments import Treatment
from whylate.recording.waits import bin_edges
from whylate.wire.constants import ExecutionFlag

pytestmark = [pytest.mark.machine, *NEEDS]

#: A function of about 13 KB, one of a few instructions, and two places with code between them.
STRAIGHT = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile sig_atomic_t is_over;
static void end(int number) { is_over = number; }
#define STEP x = x * 1664525 + 1013904223 + (x >> 7);
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP
#define MANY STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
__attribute__((noinline, noipa)) unsigned straight(unsigned x) {
    MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY
    return x;
}
__attribute__((noinline, noipa, aligned(64))) unsigned tiny(unsigned x) { return x + 1; }
int main(int argc, char **argv) {
    struct timespec pause = {0, 100000};
    unsigned sum = argc;
    int most = atoi(argv[1]), calls;
    signal(SIGTERM, end);
    for (calls = 0; calls < most && !is_over; calls++) {
        sum += straight(sum);
        sum += tiny(sum);
        nanosleep(&pause, 0);
    }
    printf("%d\\n", calls + (sum == 1) - (sum == 1));
    return 0;
}
"""
CALLS = 1_200
#: More calls than are made until a test ends the program.
UNTIL_ENDED = 10**9
#: Executions that an arm has when its program ends.
ENOUGH = 100


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("straight"), STRAIGHT)


def size_of(program: Path, function: str) -> tuple[int, int]:
    """Return where a function lies and its size, as nm prints them."""
    for line in output_of("nm", "-S", program):
        words = line.split()
        if words[-1] == function:
            return int(words[0], 16), int(words[1], 16)
    raise AssertionError(f"no {function}")


def output_of(*words: str | Path) -> list[str]:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


def timed_with(program: Path, experiment: Treatment, place: str = "straight") -> Timed:
    section = command(f"{program}:{place}", experiment=experiment, one_in=2)
    return time_section(section, output(program, str(CALLS)))


def reading_ns(arm: ArmReport) -> float:
    """Return the first quartile of the time that reading took, to the middle of its bin.

    Other programs empty caches as well, and make half of the readings as slow as treated ones.
    """
    middles = [sum(bin_edges(part.bin)) / 2 for part in arm.bins]
    return float(np.quantile(np.repeat(middles, [part.count for part in arm.bins]), 0.25))


def check_account(timed: Timed) -> tuple[ArmReport, ArmReport]:
    """Each row is of one arm, and all are accounted for by it; returns placebo and treated."""
    placebo, treated = map(decode_arm, timed.arms)
    assert (placebo.treated, treated.treated) == (False, True)
    flags = np.array(timed.flags)
    for arm, flag in ((placebo, ExecutionFlag.PLACEBO), (treated, ExecutionFlag.TREATED)):
        assert np.count_nonzero(flags & flag) == arm.returned == arm.entries
    assert (flags & ExecutionFlag.DRAWN).all()
    # A coin: 600 executions, and 4 standard deviations are 49.
    assert abs(placebo.entries - treated.entries) < 110
    assert placebo.entries + treated.entries == len(timed.duration_ns)
    assert timed.counts[:2] == (CALLS, CALLS)
    return placebo, treated


def test_caches_are_emptied_before_treated_executions(program: Path) -> None:
    """Reading takes longer, and so does what follows."""
    timed = timed_with(program, "cold")
    placebo, treated = check_account(timed)
    assert placebo.reads == treated.reads == 8 * 1024 * 1024 // 64
    assert reading_ns(treated) > 2 * reading_ns(placebo)
    is_treated = np.array(timed.flags) & ExecutionFlag.TREATED > 0
    took = np.array(timed.duration_ns)
    assert np.median(took[is_treated]) > np.median(took[~is_treated])


def test_each_line_of_the_code_is_read(program: Path) -> None:
    address, size = size_of(program, "straight")
    assert 9_000 < size < 16_384
    timed = timed_with(program, "prefetch")
    placebo, treated = check_account(timed)
    lines = (address + size - 1) // 64 - address // 64 + 1
    assert placebo.reads == treated.reads == lines
    # The kernel finds all of it in memory, where it has run before.
    assert treated.failed <= lines
    assert placebo.failed == 0


def test_the_code_between_two_places_is_read(program: Path) -> None:
    first, last = places_in(program)
    timed = timed_with(program, "prefetch", f"straight+{first:#x}..straight+{last:#x}")
    _, treated = check_account(timed)
    address = size_of(program, "straight")[0]
    assert treated.reads == (address + last - 1) // 64 - (address + first) // 64 + 1


def places_in(program: Path) -> tuple[int, int]:
    """Return where two instructions of straight() begin, by objdump, a kilobyte apart."""
    address, size = size_of(program, "straight")
    begins = []
    for line in output_of("objdump", "-d", "--no-show-raw-insn", program):
        word = line.strip().partition(":")[0]
        try:
            at = int(word, 16) - address
        except ValueError:
            continue
        if 0 <= at < size:
            begins.append(at)
    return begins[4], next(at for at in begins if at > begins[4] + 1_000)


def timed_until_enough(program: Path, experiment: Treatment) -> tuple[Timed, int]:
    """Time calls until each arm has enough executions; returns how many there were, too.

    A walk takes as long as the machine is busy, and the program calls as often as it can.
    """
    section = command(f"{program}:straight", experiment=experiment)
    with timing(section) as (timed, receive_until):
        words = [str(program), str(UNTIL_ENDED)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as caller:
            try:
                receive_until(lambda: min(rows_by_arm(timed)) >= ENOUGH)
            finally:
                caller.terminate()
                calls = int(caller.communicate()[0])
    return timed, calls


def rows_by_arm(timed: Timed) -> tuple[int, int]:
    """Return how many executions were received of each arm."""
    flags = np.array(timed.flags, np.int64)
    placebo, treated = ExecutionFlag.PLACEBO, ExecutionFlag.TREATED
    return int(np.count_nonzero(flags & placebo)), int(np.count_nonzero(flags & treated))


def check_armed(timed: Timed, calls: int) -> tuple[ArmReport, ArmReport]:
    """Each flush or walk is followed by one execution of its arm; returns placebo and treated.

    The rest is of neither, and has no row.
    """
    placebo, treated = map(decode_arm, timed.arms)
    for arm, rows in zip((placebo, treated), rows_by_arm(timed), strict=True):
        assert rows == arm.returned == arm.entries >= ENOUGH
        assert 0 < arm.reads_counted < arm.entries
    assert placebo.entries + treated.entries == len(timed.flags) < timed.counts[0] == calls
    return placebo, treated


def test_code_is_flushed_before_treated_executions(program: Path) -> None:
    """The lines are gone, as reading them says, and what they are missed by takes longer."""
    address, size = size_of(program, "straight")
    timed, calls = timed_until_enough(program, "flush")
    placebo, treated = check_armed(timed, calls)
    flags = np.array(timed.flags)
    # Those in the page of the hook are no file's.
    in_page = (4096 - address % 4096 + 63) // 64
    lines = (address + size - 1) // 64 - address // 64 + 1
    assert placebo.reads == treated.reads == lines - in_page
    assert reading_ns(treated) > 1.3 * reading_ns(placebo)
    is_treated = flags & ExecutionFlag.TREATED > 0
    took = np.array(timed.duration_ns)
    assert np.median(took[is_treated]) > np.median(took[~is_treated])


@pytest.mark.parametrize(("experiment", "walked"), [("code", 8 * 1024 * 1024 // 64), ("tlb", 4096)])
def test_executions_after_walks_are_of_their_arms(
    program: Path, experiment: Treatment, walked: int
) -> None:
    """What was called, or touched, before is gone, as doing it again shows."""
    timed, calls = timed_until_enough(program, experiment)
    placebo, treated = check_armed(timed, calls)
    assert placebo.reads == treated.reads == walked
    # Most of a reading is the same in both: a lost translation is found in the caches.
    assert reading_ns(treated) > 1.1 * reading_ns(placebo)


def probe_threads() -> set[int]:
    """Return all threads of our probe."""
    threads: set[int] = set()
    for pid in probes_below():
        with contextlib.suppress(OSError):
            threads |= {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}
    return threads


def test_what_walks_is_in_no_arm() -> None:
    """It makes system calls, too."""
    section = command("raw_syscalls:sys_enter..raw_syscalls:sys_exit", experiment="tlb")
    with timing(section) as (timed, receive_until):
        # Receiving makes system calls as well.
        receive_until(lambda: min(rows_by_arm(timed)) >= ENOUGH)
        threads = probe_threads()
    assert len(threads) > len(os.sched_getaffinity(0))
    assert timed.pids
    assert not timed.pids & threads


@pytest.mark.parametrize(
    ("place", "why"),
    [("tiny", "lies in pages that have a hook"), ("tiny..straight", "what code .* is not known")],
)
def test_code_that_the_probe_does_not_share_is_not_flushed(
    program: Path, place: str, why: str
) -> None:
    section = command(f"{program}:{place}", experiment="flush")
    with pytest.raises(ProbeRefusedError, match=why):
        time_section(section, lambda: None)


def test_code_in_one_line_of_the_cache_is_not_prefetched(program: Path) -> None:
    section = command(f"{program}:tiny", experiment="prefetch")
    with pytest.raises(ProbeRefusedError, match="one line of the cache"):
        time_section(section, lambda: None)


def test_so_many_cold_executions_that_a_cpu_is_taken_are_refused() -> None:
    """raw_syscalls come by the thousands, and one in so few would be treated for a second each."""
    section = command("raw_syscalls:sys_enter..raw_syscalls:sys_exit", experiment="cold", one_in=1)
    busy = "import os\nwhile True: os.getppid()"
    with subprocess.Popen([sys.executable, "-c", busy]) as caller:
        try:
            with pytest.raises(ProbeRefusedError, match="leave --one-in out"):
                time_section(section, lambda: None)
        finally:
            caller.kill()
