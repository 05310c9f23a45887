"""The loads of the probe, each run as the guardian runs it: in a process of its own, then killed.

Everything here runs on this machine's own kernel; nothing is replaced by a stand-in.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from whylate.run.loads import parse_load
from whylate.run.net_ends import net_ends

PROBE = Path(__file__).parents[2] / "probe"
WARNINGS = ["all", "extra", "error", "shadow", "conversion", "strict-prototypes"]
WARNINGS += ["missing-prototypes", "format=2", "vla"]
FLAGS = ["-static", "-O2", "-D_GNU_SOURCE", "-std=c11", "-pthread"]
FLAGS += [f"-W{name}" for name in WARNINGS]
TIME64 = ["-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64"]
BUSY = "while :; do :; done"
KINDS: dict[str, list[str]] = {
    "memory": [],
    "code": [],
    "tlb": [],
    "switch": [],
    "net": [],
    "fork": [],
    "mmap": [],
    "timer": [],
    "disk": [],
    "nic": [],
    "block": [],
    "cmd": ["sh", "-c", BUSY],
}
FILE_BYTES = 4 << 20
SMALL_FILE_SYSTEM = """
set -e
exec 9<"$1"
mke2fs -qF "$2"
mount -o loop "$2" "$3"
mount --bind "$3" /var/tmp
mount --bind "$3" /tmp
cd /tmp
unset TMPDIR
"""


@dataclass(frozen=True)
class Outcome:
    """What the driver printed of one load."""

    pid: int
    work: list[int]
    cpu_ms: int
    state: str
    message: str
    left: int | None


def build(compiler: str, target: Path, extra: list[str]) -> Path:
    sources = sorted(str(path) for path in (PROBE / "src" / "loads").glob("*.c"))
    sources += [str(PROBE / "src" / f"{name}.c") for name in ("code_area", "small_file", "thread")]
    driver = str(PROBE / "tests" / "load_driver.c")
    include = f"-I{PROBE / 'src'}"
    command = [compiler, *FLAGS, *extra, include, *sources, driver, "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def parse(text: str) -> Outcome:
    def value(name: str) -> str:
        match = re.search(rf"^{name} (.*)$", text, re.MULTILINE)
        assert match, f"no {name} in {text!r}"
        return match[1]

    work = [int(units) for units in re.findall(r"^work (\d+)$", text, re.MULTILINE)]
    left = int(value("left")) if "\nleft " in text else None
    cpu_ms = int(value("cpu"))
    return Outcome(int(value("pid")), work, cpu_ms, value("state"), value("message"), left)


def run(command: list[str], **options: object) -> Outcome:
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=20, **options
    )  # type: ignore[call-overload]
    return parse(done.stdout)


@contextmanager
def other_end(load: str) -> Iterator[list[str]]:
    """Yield the arguments of a load of packets whose other end is this machine's own."""
    plan = parse_load(f"net:127.0.0.1,{load}")
    with net_ends([plan]) as ends:
        yield list(ends[0])


@contextmanager
def arguments_of(kind: str, folder: Path) -> Iterator[list[str]]:
    """Yield what a kind needs: another end, or a file to read, made in the folder."""
    if kind == "nic":
        with other_end("udp,rate=8M") as arguments:
            yield arguments
    elif kind == "block":
        file = folder / "read"
        file.write_bytes(os.urandom(FILE_BYTES))
        yield [str(file), "4096", "2000"]
    else:
        yield KINDS[kind]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    return str(build(compiler, tmp_path_factory.mktemp("loads") / "load_driver", []))


@pytest.fixture
def small_disk(tmp_path: Path) -> list[str]:
    """A disk image of 4 MiB and the folder to mount it on."""
    image, folder = tmp_path / "image", tmp_path / "mnt"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(4 << 20)
    if not shutil.which("unshare") or not shutil.which("mke2fs"):
        pytest.skip("needs unshare and mke2fs")
    attempt = 'mke2fs -q "$1" && mount -o loop "$1" "$2"'
    command = ["unshare", "--mount", "sh", "-c", attempt, "sh", str(image), str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk image")
    return [str(image), str(folder)]


def nothing_is_left_of(group: int) -> bool:
    """Return whether all processes of a group end soon: a killed one ends when it next runs."""
    return until(lambda: not group_members(group))


def group_members(group: int) -> list[str]:
    """Command lines of the living processes of a group; zombies have left nothing but a number."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        state, _, its_group = rest.split()[:3]
        if int(its_group) == group and state != "Z":
            members.append(name)
    return members


def faults_of_children(pid: int) -> int:
    """Page faults of the children that a process has waited for (proc(5), cminflt)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[8])


def processes_named(mark: str) -> list[str]:
    """Processes whose command line begins so, its arguments ended by zero bytes."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if line.startswith(mark.encode()):
            processes.append(str(path))
    return processes


def left_behind() -> set[str]:
    """Whatever a load could leave: files by the name that loads give them, and System V IPC.

    Tests beside this one make files of other names.
    """
    folders = [Path(name) for name in ("/dev/shm", "/tmp", "/var/tmp")]  # noqa: S108
    folders.append(Path.cwd())
    files = {str(path) for folder in folders for path in folder.glob("*whylate-disk-*")}
    for table in Path("/proc/sysvipc").glob("*"):
        files |= set(table.read_text().splitlines()[1:])
    return files


def interrupts(*names: str) -> int | None:
    """Interrupts so far, of all lines whose first or last word is one of the names."""
    total = None
    for line in Path("/proc/interrupts").read_text().splitlines()[1:]:
        words = line.split()
        if words[0].rstrip(":") in names or words[-1] in names:
            total = (total or 0) + sum(int(word) for word in words[1:] if word.isdigit())
    return total


def until(condition: Callable[[], bool], seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def in_mount_namespace(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script of this file with mounts of its own."""
    command = ["unshare", "--mount", "sh", "-c", script, "sh", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)


@dataclass(frozen=True)
class Ran:
    """One load that ran for a second, and what was found after it had been killed."""

    kind: str
    outcome: Outcome
    seconds: float
    folder: Path
    new_things: set[str]


@pytest.fixture(scope="module", params=KINDS)
def ran(
    request: pytest.FixtureRequest, driver: str, tmp_path_factory: pytest.TempPathFactory
) -> Ran:
    kind: str = request.param
    folder = tmp_path_factory.mktemp(kind)
    before = left_behind()
    environment = {**os.environ, "TMPDIR": str(folder)}
    with arguments_of(kind, tmp_path_factory.mktemp(f"{kind}_read")) as arguments:
        began = time.monotonic()
        outcome = run([driver, kind, "1.0", *arguments], env=environment)
        seconds = time.monotonic() - began
    return Ran(kind, outcome, seconds, folder, left_behind() - before)


def test_a_load_works_from_the_beginning_to_the_end(ran: Ran) -> None:
    work = ran.outcome.work
    assert (ran.outcome.state, ran.outcome.message) == ("running", "")
    assert 0 < work[len(work) // 2] < work[-1]
    assert work == sorted(work)


def test_a_load_counts_its_work_often(ran: Ran) -> None:
    work = ran.outcome.work
    grown = sum(later > earlier for earlier, later in pairwise(work))
    # The command's processes are looked at five times a second, everything else counts itself.
    assert grown >= (len(work) // 3 if ran.kind == "cmd" else len(work) - 4), work


def test_a_load_that_was_killed_leaves_nothing(ran: Ran) -> None:
    assert nothing_is_left_of(ran.outcome.pid)
    assert list(ran.folder.iterdir()) == []
    assert ran.new_things == set()


def test_a_load_takes_no_more_than_about_two_cpus(ran: Ran) -> None:
    assert ran.outcome.cpu_ms <= 2500 * ran.seconds


@pytest.mark.parametrize("kind", ["fork", "cmd"])
def test_children_die_with_a_load_that_is_killed_alone(driver: str, kind: str) -> None:
    mark = "913.5"
    arguments = ["sleep", mark] if kind == "cmd" else []
    with subprocess.Popen(
        [driver, kind, "4", *arguments], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        pid = int(running.stdout.readline().split()[1])
        if kind == "cmd":
            assert until(lambda: processes_named(f"sleep\0{mark}") != [])
        else:
            # A child lives too shortly to be met for sure.
            assert until(lambda: len(group_members(pid)) > 1 or faults_of_children(pid) > 0)
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not group_members(pid), 3.0), group_members(pid)
        assert not processes_named(f"sleep\0{mark}")
        running.communicate()


def test_code_is_run_on_every_cpu_and_is_never_writable_as_well(driver: str) -> None:
    with subprocess.Popen([driver, "code", "4"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        pid = int(running.stdout.readline().split()[1])

        def places() -> set[str]:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
            sizes = [(line.split()[1], line.split()[0].split("-")) for line in lines]
            return {way for way, (low, high) in sizes if int(high, 16) - int(low, 16) == 8 << 20}

        def cpus() -> set[str]:
            status = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
            return set(re.findall(r"Cpus_allowed_list:\s+(\S+)\n", "".join(status)))

        everywhere = {str(cpu) for cpu in os.sched_getaffinity(0)}
        assert until(lambda: "r-xp" in places() and everywhere <= cpus())
        assert "rwxp" not in places()
        os.kill(pid, signal.SIGKILL)
        running.communicate()


def test_tlb_reads_many_pages_that_are_one_in_memory(driver: str) -> None:
    """None is its own: the pages are the kernel's page of zeros, read on every CPU."""
    with subprocess.Popen([driver, "tlb", "4"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        pid = int(running.stdout.readline().split()[1])

        def area() -> dict[str, int]:
            """Return the figures in KiB of the mapping of 16,384 pages."""
            text = Path(f"/proc/{pid}/smaps").read_text()
            for part in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", text):
                figures = re.findall(r"(?m)^(\w+):\s+(\d+) kB", part)
                if dict(figures).get("Size") == str(16_384 * page_kib):
                    return {name: int(value) for name, value in figures}
            return {}

        def faults() -> int:
            return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])

        page_kib = os.sysconf("SC_PAGESIZE") // 1024
        assert until(lambda: area() != {} and faults() > 16_384)
        assert area()["Rss"] == area()["Private_Dirty"] == area()["AnonHugePages"] == 0
        os.kill(pid, signal.SIGKILL)
        running.communicate()


@pytest.mark.realtime
def test_mmap_makes_cpus_interrupt_each_other_for_their_tlbs(driver: str) -> None:
    if len(os.sched_getaffinity(0)) < 2 or interrupts("TLB") is None:
        pytest.skip("needs two CPUs and a kernel that counts TLB shootdowns")
    if " invlpgb" in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor invalidates the TLBs of others without interrupts")
    if shutil.which("chrt") is None:
        pytest.skip("chrt is not installed")
    before, began = interrupts("TLB"), time.monotonic()
    outcome = run(["chrt", "-f", "1", driver, "mmap", "0.5"])
    after, took_ms = interrupts("TLB"), (time.monotonic() - began) * 1000
    # Both threads ran at a time for as long as their CPU time exceeds the time that went by.
    if outcome.cpu_ms < took_ms + 100:
        pytest.skip(f"the threads had {outcome.cpu_ms} ms of CPU time in {took_ms:.0f} ms")
    assert before is not None
    assert after is not None
    assert after - before > 200


def test_timer_makes_a_timer_interrupt_for_its_expirations(driver: str) -> None:
    before = interrupts("LOC", "arch_timer")
    outcome = run([driver, "timer", "1.0"])
    after = interrupts("LOC", "arch_timer")
    if before is None or after is None:
        pytest.skip("this kernel does not count timer interrupts by CPU")
    assert outcome.work[-1] > 2000
    assert after - before > outcome.work[-1] / 2


@pytest.mark.parametrize("protocol", ["udp", "tcp"])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_nic_moves_bytes_at_the_rate_asked_for(driver: str, protocol: str, direction: str) -> None:
    with other_end(f"{protocol},rate=8M,direction={direction}") as arguments:
        outcome = run([driver, "nic", "2.5", *arguments])
    assert (outcome.state, outcome.message) == ("running", "")
    # A busy machine may be late: of 2.5 MB, most arrives, and never much more.
    assert 1_200_000 < outcome.work[-1] < 2_900_000


def test_nic_reports_an_end_that_is_gone(driver: str) -> None:
    with other_end("udp,rate=1M") as arguments:
        pass
    outcome = run([driver, "nic", "5", *arguments])
    assert outcome.state == "failed"
    assert f"cannot reach 127.0.0.1 port {arguments[1]}: Connection refused" in outcome.message


def test_nic_does_not_hang_when_the_other_end_ends(driver: str) -> None:
    with other_end("udp,rate=1M") as arguments:
        running = subprocess.Popen([driver, "nic", "12", *arguments], stdout=subprocess.PIPE)
        time.sleep(1.0)
    outcome = parse(running.communicate(timeout=20)[0].decode())
    assert outcome.state == "failed"
    assert outcome.message.startswith("the other end at 127.0.0.1 is gone")


def test_block_reads_and_writes_nothing(driver: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(FILE_BYTES))
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    outcome = run([driver, "block", "1.0", str(file), "4096", "500"])
    if "past the page cache" in outcome.message:
        pytest.skip("this file system has no direct reads")
    assert (outcome.state, outcome.message) == ("running", "")
    # 500 reads of 4 KiB a second: never more.
    assert 0 < outcome.work[-1] < 550 * 4096 * 1.2
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


def test_block_makes_up_for_little_of_a_stall(driver: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(FILE_BYTES))
    command = [driver, "block", "3", str(file), "4096", "200"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        first = running.stdout.readline()
        pid = int(first.split()[1])
        time.sleep(0.5)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(pid, signal.SIGCONT)
        outcome = parse(first + running.communicate(timeout=20)[0])
    if "past the page cache" in outcome.message:
        pytest.skip("this file system has no direct reads")
    # Of 200 reads a second 1.5 s are worked, and 0.1 s is made up for: 320, not 600.
    assert 0 < outcome.work[-1] < 450 * 4096


def test_block_refuses_what_is_no_disk(driver: str) -> None:
    outcome = run([driver, "block", "1.0", "/dev/null", "4096", "0"])
    assert outcome.state == "failed"
    assert "/dev/null" in outcome.message


def test_net_reports_that_loopback_is_down(driver: str) -> None:
    isolated = ["unshare", "--user", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*isolated, "true"], check=False).returncode:
        pytest.skip("cannot make a network namespace")
    outcome = run([*isolated, driver, "net", "3"])
    assert outcome.state == "failed"
    assert "127.0.0.1" in outcome.message
    assert "ip link set lo up" in outcome.message


def test_disk_refuses_a_full_disk_with_a_remedy(driver: str, small_disk: list[str]) -> None:
    script = SMALL_FILE_SYSTEM + "cat /dev/zero >fill 2>&- || true; /proc/self/fd/9 disk 2"
    done = in_mount_namespace(script, driver, *small_disk)
    outcome = parse(done.stdout)
    assert outcome.state == "failed"
    assert "/var/tmp: full" in outcome.message  # noqa: S108
    assert "set TMPDIR" in outcome.message


def test_disk_stays_within_a_small_disk(driver: str, small_disk: list[str]) -> None:
    script = SMALL_FILE_SYSTEM + "/proc/self/fd/9 disk 1; ls -A | grep -v lost+found >&2 || true"
    done = in_mount_namespace(script, driver, *small_disk)
    outcome = parse(done.stdout)
    assert (outcome.state, outcome.message) == ("running", "")
    assert outcome.work[-1] > 0
    assert done.stderr == ""


def test_disk_refuses_a_disk_that_is_read_only(driver: str, small_disk: list[str]) -> None:
    read_only = "for d in /tmp /var/tmp; do mount -o remount,bind,ro $d; done; cd /tmp;"
    script = SMALL_FILE_SYSTEM + read_only + "/proc/self/fd/9 disk 2"
    done = in_mount_namespace(script, driver, *small_disk)
    outcome = parse(done.stdout)
    assert outcome.state == "failed"
    assert "/var/tmp: Read-only file system" in outcome.message  # noqa: S108


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to mount")
def test_disk_does_not_pass_memory_off_as_a_disk(driver: str) -> None:
    script = """
    exec 9<"$1"; unset TMPDIR
    mount -t tmpfs tmpfs /var/tmp && mount -t tmpfs tmpfs /tmp
    cd /tmp; /proc/self/fd/9 disk 2
    """
    outcome = parse(in_mount_namespace(script, driver).stdout)
    assert outcome.state == "failed"
    assert "/var/tmp: in memory" in outcome.message  # noqa: S108


@pytest.mark.usefixtures("driver")
def test_disk_leaves_nothing_where_a_file_needs_a_name(tmp_path: Path) -> None:
    # As on kernels and file systems without O_TMPFILE.
    plain = build("cc", tmp_path / "load_driver", ["-D__O_TMPFILE=__O_DIRECTORY"])
    folder = tmp_path / "folder"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    outcome = run([str(plain), "disk", "0.5"], env=environment)
    assert outcome.state == "running"
    assert outcome.work[-1] > 0
    assert list(folder.iterdir()) == []


def test_disk_reports_a_limit_on_file_sizes(driver: str, tmp_path: Path) -> None:
    script = 'ulimit -f 100; exec "$0" disk 2'
    outcome = run(["sh", "-c", script, driver], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert outcome.state == "failed"
    assert "File too large" in outcome.message


def test_cmd_reports_that_a_command_does_not_exist(driver: str) -> None:
    outcome = run([driver, "cmd", "2", "/no/such/command", "x"])
    assert outcome.state == "failed"
    assert outcome.message == "cannot run /no/such/command: No such file or directory"
    assert len(outcome.work) < 5


def test_cmd_reports_how_a_command_ended(driver: str) -> None:
    outcome = run([driver, "cmd", "5", "sh", "-c", "sleep 0.3; exit 3"])
    assert outcome.state == "ended"
    assert re.fullmatch(r"exited with status 3 after 0\.[3-9] s", outcome.message)
    killed = run([driver, "cmd", "5", "sh", "-c", "kill -SEGV $$"])
    assert killed.state == "ended"
    assert killed.message.startswith("killed by signal 11 after ")


#: Programs that use CPU time, as they count it, by themselves or by short-lived children. Each then
#: waits for a line in the file that it is given.
USED_S, COUNTED_MS = 0.3, 250
USES = f"""
import sys, time
while time.process_time() < {USED_S}:
    pass
open(sys.argv[1]).readline()
"""
CHILDREN_USE = f"""
import os, resource, sys
short = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"
while sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) < {USED_S}:
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", short], os.environ), 0)
open(sys.argv[1]).readline()
"""


def run_until_counted(driver: str, folder: Path, text: str, script: str) -> Outcome:
    """Run the load with a shell's script, in which "$@" is a program of this text.

    The program ends when the load has counted the program's CPU time: the load's state is "ended".
    A load that does not count the time of a live process is still running when its time is up.
    """
    gate = folder / "gate"
    os.mkfifo(gate)
    program = [sys.executable, "-I", "-S", "-c", text, str(gate)]
    command = [driver, "cmd", "20", "sh", "-c", script, "sh", *program]
    descriptor, lines = os.open(gate, os.O_RDWR), list[str]()
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout
            for line in running.stdout:
                lines.append(line)
                kind, _, rest = line.partition(" ")
                if kind == "work" and int(rest) > COUNTED_MS:
                    os.write(descriptor, b"\n")
    finally:
        os.close(descriptor)
    return parse("".join(lines))


def check_counted(outcome: Outcome) -> None:
    """Check that the command's time was counted while it lived, and no more than it used."""
    assert outcome.state == "ended", outcome
    assert outcome.message.startswith("exited with status 0"), outcome
    assert COUNTED_MS < outcome.work[-1] < outcome.cpu_ms + 50, outcome


def test_cmd_counts_the_cpu_time_of_descendants_that_left_the_session(
    driver: str, tmp_path: Path
) -> None:
    check_counted(run_until_counted(driver, tmp_path, USES, 'setsid "$@" & wait'))


def test_cmd_counts_the_cpu_time_of_short_lived_children(driver: str, tmp_path: Path) -> None:
    check_counted(run_until_counted(driver, tmp_path, CHILDREN_USE, 'exec "$@"'))


def test_cmd_that_only_sleeps_does_no_work(driver: str) -> None:
    assert run([driver, "cmd", "1.0", "sleep", "9"]).work[-1] <= 30


def test_cmd_goes_on_while_a_command_in_the_background_does(driver: str, tmp_path: Path) -> None:
    check_counted(run_until_counted(driver, tmp_path, USES, 'setsid "$@" & exit 0'))


def test_cmd_kills_what_a_failed_command_left(driver: str) -> None:
    outcome = run([driver, "cmd", "5", "sh", "-c", "setsid sleep 9 & sleep 0.3; exit 4"])
    assert (outcome.state, outcome.message[:20]) == ("ended", "exited with status 4")
    assert outcome.left == 0


def test_cmd_leaves_no_process_even_of_another_session(driver: str) -> None:
    mark = "915.5"
    outcome = run([driver, "cmd", "0.6", "sh", "-c", f"setsid sleep {mark} & wait"])
    assert outcome.state == "running"
    assert not processes_named(f"sleep\0{mark}")


def test_cmd_uses_no_shell(driver: str, tmp_path: Path) -> None:
    name = str(tmp_path / "a; b $(id) *")
    assert run([driver, "cmd", "2", "touch", name]).state == "ended"
    assert [str(path) for path in tmp_path.iterdir()] == [name]


def test_cmd_has_no_input_no_output_and_none_of_the_probes_descriptors(driver: str) -> None:
    read_end, write_end = os.pipe()
    try:
        done = subprocess.run(
            [driver, "cmd", "5", "sh", "-c", "cat; echo noise; exit $(ls /proc/self/fd | wc -l)"],
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
            pass_fds=(read_end, write_end),
        )
    finally:
        os.close(read_end)
        os.close(write_end)
    assert "noise" not in done.stdout + done.stderr
    # Three standard ones and the folder that ls itself reads.
    assert parse(done.stdout).message.startswith("exited with status 4 ")


def test_a_message_carries_no_control_characters(driver: str) -> None:
    message = run([driver, "cmd", "2", "no\x1b[31m\ncommand"]).message
    assert message == "cannot run no?[31m?command: No such file or directory"


@pytest.mark.parametrize(
    ("compiler", "emulator", "extra"),
    [
        ("aarch64-linux-gnu-gcc", "qemu-aarch64-static", []),
        ("arm-linux-gnueabihf-gcc", "qemu-arm-static", TIME64),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64-static", []),
    ],
)
def test_every_load_works_on_other_architectures(
    compiler: str, emulator: str, extra: list[str], tmp_path: Path
) -> None:
    if not shutil.which(compiler) or not shutil.which(emulator):
        pytest.skip(f"needs {compiler} and {emulator}")
    foreign = build(compiler, tmp_path / "load_driver", extra)
    for kind in KINDS:
        # A busy host may not let an emulated load get anywhere in so short a time.
        for seconds in ("0.3", "5"):
            with arguments_of(kind, tmp_path) as arguments:
                outcome = run([emulator, str(foreign), kind, seconds, *arguments])
            assert (kind, outcome.state, outcome.message) == (kind, "running", "")
            assert nothing_is_left_of(outcome.pid)
            if outcome.work[-1] > 0:
                break
        assert outcome.work[-1] > 0, kind
