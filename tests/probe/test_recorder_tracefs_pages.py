"""Pages of the kernel's ring buffers, decoded as the kernel itself printed them.

tests/probe/tracefs/record.sh recorded them, each with the kernel's own text of the same events:
`x86` on a guest with 6.18, the others on the virtual boards of their names with Debian's 6.1.
In `virt-arm64-absolute` every record has its time in full.
"""

from __future__ import annotations

import lzma
import re
import struct
import subprocess
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tracefs_builds import build_driver

FIXTURES = Path(__file__).parent / "tracefs"
BOARDS = sorted(path.name.removesuffix(".tar.xz") for path in FIXTURES.glob("*.tar.xz"))
LINE = re.compile(r"^.{16}-\d+ +\[(\d+)\] \S+ +(\d+)\.(\d{6}): (\w+): (.*)$")
LOST = re.compile(r"^CPU:(\d+) \[LOST (\d+) EVENTS\]$")
STATES = {"R": 128, "S": 1, "D": 2, "T": 4, "t": 8, "X": 16, "Z": 32, "P": 64, "I": 2, "R+": 128}
LOCKS = {"SPIN": 1, "READ": 2, "WRITE": 4, "RT": 8, "PERCPU": 16, "MUTEX": 32}
IDLE_ENDS = 0xFFFFFFFF
#: Type of a record that was taken back; the types above it are times.
PADDING = 29
VECTORS = {
    "Rescheduling interrupts": 2,
    "Function call interrupts": 3,
    "IRQ work interrupts": 5,
    "CPU stop interrupts": 12,
    "Timer broadcast interrupts": 13,
    "local_timer": 1,
    "reschedule": 2,
    "call_function": 3,
    "call_function_single": 4,
    "irq_work": 5,
}
#: kind, a, b, c, d; None: the text does not say it.
Row = tuple[int, int | None, int | None, int | None, int | None]


def fields(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(.*?)(?= \w+=| ==>|$| \[| name=)", text))


def switch(text: str) -> list[Row]:
    f = fields(text)
    prio = int(f["prev_prio"]) | int(f["next_prio"]) << 8
    return [(12, STATES[f["prev_state"]], prio, int(f["prev_pid"]), int(f["next_pid"]))]


def waking(text: str) -> list[Row]:
    f = fields(text)
    return [(11, int(f["prio"]), int(f["target_cpu"]), int(f["pid"]), 0)]


def migrate(text: str) -> list[Row]:
    f = fields(text)
    return [(13, 0, int(f["dest_cpu"]), int(f["pid"]), 0)]


def irq(kind: int) -> Callable[[str], list[Row]]:
    return lambda text: [(kind, 0, 0, int(fields(text)["irq"]), 0)]


def softirq(kind: int) -> Callable[[str], list[Row]]:
    return lambda text: [(kind, int(fields(text)["vec"]), 0, 0, 0)]


def only(kind: int) -> Callable[[str], list[Row]]:
    return lambda _: [(kind, 0, 0, 0, 0)]


def vector(kind: int, name: str) -> Callable[[str], list[Row]]:
    return lambda _: [(kind, VECTORS[name], 0, 0, 0)]


def contention(text: str) -> list[Row]:
    flags = re.search(r"flags=([A-Z|0-9x]*)", text)
    assert flags
    return [(14, sum(LOCKS[name] for name in flags[1].split("|") if name in LOCKS), 0, 0, 0)]


def idle(text: str) -> list[Row]:
    state = int(fields(text)["state"])
    return [(17, 0, 0, 0, 0) if state == IDLE_ENDS else (16, 0, state, 0, 0)]


def reason(kind: int) -> Callable[[str], list[Row]]:
    return lambda text: [(kind, VECTORS.get(text.strip("()"), 0), 0, 0, 0)]


def raised(text: str) -> list[Row]:
    match = re.match(r"target_mask=([0-9a-f,]+) \((.*)\)", text)
    assert match
    mask = int(match[1].replace(",", ""), 16)
    return [(18, VECTORS.get(match[2], 0), n, 0, 0) for n in range(64) if mask >> n & 1]


def sent(text: str) -> list[Row]:
    return [(18, 0, int(fields(text)["cpu"]), 0, 0)]


def sent_to_many(text: str) -> list[Row]:
    rows: list[Row] = []
    for part in fields(text)["cpumask"].split(","):
        first, _, last = part.partition("-")
        rows += [(18, 0, n, 0, 0) for n in range(int(first), int(last or first) + 1)]
    return rows


PRINTED: dict[str, Callable[[str], list[Row]]] = {
    "sched_switch": switch,
    "sched_waking": waking,
    "sched_migrate_task": migrate,
    "irq_handler_entry": irq(1),
    "irq_handler_exit": irq(2),
    "softirq_raise": softirq(5),
    "softirq_entry": softirq(6),
    "softirq_exit": softirq(7),
    "hrtimer_expire_entry": only(9),
    "hrtimer_expire_exit": only(10),
    "contention_begin": contention,
    "contention_end": only(15),
    "cpu_idle": idle,
    "ipi_raise": raised,
    "ipi_entry": reason(3),
    "ipi_exit": reason(4),
    "ipi_send_cpu": sent,
    "ipi_send_cpumask": sent_to_many,
    "csd_function_entry": only(23),
    "csd_function_exit": only(24),
}
for name in ("local_timer", "reschedule", "call_function", "call_function_single", "irq_work"):
    PRINTED[f"{name}_entry"] = vector(3, name)
    PRINTED[f"{name}_exit"] = vector(4, name)


def printed(text: str) -> tuple[dict[int, list[tuple[int, Row]]], list[str]]:
    """Return the events of each CPU as the kernel printed them, and the names switched to."""
    rows: dict[int, list[tuple[int, Row]]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("#") or not line or LOST.match(line):
            continue
        match = LINE.match(line)
        assert match, line
        cpu, at_us = int(match[1]), int(match[2]) * 1_000_000 + int(match[3])
        for row in PRINTED[match[4]](match[5]):
            rows.setdefault(cpu, []).append((at_us, row))
        if match[4] == "sched_switch":
            names.append(fields(match[5])["next_comm"])
    return rows, names


def decoded(text: str) -> tuple[dict[int, list[tuple[int, Row]]], list[str]]:
    rows: dict[int, list[tuple[int, Row]]] = {}
    named: list[tuple[int, str]] = []
    for line in text.splitlines():
        what, *words = line.split()
        if what != "event":
            continue
        at, cpu, _, kind, a, b, c, d = (int(word) for word in words[:8])
        # As the kernel rounds what it prints.
        rows.setdefault(cpu, []).append(((at + 500) // 1000, (kind, a, b, c, d)))
        if kind == 12:
            raw = b"".join(int(word, 16).to_bytes(8, "little") for word in words[8:10])
            named.append((at, raw.partition(b"\0")[0].decode()))
    return rows, [name for _, name in sorted(named)]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_driver("tracefs_pages", tmp_path_factory.mktemp("decoder"), sanitized=True)


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with (
        lzma.open(FIXTURES / f"{request.param}.tar.xz") as packed,
        tarfile.open(fileobj=packed) as tar,
    ):
        tar.extractall(tmp_path, filter="data")
    return tmp_path


def run(decoder: Path, board: Path) -> str:
    command = [decoder, board]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_there_are_pages_with_longs_of_four_and_of_eight_bytes() -> None:
    assert {"sabrelite", "virt-arm64", "virt-arm64-absolute", "x86"} <= set(BOARDS)


def test_every_event_equals_what_the_kernel_printed(decoder: Path, board: Path) -> None:
    ours, our_names = decoded(run(decoder, board))
    theirs, their_names = printed((board / "trace.txt").read_text())
    assert ours == theirs
    assert Counter(our_names) == Counter(their_names)
    assert sum(map(len, ours.values())) > 200


def test_overwritten_events_are_counted(decoder: Path, board: Path) -> None:
    """The kernel tells the number, where the page that follows has room for it, or that some."""
    text = (board / "trace.txt").read_text()
    head = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", text)
    assert head
    missed = sum(map(int, re.findall(r"^missed \d+ (\d+)$", run(decoder, board), re.MULTILINE)))
    lost = int(head[2]) - int(head[1])
    assert missed <= lost
    assert (missed > 0) == (lost > 0)


def test_a_truncated_page_gives_its_complete_events_and_counts_the_rest(
    decoder: Path, board: Path
) -> None:
    raw = min(board.glob("cpu*.raw"))
    whole, cpu = run(decoder, board), int(raw.stem[3:])
    raw.write_bytes(raw.read_bytes()[:1001])
    cut = run(decoder, board)
    events = decoded(cut)[0][cpu]
    assert 0 < len(events) < len(decoded(whole)[0][cpu])
    assert events == decoded(whole)[0][cpu][: len(events)]

    def missed(text: str) -> int:
        match = re.search(rf"^missed {cpu} (\d+)$", text, re.MULTILINE)
        assert match
        return int(match[1])

    # A number of lost events that stood behind the records is gone with the end of the page.
    assert missed(cut) >= 1


def test_a_discarded_record_is_left_out_and_the_times_behind_it_stay(
    decoder: Path, board: Path
) -> None:
    """The kernel turns a record that it takes back into padding of the same length."""
    raw = max(board.glob("cpu*.raw"))
    cpu, page = int(raw.stem[3:]), bytearray(raw.read_bytes())
    before = decoded(run(decoder, board))[0][cpu]
    header = (board / "events" / "header_page").read_text()
    match = re.search(r"char data;\s+offset:(\d+);", header)
    assert match
    at, records = int(match[1]), 0
    # The fifth short record whose time is not the one before it: "1" stands for no time.
    while True:
        (word,) = struct.unpack_from("<I", page, at)
        kind, delta = word & 31, word >> 5
        if 0 < kind < PADDING and records >= 4 and delta > 1:
            break
        records += kind < PADDING
        at += 8 if kind > PADDING else 4 + 4 * kind
    struct.pack_into("<II", page, at, PADDING | delta << 5, 4 * kind)
    raw.write_bytes(page)
    assert decoded(run(decoder, board))[0][cpu] == before[:records] + before[records + 1 :]
    # With no time at all it is a null: nothing of that page is behind it.
    struct.pack_into("<I", page, at, PADDING)
    raw.write_bytes(page)
    after = decoded(run(decoder, board))[0][cpu]
    assert after[:records] == before[:records]
    assert len(after) < len(before) - 1


def test_damaged_pages_and_formats_crash_nothing(
    decoder: Path, board: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    del decoder
    fuzzer = build_driver("fuzz_tracefs", tmp_path_factory.mktemp("fuzzer"), sanitized=True)
    command = [str(fuzzer), str(board), "2", "7"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.match(r"\d{4,} pages \d{4,} events \d+ missed", done.stdout)
