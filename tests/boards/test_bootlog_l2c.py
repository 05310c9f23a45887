"""The L2C-310 of real i.MX6 boards, bit by bit: the lines are quoted from a mailing list."""

from __future__ import annotations

import re

import pytest
from test_bootlog import decoded, lines_of

from whylate.boards.facts.bootlog.l2c import decode_aux_ctrl, decode_cache_id, range_ops_locked


def blocks() -> dict[str, list[str]]:
    """The quoted logs by heading, without the mail's quoting marks."""
    blocks: dict[str, list[str]] = {}
    for line in lines_of("l2c-310-imx6"):
        if line.startswith("== "):
            blocks[line[3:]] = []
        elif line.strip("> "):
            blocks[list(blocks)[-1]].append(re.sub(r"^[> ]+", "", line))
    return blocks


BLOCKS = blocks()
BY_PAGE = "no override: as each page says"
NEVER = "override: never"
R3P1 = "L2C-310 r3p1-50rel0"
R3P2 = "L2C-310 r3p2"
NOT_GIVEN = "l2x0_write_allocate= not specified, defaults to 0 (disabled)."
INDUCES = "write-allocate enabled, induces high latencies."
FORCING = "revision >= L310-r3p2 detected, forcing WA."

#: heading: release, write allocate, AUX_CTRL, errata, AUX_CTRL before, what the I-pipe said.
EXPECTED = {
    "i.MX6Q, write allocate by page": (
        R3P1, BY_PAGE, "0x76470001", ["752271", "769419"], None, None,
    ),
    "VIA, WA=0": (
        R3P1, NEVER, "0x76c70001", ["752271", "769419"], "0x32070000", [NOT_GIVEN],
    ),
    "VIA, WA=1": (
        R3P1, BY_PAGE, "0x76470001", ["752271", "769419"], "0x32070000", [INDUCES],
    ),
    "i.MX6QP, WA=1": (
        R3P2, BY_PAGE, "0x76470001", ["769419"], "0x32070000", [FORCING, INDUCES],
    ),
    "i.MX6QP, WA=0": (R3P2, NEVER, "0x76c70001", ["769419"], "0x32070000", None),
    "sabresd, WA=0": (
        R3P1, NEVER, "0x76c70001", ["752271", "769419"], "0x32470000", [NOT_GIVEN],
    ),
    "sabresd, WA=1": (
        R3P1, BY_PAGE, "0x76470001", ["752271", "769419"], None, [INDUCES],
    ),
}  # fmt: skip


def test_every_quoted_log_is_looked_at() -> None:
    assert set(BLOCKS) == set(EXPECTED)


@pytest.mark.parametrize("heading", EXPECTED)
def test_what_differs_between_the_boards_is_told_apart(heading: str) -> None:
    facts = decoded(BLOCKS[heading])
    names = (
        "l2_revision",
        "l2_write_allocate",
        "l2_aux_ctrl",
        "l2_errata",
        "l2_aux_ctrl_before",
        "l2_write_allocate_asked",
    )
    values = tuple(facts[name].value if name in facts else None for name in names)
    assert values == EXPECTED[heading]


@pytest.mark.parametrize("heading", EXPECTED)
def test_what_all_the_boards_have_in_common_is_read_from_each(heading: str) -> None:
    facts = decoded(BLOCKS[heading])
    expected = {
        "l2_controller": "L2C-310",
        "l2_ways": 16,
        "l2_size_kib": 1024,
        "l2_associativity": 16,
        "l2_way_size_kib": 64,
        "l2_shared_override": True,
        "l2_full_line_of_zeros": True,
        "l2_early_bresp": True,
        "l2_instruction_prefetch": True,
        "l2_data_prefetch": True,
        "l2_prefetch_offset_lines": 16,
        "l2_replacement": "round-robin",
        "l2_nonsecure_lockdown": True,
        "l2_nonsecure_interrupts": False,
        "l2_parity": False,
        "l2_event_monitor_bus": False,
        "l2_exclusive": False,
        "l2_store_buffer_device_limit": False,
        "l2_high_priority_device_reads": False,
        "l2_shared_invalidate": False,
        "l2_clock_gating": True,
        "l2_standby": True,
    }
    assert {name: facts[name].value for name in expected} == expected
    assert "l2_aux_ctrl_not_taken" not in facts


def test_what_booting_changed_in_the_register_is_listed() -> None:
    assert decoded(BLOCKS["VIA, WA=0"])["l2_aux_ctrl_changes"].value == [
        "l2_shared_override: False -> True",
        "l2_full_line_of_zeros: False -> True",
        "l2_nonsecure_lockdown: False -> True",
        "l2_early_bresp: False -> True",
        f"l2_write_allocate: {BY_PAGE} -> {NEVER}",
    ]


def test_the_two_settings_of_one_board_differ_in_one_fact() -> None:
    off, on = decoded(BLOCKS["sabresd, WA=0"]), decoded(BLOCKS["sabresd, WA=1"])
    registers = set(decode_aux_ctrl("L2C-310", 0))
    assert {n for n in registers if off[n].value != on[n].value} == {"l2_write_allocate"}


@pytest.mark.parametrize(
    ("bit", "name"),
    [
        (0, "l2_full_line_of_zeros"),
        (10, "l2_high_priority_device_reads"),
        (11, "l2_store_buffer_device_limit"),
        (12, "l2_exclusive"),
        (13, "l2_shared_invalidate"),
        (20, "l2_event_monitor_bus"),
        (21, "l2_parity"),
        (22, "l2_shared_override"),
        (26, "l2_nonsecure_lockdown"),
        (27, "l2_nonsecure_interrupts"),
        (28, "l2_data_prefetch"),
        (29, "l2_instruction_prefetch"),
        (30, "l2_early_bresp"),
    ],
)
def test_a_bit_of_the_register_is_one_fact_and_no_other(bit: int, name: str) -> None:
    clear, with_bit = decode_aux_ctrl("L2C-310", 0), decode_aux_ctrl("L2C-310", 1 << bit)
    assert {n for n in clear if clear[n] != with_bit[n]} == {name}
    assert with_bit[name] is True


@pytest.mark.parametrize(
    ("code", "text"),
    [(0, BY_PAGE), (1, NEVER), (2, "override: always"), (3, BY_PAGE)],
)
def test_write_allocate_has_two_bits(code: int, text: str) -> None:
    assert decode_aux_ctrl("L2C-310", code << 23)["l2_write_allocate"] == text


@pytest.mark.parametrize(
    ("code", "kib"), [(0, None), (1, 16), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, None)]
)
def test_the_way_size_has_two_reserved_codes(code: int, kib: int | None) -> None:
    assert decode_aux_ctrl("L2C-310", code << 17)["l2_way_size_kib"] == kib


def test_an_older_controller_has_other_fields() -> None:
    older = decode_aux_ctrl("L2C-220", 8 << 13 | 1 << 23)
    assert older["l2_associativity"] == 8
    assert older["l2_write_allocate"] == NEVER
    assert "l2_early_bresp" not in older
    assert "l2_write_allocate" not in decode_aux_ctrl("L2C-210", 1 << 23)


@pytest.mark.parametrize(
    ("cache_id", "name"),
    [
        (0x410000C7, R3P1),
        (0x410000C8, R3P2),
        (0x410000C9, "L2C-310 r3p3"),
        (0x410000C5, "L2C-310 r3p0"),
        (0x41000086, "L2C-220 r1p7_01rel0"),
        (0x410000FF, "L2C-310 release 0x3f"),
        (0x41000000, None),
        (0x560000C7, None),
    ],
)
def test_a_cache_id_names_part_and_release_or_says_why_not(cache_id: int, name: str | None) -> None:
    part, why = decode_cache_id(cache_id)
    assert part == name
    assert bool(why) == (name is None)


@pytest.mark.parametrize("heading", EXPECTED)
def test_no_range_operation_of_the_quoted_boards_takes_the_lock(heading: str) -> None:
    fact = decoded(BLOCKS[heading])["l2_range_ops_locked"]
    assert fact.value is False
    assert "from r2p0 on no range operation takes the lock" in fact.source


@pytest.mark.parametrize(
    ("cache_id", "errata", "locked"),
    [
        (0x410000C2, ["588369"], True),
        (0x410000C2, ["769419"], False),
        (0x410000C4, ["727915"], False),
        (0x410000C8, [], False),
        (0x41000086, [], True),
        (0x41000040, [], False),
        (0x560000C7, ["588369"], None),
    ],
)
def test_the_lock_of_range_operations_follows_from_release_and_errata(
    cache_id: int, errata: list[str], locked: bool | None
) -> None:
    assert range_ops_locked(cache_id, errata)[0] is locked
