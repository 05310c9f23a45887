"""Sections of user code on this machine: programs that count their own calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from user_sections import COUNTING, NEEDS, command, compiled, output, time_section
from whylate.probe.errors import ProbeRefusedError
from whylate.wire.constants import SectionHook
from whylate.wire.messages import Section

pytestmark = [pytest.mark.machine, *NEEDS]


def refusal(section: Section) -> str:
    with pytest.raises(ProbeRefusedError) as caught:
        time_section(section, lambda: None)
    return str(caught.value)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("counting"), COUNTING)


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("flags", [("-fPIE", "-pie"), ("-fno-pie", "-no-pie")])
def test_each_call_of_a_function_is_counted_and_timed(flags: Sequence[str], tmp_path: Path) -> None:
    file = compiled(tmp_path, COUNTING, *flags)
    timed = time_section(command(f"{file}:decode_frame"), output(file, "40"))
    assert timed.counts == (40, 40, 0, 0)
    assert timed.started is not None
    assert timed.started.hook == SectionHook.UPROBE
    assert len(timed.duration_ns) == 40
    assert min(timed.duration_ns) >= 300_000
    assert sorted(timed.duration_ns)[20] < 3_000_000


def test_calls_within_calls_are_each_counted(program: Path) -> None:
    """8 calls of a thread are kept; what is deeper is counted as that."""
    within = time_section(command(f"{program}:deep"), lambda: calls_of(program, "10", "7"))
    assert within.counts == (80, 80, 0, 0)
    deeper = time_section(command(f"{program}:deep"), lambda: calls_of(program, "10", "9"))
    assert deeper.counts == (100, 80, 0, 20)


def calls_of(program: Path, count: str, depth: str) -> None:
    assert int(output(program, count, depth)()) == int(count) * (int(depth) + 1)


def test_threads_of_another_process_or_name_are_not_counted(program: Path) -> None:
    named = program.with_name("player")
    shutil.copy(program, named)

    def run() -> None:
        output(named, "5")()
        output(program, "5")()

    # One file, two names of processes.
    named.unlink()
    os.link(program, named)
    assert time_section(command(f"{program}:decode_frame"), run).counts[0] == 10
    timed = time_section(command(f"{program}:decode_frame", comm="player"), run)
    assert timed.counts == (5, 5, 0, 0)
    with subprocess.Popen(
        ["sh", "-c", 'read line; exec "$0" 7', program], stdin=subprocess.PIPE
    ) as process:

        def go() -> None:
            output(program, "5")()
            process.communicate(b"go\n")

        of_process = time_section(command(f"{program}:decode_frame", pid=process.pid), go)
    assert of_process.counts == (7, 7, 0, 0)
    assert of_process.pids == {process.pid}


def test_a_jump_out_of_a_function_is_counted_as_left(tmp_path: Path) -> None:
    text = """
    #include <setjmp.h>
    #include <stdio.h>
    jmp_buf out;
    __attribute__((noinline, noipa)) void leave(int n) { if (n % 4 == 3) longjmp(out, 1); }
    int main(void) {
        for (volatile int i = 0; i < 40; i++)
            if (!setjmp(out)) leave(i);
        puts("alive");
    }
    """
    file = compiled(tmp_path, text)
    timed = time_section(command(f"{file}:leave"), output(file))
    entries, returned, left, _ = timed.counts
    # The last jump by the end of its thread, the others by the next call.
    assert (entries, returned, left) == (40, 30, 10)


#: `many N` ends N threads in leave(); `execs N` replaces the program N times in again(), by another
#: thread of it each time where `other` is there.
ENDS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static char **words;
static volatile int is_waiting;
__attribute__((noinline, noipa)) void leave(void) { syscall(SYS_exit, 0); }
static void *run(void *unused) { leave(); return unused; }
__attribute__((noinline, noipa)) void again(int n) {
    char text[16];
    snprintf(text, sizeof(text), "%d", n - 1);
    if (n) execl("/proc/self/exe", "p", words[1], text, words[3], NULL);
}
__attribute__((noinline, noipa)) int returns(int n) { return n; }
static void *replace(void *n) {
    while (!is_waiting) usleep(100);
    again(*(int *)n);
    exit(0);
}
__attribute__((noinline, noipa)) void waits(pthread_t thread) {
    is_waiting = 1;
    pthread_join(thread, NULL);
}
int main(int argc, char **argv) {
    int n = atoi(argv[2]);
    pthread_t thread;
    words = argv;
    if (!strcmp(argv[1], "execs")) {
        returns(n);
        if (argc < 4) again(n);
        else if (!pthread_create(&thread, NULL, replace, &n)) waits(thread);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        if (pthread_create(&thread, NULL, run, NULL)) return 1;
        pthread_join(thread, NULL);
    }
    returns(n);
    return 0;
}
"""


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("ending"), ENDS, "-pthread")


def test_more_threads_than_there_are_places_end_in_a_function_and_all_are_left(
    ending: Path,
) -> None:
    timed = time_section(command(f"{ending}:leave"), output(ending, "many", "6000"))
    assert timed.counts == (6000, 0, 6000, 0)
    assert timed.account is not None
    assert (timed.account.in_flight, timed.account.no_room) == (0, 0)


@pytest.mark.parametrize("other", [(), ("other",)], ids=["first", "other"])
def test_what_a_program_has_begun_is_left_where_it_is_replaced(
    ending: Path, other: tuple[str, ...]
) -> None:
    """The last of 21 executions returns, and the others do not: neither are they within it."""
    run = output(ending, "execs", "20", *other)
    assert time_section(command(f"{ending}:again"), run).counts == (21, 1, 20, 0)
    if not other:
        assert time_section(command(f"{ending}:returns"), run).counts == (21, 21, 0, 0)
    else:
        # The first thread ends as another has the program replaced, which takes its id over.
        account = time_section(command(f"{ending}:waits"), run).account
        assert account is not None
        assert (account.entries, account.in_flight, account.too_deep) == (21, 0, 0)
        assert account.left == 21


def test_a_function_that_ends_in_a_jump_to_another_lasts_until_that_returns(
    tmp_path: Path,
) -> None:
    text = """
    #include <time.h>
    __attribute__((noinline, noipa)) int callee(int n) {
        struct timespec pause = {0, 300000};
        nanosleep(&pause, 0);
        return n;
    }
    __attribute__((noinline, noipa)) int caller(int n) { return callee(n + 1); }
    int main(void) { for (int i = 0; i < 50; i++) if (caller(i) != i + 1) return 1; }
    """
    file = compiled(tmp_path, text, "-O2", "-foptimize-sibling-calls")
    code = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--disassemble=caller", file],
        capture_output=True, text=True, check=True,
    ).stdout.partition("<caller>:")[2]  # fmt: skip
    assert "<callee>" in code
    assert "call " not in code
    timed = time_section(command(f"{file}:caller"), output(file))
    assert timed.counts == (50, 50, 0, 0)
    assert min(timed.duration_ns) >= 300_000


def test_a_mangled_function_and_its_exceptions(tmp_path: Path) -> None:
    """A thrown exception would end a program whose return is probed: two places do not."""
    if shutil.which("c++") is None:
        pytest.skip("c++ is not installed")
    text = """
    #include <cstdio>
    #include <stdexcept>
    namespace player { __attribute__((noinline)) int decode(int n) {
        std::puts("");
        if (n % 3 == 2) throw std::runtime_error("n");
        return n; } }
    __attribute__((noinline)) void done() { std::puts("done"); }
    int main() {
        for (int i = 0; i < 30; i++) {
            try { player::decode(i); } catch (const std::exception &) {}
            done();
        }
    }
    """
    file = compiled(tmp_path, text, compiler="c++")
    mangled = "_ZN6player6decodeEi"
    assert "has exceptions" in refusal(command(f"{file}:{mangled}"))
    timed = time_section(command(f"{file}:{mangled}..{file}:_Z4donev"), output(file))
    assert timed.counts == (30, 30, 0, 0)
    calm = text.replace("if (n % 3 == 2)", "if (n == 99)")
    file = compiled(tmp_path, calm, compiler="c++")
    timed = time_section(command(f"{file}:{mangled}", "uprobe"), output(file))
    assert timed.counts == (30, 30, 0, 0)


def test_a_function_that_is_inlined_is_refused_and_only_calls_that_remain_are_counted(
    tmp_path: Path,
) -> None:
    if shutil.which("c++") is None:
        pytest.skip("c++ is not installed")
    text = """
    #include <cstdio>
    namespace player {
        static inline __attribute__((always_inline)) int scale(int n) { return n * 3; }
        inline int header(int n) { std::puts(""); return scale(n); } }
    int (*volatile called)(int) = player::header;
    int main() {
        int sum = 0;
        for (int i = 0; i < 30; i++)
            sum += player::header(i);
        for (int i = 0; i < 7; i++)
            sum += called(i);
        return sum == 99;
    }
    """
    file = compiled(tmp_path, text, "-O2", compiler="c++")
    assert "it may be inlined everywhere" in refusal(command(f"{file}:_ZN6playerL5scaleEi"))
    timed = time_section(command(f"{file}:_ZN6player6headerEi", "uprobe"), output(file))
    assert timed.counts == (7, 7, 0, 0)


def test_two_places_of_a_file_are_a_pair(program: Path) -> None:
    timed = time_section(command(f"{program}:deep..{program}:decode_frame"), output(program, "20"))
    assert timed.counts == (20, 20, 0, 0)
    # A beginning within another one: of the thread's, the last counts.
    nested = time_section(command(f"{program}:deep..decode_frame"), output(program, "20", "2"))
    assert nested.counts == (60, 20, 40, 0)


@pytest.mark.parametrize("place", ["deep", "deep..decode_frame", "whylate:frame"])
def test_an_empty_section_of_user_code_is_timed_with_hooks_and_without(
    program: Path, place: str
) -> None:
    timed = time_section(command(f"{program}:{place}"), output(program, "20"))
    before, after = timed.floors
    assert not before.error
    assert not after.error
    assert before.executions == 4_000
    # A call has both hooks, and what is between them is part of what they add.
    assert 0 < before.floor_ns < before.with_ns - before.without_ns
    assert before.floor_ns < min(timed.duration_ns)


def test_from_a_probe_to_its_next_time_no_section_is_empty(program: Path) -> None:
    text = f"{program}:whylate:frame_begin..{program}:whylate:frame_begin"
    timed = time_section(command(text), output(program, "2"))
    assert all(floor.error for floor in timed.floors)


def test_a_function_of_a_library_by_its_name(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    volatile long long sink;
    int main(void) {
        for (int i = 0; i < 300; i++)
            sink += lldiv(i, 3 + i % 2).quot;
    }
    """
    if not list(Path("/lib").glob("*-linux-gnu*/libc.so.6")):
        pytest.skip("no libc.so.6 in a folder of this architecture")
    file = compiled(tmp_path, text, "-O0", "-fno-builtin")
    timed = time_section(command("libc.so.6:lldiv", comm="p"), output(file))
    assert timed.counts == (300, 300, 0, 0)


# ---------------------------------------------------------------- USDT


def test_marks_of_a_stripped_program_are_a_section(program: Path) -> None:
    stripped = program.with_name("stripped")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    timed = time_section(command(f"{stripped}:whylate:frame"), output(stripped, "20"))
    assert timed.counts == (30, 30, 0, 0)
    assert min(timed.duration_ns) >= 1_000_000
    assert sum(ns >= 2_000_000 for ns in timed.duration_ns) >= 20


def test_a_probe_to_its_next_time(program: Path) -> None:
    text = f"{program}:whylate:frame_begin..{program}:whylate:frame_begin"
    timed = time_section(command(text), output(program, "20"))
    # No next time follows the last one of its thread.
    assert timed.counts == (30, 29, 1, 0)
    assert timed.account is not None
    assert timed.account.in_flight == 0
    assert timed.account.unmatched == 0


#: A probe with a semaphore, as <sys/sdt.h> with _SDT_HAS_SEMAPHORES makes it.
SEMAPHORE = """
#include <stdio.h>
#include <unistd.h>
__attribute__((section(".probes"))) volatile unsigned short shown_semaphore;
__attribute__((section(".probes"))) volatile unsigned short begun_semaphore;
#define ADDRESS %s
#define PROBE(name, semaphore) __asm__ volatile("990: nop\\n" \\
    ".pushsection .note.stapsdt,\\"?\\",\\"note\\"\\n.balign 4\\n" \\
    ".4byte 992f-991f, 994f-993f, 3\\n991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n" \\
    "993: " ADDRESS " 990b\\n" ADDRESS " 0\\n" ADDRESS " " semaphore "\\n" \\
    ".asciz \\"player\\"\\n.asciz \\"" name "\\"\\n.asciz \\"\\"\\n994: .balign 4\\n" \\
    ".popsection\\n" ::: "memory")
int main(void) {
    int seen = 0;
    for (int i = 0; i < 50; i++) {
        if (begun_semaphore) PROBE("begun", "begun_semaphore");
        usleep(100);
        if (shown_semaphore) { seen++; PROBE("shown", "shown_semaphore"); }
    }
    printf("%%d\\n", seen);
}
""" % ('".8byte"' if sys.maxsize > 1 << 32 else '".4byte"')


def test_a_semaphore_is_raised_while_its_probe_is_timed(tmp_path: Path) -> None:
    file = compiled(tmp_path, SEMAPHORE, "-fno-pie", "-no-pie")
    printed: list[str] = []
    section = command(f"{file}:player:begun..shown")
    timed = time_section(section, lambda: printed.append(output(file)()))
    assert printed == ["50\n"]
    assert timed.counts == (50, 50, 0, 0)
    assert min(timed.duration_ns) >= 100_000
    assert output(file)() == "0\n"


def python_with_probes() -> Path:
    """Return an interpreter that is built with its probes, as Debian's is."""
    for python in (Path(sys.executable), *Path("/usr/bin").glob("python3.*[0-9]")):
        file = python.resolve()
        notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=False)
        if "Name: gc__start" in notes.stdout:
            return file
    pytest.skip("no Python here has USDT probes")


def test_each_collection_of_a_python_program_is_timed() -> None:
    python = python_with_probes()
    # It says itself how often it collected, and none comes by itself before the program ends.
    script = (
        "import gc\ngc.disable()\n"
        "before = sum(each['collections'] for each in gc.get_stats())\n"
        "for _ in range(29): gc.collect()\n"
        "print(sum(each['collections'] for each in gc.get_stats()) - before)"
    )
    printed: list[str] = []
    section = command(f"{python}:python:gc__start..gc__done", comm=python.name)
    run = output(python, "-I", "-S", "-c", script)
    timed = time_section(section, lambda: printed.append(run()))
    assert printed == ["29\n"]
    entries, returned, left, too_deep = timed.counts
    # The interpreter collects as it ends, too.
    assert 29 <= entries <= 29 + 10
    assert (returned, left, too_deep) == (entries, 0, 0)
    assert len(timed.duration_ns) == entries
    assert min(timed.duration_ns) > 0


# ---------------------------------------------------------------- other programs


def test_a_program_in_a_container_is_named_as_the_container_sees_it(tmp_path: Path) -> None:
    """It has its own mounts and root directory, in which the host's path does not exist."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    text = COUNTING.replace("int count =", "getchar(); int count =")
    root = tmp_path / "root"
    (root / "inside").mkdir(parents=True)
    try:
        compiled(tmp_path, text, "-static").rename(root / "inside" / "player")
    except subprocess.CalledProcessError:
        pytest.skip("programs cannot be linked statically here")
    words = ["unshare", "--mount", f"--root={root}", "/inside/player", "30", "2"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        program = Path(f"/proc/{process.pid}/exe")
        while program.readlink() != root / "inside" / "player":
            assert process.poll() is None
            time.sleep(0.01)
        assert "No such file" in refusal(command("/inside/player:deep"))

        def run() -> None:
            assert process.communicate(b"\n")[0] == b"90\n"

        section = command("/inside/player:deep", pid=process.pid)
        assert time_section(section, run).counts == (90, 90, 0, 0)


def test_a_rust_function_is_timed_unless_it_was_inlined(tmp_path: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    (tmp_path / "p.rs").write_text(
        """
        mod player {
            #[inline(never)] pub fn decode(n: usize) -> usize { std::hint::black_box(n) }
            #[inline(always)] pub fn header(n: usize) -> usize { std::hint::black_box(n) + 1 }
        }
        fn main() {
            for n in 0..70 { player::decode(player::header(n)); }
        }
        """
    )
    done = subprocess.run(
        ["rustc", "-O", "p.rs"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"rustc does not work here: {done.stderr.strip()[-200:]}")
    file = tmp_path / "p"
    text = refusal(command(f"{file}:decode"))
    (mangled,) = [
        name.rstrip(",")
        for name in text.split()
        if name.startswith("_") and "6player6decode" in name
    ]
    assert "exceptions" in refusal(command(f"{file}:{mangled}"))
    timed = time_section(command(f"{file}:{mangled}", "uprobe"), output(file))
    assert timed.counts == (70, 70, 0, 0)
    assert "no function 6player6header: it may be inlined" in refusal(
        command(f"{file}:6player6header")
    )
