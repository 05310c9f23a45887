"""The outer cache of 32-bit ARM: Arm's L2C-210, L2C-220 and L2C-310, from the lines they print.

Lines: Linux, arch/arm/mm/cache-l2x0.c; those that begin "L2C: I-pipe:" come with the I-pipe patch
of Xenomai. Bits: arch/arm/include/asm/hardware/cache-l2x0.h and Arm's "CoreLink Level 2 Cache
Controller L2C-310 Technical Reference Manual" (DDI 0246), Auxiliary Control Register.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from whylate.boards.facts.bootlog.log import BootLog, Derived, EveryLine, FirstLine, LogLine, Row
from whylate.recording.manifest import Fact, FactValue

_REGISTERS = re.compile(r"(L2C-[23][12]0): CACHE_ID 0x([0-9a-f]{8}), AUX_CTRL 0x([0-9a-f]{8})")
_MODIFIED = re.compile(
    r"L2C: DT/platform modifies aux control register: 0x([0-9a-f]{8}) -> 0x([0-9a-f]{8})"
)
_SIZE = re.compile(r"(L2C-[23][12]0) cache controller enabled, (\d{1,4}) ways, (\d{1,9}) kB")
_ERRATA = re.compile(r"L2C-310 errat(?:a|um)((?: \d{1,9}){1,16}) enabled")
_PREFETCH = re.compile(r"L2C-310 (I?D?) ?prefetch enabled, offset (\d{1,9}) lines")
_POWER = re.compile(
    r"L2C-310 dynamic clock gating (en|dis)abled, standby mode (en|dis)abled",
)
_IPIPE = re.compile(r"L2C: I-pipe: (.*)")

#: CACHE_ID: implementer in bits 31:24, part in 9:6, release in 5:0.
_ARM = 0x41
_PARTS = {1: "L2C-210", 2: "L2C-220", 3: "L2C-310"}
_RELEASES = {
    "L2C-210": {0: "r0p2_02", 1: "r0p1", 2: "r0p2_01", 3: "r0p3", 0xB: "r0p4", 0xF: "r0p5"},
    "L2C-220": {6: "r1p7_01rel0"},
    "L2C-310": {0: "r0p0", 2: "r1p0", 4: "r2p0", 5: "r3p0", 6: "r3p1", 7: "r3p1-50rel0",
                8: "r3p2", 9: "r3p3"},
}  # fmt: skip

#: The release of an L2C-310 from which on erratum 588369 is repaired.
_R2P0 = 4

#: One-bit fields of AUX_CTRL, by name and bit; those of the L2C-310 alone, and those of all.
_BITS_OF_ALL = {"l2_event_monitor_bus": 20, "l2_parity": 21, "l2_shared_override": 22}
_BITS_OF_310 = {
    "l2_full_line_of_zeros": 0,
    "l2_high_priority_device_reads": 10,
    "l2_store_buffer_device_limit": 11,
    "l2_exclusive": 12,
    "l2_shared_invalidate": 13,
    "l2_nonsecure_lockdown": 26,
    "l2_nonsecure_interrupts": 27,
    "l2_data_prefetch": 28,
    "l2_instruction_prefetch": 29,
    "l2_early_bresp": 30,
}
#: Force write allocate, bits 24:23 of the L2C-220 and L2C-310; 3 works as 0 does.
WRITE_ALLOCATE = {
    0: "no override: as each page says",
    1: "override: never",
    2: "override: always",
    3: "no override: as each page says",
}


def decode_cache_id(cache_id: int) -> tuple[str | None, str]:
    """Return part and release of a CACHE_ID ("L2C-310 r3p2"), or None and the reason."""
    if cache_id >> 24 != _ARM:
        return None, f"implementer {cache_id >> 24:#04x} is not Arm: this is no such id"
    part = _PARTS.get(cache_id >> 6 & 0xF)
    if part is None:
        return None, f"no known part has the number {cache_id >> 6 & 0xF}"
    known = _RELEASES[part].get(cache_id & 0x3F)
    return f"{part} {known or f'release {cache_id & 0x3F:#04x}'}", ""


def decode_aux_ctrl(controller: str, aux: int) -> dict[str, FactValue]:
    """Return the fields of an AUX_CTRL by fact name; reserved codes of the way size give None."""
    ways = aux >> 13 & 0xF
    if controller == "L2C-310":
        ways = 16 if aux >> 16 & 1 else 8
    size_code = aux >> 17 & 7
    fields: dict[str, FactValue] = {
        "l2_associativity": ways,
        "l2_way_size_kib": 8 << size_code if 1 <= size_code <= 6 else None,
    }
    bits = _BITS_OF_ALL | (_BITS_OF_310 if controller == "L2C-310" else {})
    fields |= {name: bool(aux >> bit & 1) for name, bit in bits.items()}
    if controller != "L2C-210":
        fields["l2_write_allocate"] = WRITE_ALLOCATE[aux >> 23 & 3]
    if controller == "L2C-310":
        fields["l2_replacement"] = "round-robin" if aux >> 25 & 1 else "pseudo-random"
    return fields


def _registers(log: BootLog) -> Iterator[Fact]:
    now, modified = log.first(_REGISTERS), log.first(_MODIFIED)
    controller = now[0][1] if now is not None else "L2C-310"
    if now is not None:
        match, line = now
        name, reason = decode_cache_id(int(match[2], 16))
        yield log.fact("l2_cache_id", f"0x{match[2]}", line)
        yield log.fact("l2_revision", name, line, note=reason)
        yield log.fact("l2_aux_ctrl", f"0x{match[3]}", line)
        for field, value in decode_aux_ctrl(controller, int(match[3], 16)).items():
            reason = "" if value is not None else "a reserved code"
            yield log.fact(field, value, line, note=reason)
    if modified is not None:
        match, line = modified
        yield log.fact("l2_aux_ctrl_before", f"0x{match[1]}", line)
        yield log.fact("l2_aux_ctrl_asked", f"0x{match[2]}", line)
        if now is not None:
            yield from _changes(log, controller, modified, now)


def _changes(
    log: BootLog,
    controller: str,
    modified: tuple[re.Match[str], LogLine],
    now: tuple[re.Match[str], LogLine],
) -> Iterator[Fact]:
    """Yield what booting changed in AUX_CTRL, and what was requested without effect."""
    before = decode_aux_ctrl(controller, int(modified[0][1], 16))
    requested = decode_aux_ctrl(controller, int(modified[0][2], 16))
    after = decode_aux_ctrl(controller, int(now[0][3], 16))
    changed = [
        f"{name}: {before[name]} -> {value}"
        for name, value in after.items()
        if value != before[name]
    ]
    ignored = [
        f"{name}: {value}"
        for name, value in requested.items()
        if before[name] != value != after[name]
    ]
    yield log.fact("l2_aux_ctrl_changes", changed, modified[1], now[1])
    if ignored:
        yield log.fact("l2_aux_ctrl_not_taken", ignored, modified[1], now[1])


def range_ops_locked(cache_id: int, errata: Iterable[str]) -> tuple[bool | None, str]:
    """Return whether operations on a range of addresses hold the driver's lock, and why.

    By l2c310_fixup() and the tables of functions in arch/arm/mm/cache-l2x0.c (since Linux 3.16,
    which prints these lines). The L2C-220 always takes l2x0_lock for them. Of the L2C-310 only the
    workaround of erratum 588369 does, which is of releases before r2p0; that of 727915 (r2p0 to
    r3p0) takes it to flush the whole cache, and not for a range. None: no such controller.
    """
    name, reason = decode_cache_id(cache_id)
    if name is None:
        return None, reason
    if name.startswith("L2C-220"):
        return True, "the L2C-220 works on one range at a time"
    if name.startswith("L2C-210"):
        return False, "the L2C-210's operations need no lock"
    if "588369" in errata:
        return True, "workaround of erratum 588369"
    if cache_id & 0x3F >= _R2P0:
        return False, "of the L2C-310 from r2p0 on no range operation takes the lock"
    return False, "erratum 588369 is not worked around"


def _range_ops(log: BootLog) -> Iterator[Fact]:
    """Yield whether code that works on a range of the cache takes a lock at all."""
    registers, errata = log.first(_REGISTERS), log.first(_ERRATA)
    if registers is None:
        return
    match, line = registers
    listed = errata[0][1].split() if errata is not None else []
    locked, reason = range_ops_locked(int(match[2], 16), listed)
    lines = (line, errata[1]) if errata is not None else (line,)
    yield log.fact("l2_range_ops_locked", locked, *lines, note=reason)


def _enabled(text: str) -> bool:
    return text == "en"


L2C: tuple[Row, ...] = (
    FirstLine(_SIZE, (("l2_controller", 1, str), ("l2_ways", 2, int), ("l2_size_kib", 3, int))),
    Derived(_registers),
    FirstLine(_ERRATA, (("l2_errata", 1, str.split),)),
    Derived(_range_ops),
    FirstLine(_PREFETCH, (("l2_prefetch_offset_lines", 2, int),)),
    FirstLine(_POWER, (("l2_clock_gating", 1, _enabled), ("l2_standby", 2, _enabled))),
    # What the I-pipe patch was configured for, and what it made of that.
    EveryLine("l2_write_allocate_asked", _IPIPE),
)
