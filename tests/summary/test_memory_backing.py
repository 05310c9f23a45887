"""What stands behind a buffer: proved, or refused with what is there instead."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whylate.recording.turns import Backing, Buffers, TurnReport
from whylate.recording.workloads.memory import MemoryPoint, Pages, Source
from whylate.summary.workloads.memory import prove

MIB = 1 << 20
PAGES = 64 * 256


def small(frames: int | None = PAGES) -> Backing:
    return Backing(PAGES, PAGES, frames, 0, 0)


def huge(bytes_: int = 64 * MIB) -> Backing:
    return Backing(PAGES, PAGES, PAGES, bytes_, 0)


HUGETLB = Backing(PAGES, PAGES, PAGES, 0, 64 * MIB)


def report(source: Backing | None, target: Backing | None = None) -> TurnReport:
    buffers = Buffers(source, target)
    return TurnReport(0, before=buffers, after=buffers)


def point(source: Source = "random", pages: Pages = "small") -> MemoryPoint:
    return MemoryPoint("copy", 64 * MIB, source=source, pages=pages)


@pytest.mark.parametrize(
    ("asked", "source", "target", "name", "frames"),
    [
        (point("untouched"), small(1), small(), "zero page", 1),
        (point("untouched", "thp"), small(512), huge(), "huge zero page", 512),
        (point("zeros"), small(), small(), "small pages", PAGES),
        (point("random", "thp"), huge(), huge(), "transparent huge pages", PAGES),
        (point("random", "hugetlb"), HUGETLB, HUGETLB, "hugetlb pages", PAGES),
        # The kernel has written the zeros of these itself: they have no page of zeros.
        (point("untouched", "hugetlb"), HUGETLB, HUGETLB, "hugetlb pages", PAGES),
        # Who is not root is not shown frames; what was written has them all the same.
        (point("random"), small(None), small(None), "small pages", None),
        (point("untouched", "as-set"), small(1), small(), "zero page", 1),
        (point("untouched", "as-set"), small(512), huge(), "huge zero page", 512),
        (point("untouched", "as-set"), small(513), small(), "huge zero page", 513),
        (point("random", "as-set"), huge(), huge(), "transparent huge pages", PAGES),
        (point("random", "as-set"), huge(2 * MIB), small(), "some transparent huge pages", PAGES),
        (point("random", "as-set"), small(), small(), "small pages", PAGES),
    ],
)
def test_what_was_asked_for_is_named_with_its_frames(
    asked: MemoryPoint, source: Backing, target: Backing, name: str, frames: int | None
) -> None:
    proof = prove(asked, report(source, target))
    assert not proof.refused
    assert (proof.source, proof.frames, proof.pages) == (name, frames, PAGES)


@pytest.mark.parametrize(
    ("asked", "source", "target", "why"),
    [
        (point("random", "thp"), huge(60 * MIB), huge(), "60 of 64 MiB"),
        (point("random", "thp"), small(), huge(), "0 of 64 MiB"),
        (point("random"), huge(), small(), "in huge pages, and small ones"),
        (point("random"), small(), huge(2 * MIB), "the target has 2 MiB in huge pages"),
        (point("untouched"), small(7), small(), "7 frames behind"),
        (point("untouched", "thp"), small(1), huge(), "huge zero page, and has 1 frames"),
        (point("untouched"), small(None), small(), "only root"),
        (point("zeros"), small(PAGES - 1), small(), f"{PAGES - 1} frames behind {PAGES}"),
        (point("random", "hugetlb"), huge(), HUGETLB, "0 of 64 MiB in hugetlb"),
        (point("random"), replace(small(), present=3), small(), "3 of its"),
        (point("random"), small(), None, "not known"),
        (point("random"), None, small(), "not known"),
    ],
)
def test_what_was_not_asked_for_is_refused(
    asked: MemoryPoint, source: Backing | None, target: Backing | None, why: str
) -> None:
    assert why in prove(asked, report(source, target)).refused


def test_a_buffer_that_changed_meanwhile_is_refused() -> None:
    found = TurnReport(0, before=Buffers(HUGETLB, HUGETLB), after=Buffers(HUGETLB, None))
    assert prove(point("random", "hugetlb"), found).refused
    assert "not known" in prove(point(), TurnReport(0)).refused


def test_set_has_a_target_alone_and_a_chain_a_source_alone() -> None:
    only_set = MemoryPoint("set", 64 * MIB)
    assert prove(only_set, report(None, small())).target == "small pages"
    assert prove(only_set, report(small(), small())).refused
    chain = MemoryPoint("latency", 64 * MIB, pages="thp")
    assert prove(chain, report(huge())).source == "transparent huge pages"


@pytest.mark.parametrize("pages", ["small", "thp", "as-set"])
def test_an_untouched_source_is_never_taken_for_one_with_data(pages: Pages) -> None:
    for frames in (None, PAGES):
        proof = prove(point("untouched", pages), report(small(frames), small()))
        assert proof.refused


def test_a_huge_page_is_as_large_as_small_pages_make_it() -> None:
    of_16_kib = Backing(4096, 4096, 2048, 0, 0)
    target = Backing(4096, 4096, 4096, 64 * MIB, 0)
    proof = prove(point("untouched", "thp"), report(of_16_kib, target))
    assert (proof.source, proof.refused) == ("huge zero page", "")
    assert prove(point(), report(Backing(0, 0, 0, 0, 0), small())).refused
