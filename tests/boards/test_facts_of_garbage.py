"""Whatever bytes a board answers, nothing raises and everything stays bounded."""

from __future__ import annotations

import unicodedata

import msgspec
from captured import GUEST, after, before
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whylate.boards.doctor import examine
from whylate.boards.facts import WANTED, WANTED_AFTER, changes, facts, for_release
from whylate.boards.facts.snapshot import FileContent, ProbeFacts, Snapshot

#: Every path of the capture, and one for each request that the captured machine did not answer.
PATHS = sorted(
    {
        *before().files,
        *after().files,
        *(
            request.pattern.replace("[0-9]*", "0").replace("*", "x")
            for request in for_release((*WANTED, *WANTED_AFTER), GUEST.release)
        ),
    }
)
_CAPTURED = before().files
_PIECES = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [b"\n", b": ", b"0-", b"99999999999999999999", b"-1", b" CPU0 CPU99999 ", b"(", b")"]
    ),
)
CONTENTS = st.builds(
    FileContent,
    data=st.lists(_PIECES, max_size=6).map(b"".join),
    error=st.sampled_from([None, None, None, "EACCES", "ENOENT", "\x1b[31m"]),
    truncated=st.booleans(),
)
WORDS = st.text(max_size=60)
NUMBERS = st.one_of(st.none(), st.integers(-(2**70), 2**70))
PROBES = st.builds(
    ProbeFacts,
    sysname=WORDS,
    nodename=WORDS,
    release=WORDS,
    version=WORDS,
    machine=WORDS,
    arch=WORDS,
    pointer_bits=st.just(64),
    effective_uid=NUMBERS,
    capabilities=NUMBERS,
    rlimit_rtprio=NUMBERS,
    rlimit_memlock_bytes=NUMBERS,
    clock_resolution_ns=NUMBERS,
    clock_read_ns=NUMBERS,
)
ANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """The capture with some files replaced by garbage, cut or garbled, and some invented."""
    files = dict(_CAPTURED)
    for path in draw(st.lists(st.sampled_from(PATHS), max_size=40)):
        files[path] = draw(CONTENTS)
    for path in draw(st.lists(st.sampled_from(sorted(_CAPTURED)), max_size=10)):
        data = bytearray(files[path].data)
        for at in draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=4)):
            if data:
                data[at] = draw(st.integers(0, 255))
        files[path] = FileContent(bytes(data[: draw(st.integers(0, len(data)))]))
    files.update(draw(st.dictionaries(st.text(max_size=40), CONTENTS, max_size=3)))
    return Snapshot(files)


def is_printable_line(text: str) -> bool:
    return not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in text)


@ANY
@given(snapshots(), PROBES)
def test_facts_never_raise_and_are_bounded_printable_and_fit_for_json(
    snapshot: Snapshot, probe: ProbeFacts
) -> None:
    items = facts(snapshot, probe)
    msgspec.json.encode(items)
    assert len({fact.name for fact in items}) == len(items)
    for fact in items:
        texts = [fact.source]
        if isinstance(fact.value, list):
            assert len(fact.value) <= 256
            texts += fact.value
        elif isinstance(fact.value, int):
            assert -(2**63) <= fact.value < 2**63, fact
        elif isinstance(fact.value, str):
            texts.append(fact.value)
        assert all(len(text) <= 400 and is_printable_line(text) for text in texts), fact


@ANY
@given(snapshots(), PROBES)
def test_the_doctor_never_raises(snapshot: Snapshot, probe: ProbeFacts) -> None:
    checks = examine(snapshot, probe)
    msgspec.json.encode(checks)
    assert all(is_printable_line(check.now) and len(check.now) <= 160 for check in checks)


@ANY
@given(snapshots(), snapshots())
def test_changes_never_raise_and_are_bounded(first: Snapshot, second: Snapshot) -> None:
    moved = changes(first, second)
    msgspec.json.encode(moved)
    assert len(moved) <= 256
    assert all(change.delta > 0 for change in moved)


@ANY
@given(st.dictionaries(st.sampled_from(PATHS), CONTENTS, max_size=60))
def test_an_empty_board_with_garbage_alone_is_survived(files: dict[str, FileContent]) -> None:
    snapshot = Snapshot(files)
    facts(snapshot, GUEST)
    examine(snapshot, GUEST)
    changes(snapshot, snapshot)
