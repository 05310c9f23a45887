"""The outer cache of 32-bit ARM: Arm's L2C-210, L2C-220 and L2C-310, from the lines they print.

Lines: Linux, arch/arm/mm/cache-l2x0.c; those that begin "L2C: I-pipe:" come with the I-pipe patch
of Xenomai. Bits: arch/arm/include/asm/hardware/cache-l2x0.h and Arm's "CoreLink Level 2 Cache
Controller L2C-310 Technical Reference Manual" (DDI 0246), Auxiliary Control Register.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whylate.boards.facts.bootlog.log import BootLog, LogLine
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
_BRESP = re.compile(r"L2C-310 enabling early BRESP")
_ZEROS = re.compile(r"L2C-310 full line of zeros enabled")
_IPIPE = re.compile(r"L2C: I-pipe: (.*)")

#: CACHE_ID: implementer in bits 31:24, part in 9:6, release in 5:0.
_ARM = 0x41
_PARTS = {1: "L2C-210", 2: "L2C-220", 3: "L2C-310"}
_RELEASES = {
    "L2C-210": {0: "r0p2_02", 1: "r0p1", 2: "r0p2_01", 3: "r0p3", 0xB: "r0p4", 0xF: "r0p5"},
    "L2C-220": {6: "r1p7_01rel0"},
    "L2C-310": {
        0: "r0p0",
        2: "r1p0",
        4: "r2p0",
        5: "r3p0",
        6: "r3p1",
        7: "r3p1-50rel0",
        8: "r3p2",
        9: "r3p3",
    },
}

#: One-bit fields of AUX_CTRL, by name and bit; those of the L2C-310 alone, and those of all.
_BITS_OF_ALL = {
    "l2_event_monitor_bus": 20,
    "l2_parity": 21,
    "l2_shared_override": 22,
}
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


def release(cache_id: int) -> tuple[str | None, str]:
    """Return part and release of a CACHE_ID ("L2C-310 r3p2"), or None and why it names none."""
    if cache_id >> 24 != _ARM:
        return None, f"implementer {cache_id >> 24:#04x} is not Arm: this is no such id"
    part = _PARTS.get(cache_id >> 6 & 0xF)
    if part is None:
        return None, f"no known part has the number {cache_id >> 6 & 0xF}"
    known = _RELEASES[part].get(cache_id & 0x3F)
    return f"{part} {known or f'release {cache_id & 0x3F:#04x}'}", ""


def fields(controller: str, aux: int) -> dict[str, FactValue]:
    """Return the fields of an AUX_CTRL by fact name; reserved codes of the way size give None."""
    ways = aux >> 13 & 0xF
    if controller == "L2C-310":
        ways = 16 if aux >> 16 & 1 else 8
    size_code = aux >> 17 & 7
    found: dict[str, FactValue] = {
        "l2_associativity": ways,
        "l2_way_size_kib": 8 << size_code if 1 <= size_code <= 6 else None,
    }
    bits = _BITS_OF_ALL | (_BITS_OF_310 if controller == "L2C-310" else {})
    found |= {name: bool(aux >> bit & 1) for name, bit in bits.items()}
    if controller != "L2C-210":
        found["l2_write_allocate"] = WRITE_ALLOCATE[aux >> 23 & 3]
    if controller == "L2C-310":
        found["l2_replacement"] = "round-robin" if aux >> 25 & 1 else "pseudo-random"
    return found


def l2c_facts(log: BootLog) -> list[Fact]:
    """Which controller, how large, how set up, and by whom; [] where none has spoken."""
    facts = [*_size(log), *_registers(log)]
    if (found := log.first(_ERRATA)) is not None:
        facts.append(log.fact("l2_errata", found[0][1].split(), found[1]))
    if (found := log.first(_PREFETCH)) is not None:
        facts.append(log.fact("l2_prefetch_offset_lines", int(found[0][2]), found[1]))
    if (found := log.first(_POWER)) is not None:
        facts.append(log.fact("l2_clock_gating", found[0][1] == "en", found[1]))
        facts.append(log.fact("l2_standby", found[0][2] == "en", found[1]))
    facts += _asked_of_the_ipipe(log)
    return facts


def _size(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_SIZE)) is not None:
        match, line = found
        yield log.fact("l2_controller", match[1], line)
        yield log.fact("l2_ways", int(match[2]), line)
        yield log.fact("l2_size_kib", int(match[3]), line)


def _registers(log: BootLog) -> Iterator[Fact]:
    now, modified = log.first(_REGISTERS), log.first(_MODIFIED)
    controller = now[0][1] if now is not None else "L2C-310"
    if now is not None:
        match, line = now
        name, why = release(int(match[2], 16))
        yield log.fact("l2_cache_id", f"0x{match[2]}", line)
        yield log.fact("l2_revision", name, line, note=why)
        yield log.fact("l2_aux_ctrl", f"0x{match[3]}", line)
        for field, value in fields(controller, int(match[3], 16)).items():
            why = "" if value is not None else "a reserved code"
            yield log.fact(field, value, line, note=why)
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
    """Say what booting did to AUX_CTRL, and what was asked of it in vain."""
    before = fields(controller, int(modified[0][1], 16))
    asked = fields(controller, int(modified[0][2], 16))
    after = fields(controller, int(now[0][3], 16))
    changed = [
        f"{name}: {before[name]} -> {value}"
        for name, value in after.items()
        if value != before[name]
    ]
    in_vain = [
        f"{name}: {value}" for name, value in asked.items() if before[name] != value != after[name]
    ]
    yield log.fact("l2_aux_ctrl_changes", changed, modified[1], now[1])
    if in_vain:
        yield log.fact("l2_aux_ctrl_not_taken", in_vain, modified[1], now[1])


def _asked_of_the_ipipe(log: BootLog) -> Iterator[Fact]:
    """Say what the I-pipe patch was asked for, and what it made of that."""
    said = list(log.all(_IPIPE))
    if said:
        texts = [match[1] for match, _ in said]
        yield log.fact("l2_write_allocate_asked", texts, said[0][1])
