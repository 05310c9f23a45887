"""Events and stages of the wire: the C end packs them, the Python end reads them again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c_programs import TARGETS, absent, compile_c
from leb128 import leb128, zigzag
from whylate.wire.codec import WireError
from whylate.wire.constants import NOT_SEEN, EventKind, NameTable
from whylate.wire.events import RawEvent, decode_events, decode_stages
from whylate.wire.messages import Events, SampleStages

DUE = 2_820_000_000_000


def packed(event: RawEvent, before: int) -> bytes:
    """An event as the text of pack_events.h says."""
    step = event.time_ns - before
    fields = [event.a, event.b, event.c, event.d, event.e, event.f]
    mask = sum(1 << i for i, field in enumerate(fields) if field)
    return b"".join(
        [bytes([event.kind, mask]), leb128(zigzag(step)), *map(leb128, filter(None, fields))]
    )


U64 = st.integers(0, (1 << 64) - 1)


@given(st.lists(st.tuples(st.integers(-(1 << 40), 1 << 40), st.integers(0, 255),
                          st.integers(0, 255), st.integers(0, 65535), st.integers(0, 2**32 - 1),
                          U64, U64), max_size=30))  # fmt: skip
def test_what_was_packed_by_the_text_is_read_again(rows: list[tuple[int, ...]]) -> None:
    events = [RawEvent(DUE + at, kind, a, b, c, 0, e, f) for at, kind, a, b, c, e, f in rows]
    data, before = b"", DUE
    for event in events:
        data += packed(event, before)
        before = event.time_ns
    assert decode_events(Events(1, len(events), data), DUE) == events


@given(st.binary(max_size=80), st.integers(0, 40))
def test_any_bytes_are_events_or_refused(data: bytes, count: int) -> None:
    try:
        events = decode_events(Events(0, count, data), DUE)
    except WireError:
        return
    assert len(events) == count


@given(st.lists(st.tuples(*[st.none() | st.integers(-(2**31) + 1, 2**31 - 1)] * 3), max_size=20))
def test_stages_are_read_again(rows: list[tuple[int | None, ...]]) -> None:
    data = b"".join(
        leb128(0 if ns is None else 1 + (ns << 1 if ns >= 0 else (-ns << 1) - 1))
        for row in rows
        for ns in row
    )
    stages = decode_stages(SampleStages(0, len(rows), 5, data))
    wanted = [[NOT_SEEN if ns is None else ns for ns in row] for row in rows]
    assert stages.dtype == np.int64
    assert stages.tolist() == wanted
    with pytest.raises(WireError, match=r"a block of \d+ stages holds"):
        decode_stages(SampleStages(0, len(rows) + 1, 5, data))


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_the_probe_packs_names_once_and_leaves_out_what_means_nothing_outside(
    target: str, tmp_path: Path
) -> None:
    if missing := absent(TARGETS[target]):
        pytest.skip(f"needs {missing}")
    sources = [f"recorder/{name}.c" for name in ("pack_events", "names", "kallsyms")]
    sources += ["small_file.c", "wire/messages.c"]
    built = compile_c(
        TARGETS[target].compiler, "pack_events", sources, tmp_path, ["-O2", "-static"]
    )
    comm = (int.from_bytes(b"kworker/", "little"), int.from_bytes(b"0:1\0\0\0\0\0", "little"))
    function = 0xFFFFFFFF81000010
    rows = [
        RawEvent(DUE - 500, EventKind.SWITCH, 1, 120 | 4 << 8, 7, 20, *comm),
        RawEvent(DUE + 90, EventKind.TIMER_ENTRY, 0, 0, 0, 0, function, 0xFFFF888000001234),
        RawEvent(DUE + 95, EventKind.SWITCH, 1, 120 | 4 << 8, 20, 7, *comm),
        RawEvent(DUE + 99, EventKind.STEAL, 0, 0, 0, 0, 1234, 0),
    ]
    told = "".join(" ".join(str(int(field)) for field in row) + "\n" for row in rows)
    command = [*TARGETS[target].emulator, str(built)]
    lines = subprocess.run(command, input=told, text=True, capture_output=True, check=True,
                           timeout=60).stdout.splitlines()  # fmt: skip
    # Which tasks have these pids is up to the machine that runs the test.
    task = f"name {NameTable.TASK:d} "
    names = [line for line in lines if line.startswith("name") and not line.startswith(task)]
    assert names == ["name 1 1 kworker/0:1"]
    data = bytes.fromhex("".join(line[6:] for line in lines if line.startswith("event")))
    assert decode_events(Events(0, 4, data), DUE) == [
        rows[0]._replace(e=1, f=0),
        rows[1]._replace(e=1, f=0),
        rows[2]._replace(e=1, f=0),
        rows[3],
    ]
