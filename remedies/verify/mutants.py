"""Weaken the remedies in every place that matters, and see which check notices.

By hand: python remedies/verify/mutants.py [NAME...]. Each order in the tables at the top of the
headers becomes each weaker one, and each rule below is left out. The last column has the check that
notices; "not noticed" is a hole in the checks, unless it is argued.
"""

# The texts of RULES are pieces of the headers, as they are there.
# ruff: noqa: E501, ISC004

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clients import (
    BOUND_ITEMS,
    CLIENTS,
    REMEDIES,
    SEQUENCE_RUNS,
    TURNS_RUNS,
    Client,
    check_bounds,
    check_relacy,
    check_sequences,
    check_turns,
)

#: What is one step weaker than an order; a load has no release, and a store no acquire.
WEAKER = {
    "seq_cst": ("acq_rel", "relaxed"),
    "acq_rel": ("acquire", "release"),
    "acquire": ("relaxed",),
    "release": ("relaxed",),
}
_ORDER = re.compile(r"^#define ((?:SHARED_READ|REMEDY_LOCK|ASID)\w*) (\w+)$", re.MULTILINE)
#: Header -> the clients that include it.
CLIENTS_OF = {
    "shared_read.h": (
        "shared_read_strict",
        "shared_read_witness",
        "shared_read_relaxed",
        "shared_read_rests",
    ),
    "remedy_lock.h": ("bulk_chunks",),
    "bulk_work.h": ("bulk_chunks",),
    "asid.h": ("asid_rollover", "asid_unmap"),
    "asid_turns.h": ("asid_turns",),
}
#: Rules that are left out: header, name, the text, and what takes its place.
RULES = (
    ("shared_read.h", "strict waits for the next read", "(sequence + 3) & ~1u", "(sequence + 2) & ~1u"),
    ("shared_read.h", "relaxed waits for a read", "(sequence + 2) & ~1u", "sequence & ~1u"),
    ("shared_read.h", "the sequence wraps", "(int32_t)(sequence - need) >= 0", "sequence >= need"),
    ("shared_read.h", "a leader is alone",
     "if (REMEDY_CAS(&shared->sequence, &sequence, sequence + 1, relaxed))\n\t\t\t\treturn shared_read_lead_",
     "REMEDY_STORE(&shared->sequence, sequence + 1, relaxed);\n\t\t\t\treturn shared_read_lead_"),
    ("shared_read.h", "a read that rests comes after what the caller did",
     "REMEDY_FENCE(SHARED_READ_ENTRY);\n\tif (!shared->patience || shared_read_rests_(shared))",
     "if (shared->patience && shared_read_rests_(shared))\n\t\treturn shared_read_alone_(shared);\n"
     "\tREMEDY_FENCE(SHARED_READ_ENTRY);\n\tif (!shared->patience)"),
    ("shared_read.h", "a read without patience comes after what the caller did",
     "REMEDY_FENCE(SHARED_READ_ENTRY);\n\tif (!shared->patience || shared_read_rests_(shared))",
     "if (!shared->patience)\n\t\treturn shared_read_alone_(shared);\n"
     "\tREMEDY_FENCE(SHARED_READ_ENTRY);\n\tif (shared_read_rests_(shared))"),
    ("remedy_lock.h", "tickets differ", "uint32_t ticket = REMEDY_ADD(&lock->tickets, 1u, relaxed);",
     "uint32_t ticket = REMEDY_LOAD(&lock->tickets, relaxed);\n"
     "REMEDY_STORE(&lock->tickets, ticket + 1, relaxed);"),
    ("remedy_lock.h", "the holder does not wait", "REMEDY_LOAD(&lock->turn, relaxed) > 1",
     "REMEDY_LOAD(&lock->turn, relaxed) > 0"),
    ("bulk_work.h", "the lock is given up for each waiter once", "held < chunk && !wanted", "held < 1"),
    ("bulk_work.h", "the lock is given up where somebody waits", "held < chunk && !wanted", "held < chunk"),
    ("bulk_work.h", "a chunk has an end", "held < chunk && !wanted", "!wanted"),
    ("bulk_work.h", "a piece ends with its chunk", "now = now < chunk - held ? now : chunk - held;", ""),
    ("bulk_work.h", "a piece ends with the items", "now = now < items - at ? now : items - at;", ""),
    ("bulk_work.h", "a chunk of 0 counts as 1", "bulk->chunk ? bulk->chunk : 1", "bulk->chunk"),
    ("bulk_work.h", "a piece is no longer than `least`", "bulk->least < chunk ? bulk->least : chunk", "0 ? 0 : chunk"),
    ("bulk_work.h", "a waiter gets the CPU, without the lock", "if (wanted && bulk->yield && at < items)",
     "if (bulk->yield)"),
    ("bulk_work.h", "the latency is that after the gap",
     "costs->floor + (come > costs->gap ? come - costs->gap : 0)", "costs->floor + come"),
    ("bulk_work.h", "the maximum has the dearest item",
     "costs->worst_milli : costs->item_milli;\n\tuint64_t hold = chunk", "costs->item_milli : costs->item_milli;\n\tuint64_t hold = chunk"),
    ("bulk_work.h", "the chunk is the largest", "(hold > costs->gap ? hold - costs->gap : 0) * 1000 / item",
     "(hold > costs->gap ? hold - costs->gap : 0) * 500 / item"),
    ("bulk_work.h", "the gap is no part of the hold", "(hold > costs->gap ? hold - costs->gap : 0) * 1000 / item",
     "hold * 1000 / item"),
    ("bulk_work.h", "the cost is kept", "if (choice.chunk < cheapest) {", "if (0) {"),
    ("bulk_work.h", "a cost of 0 counts as 1", "(most_permille ? most_permille : 1)", "most_permille"),
    ("bulk_work.h", "the cost asked for is rounded up", "(costs->gap * 1000 * 1000 + most - 1) / most",
     "costs->gap * 1000 * 1000 / most"),
    ("bulk_work.h", "letting go is no part of an item", "coarse > letting_go ? coarse - letting_go : 0",
     "coarse > letting_go ? coarse : 0"),
    ("asid.h", "the switch is published by compare and exchange",
     "!REMEDY_CAS(&own->active, &active, id, relaxed)",
     "(REMEDY_STORE(&own->active, id, relaxed), 0)"),
    ("asid.h", "a shared TLB is parked", "if (ids->shared_tlb)\n", "if (0)\n"),
    ("asid.h", "a CPU that has not switched keeps its reserve", "if (!active)\n", "if (0)\n"),
    ("asid.h", "what runs is reserved", "asid_add_(ids->used, asid_number_(ids, active));", ""),
    ("asid.h", "a CPU flushes in each generation", "ids->cpu[i].must_flush = 1;\n\t}\n\tids->rollovers",
     "}\n\tids->rollovers"),
    ("asid.h", "the identifier of what runs elsewhere is kept",
     "asid_is_reserved_(ids, old, generation | number) || space->pins", "space->pins"),
    ("asid.h", "a pinned identifier is kept", "ids->used[word] = ids->kept[word];",
     "ids->used[word] = 0;"),
    ("asid.h", "pins leave a free identifier", "ids->first + ids->cpus + ids->pinned + 1 <",
     "ids->first <"),
    ("asid.h", "a used identifier is not given again", "if (!asid_has_(ids->used, number)) {", "{"),
    ("asid.h", "an identifier that was given is used", "asid_add_(ids->used, number);\n\tids->cursor",
     "ids->cursor"),
    ("asid_turns.h", "a slot that is behind is flushed",
     "choice.flush = cpu->slot[i].changes < changes;", ""),
    ("asid_turns.h", "a slot that is not behind is not flushed",
     "choice.flush = cpu->slot[i].changes < changes;", "choice.flush = 1;"),
    ("asid_turns.h", "what a flush was for is noted", "cpu->slot[i].changes = changes;", ""),
    ("asid_turns.h", "a new slot is flushed", "choice.flush = 1;", ""),
    ("asid_turns.h", "a slot is taken in turn", "cpu->turn = (cpu->turn + 1) % ASID_TURNS;", ""),
    ("asid_turns.h", "who runs it is interrupted", "if (REMEDY_LOAD(&cpu[i].loaded, relaxed) == space->name)",
     "if (REMEDY_LOAD(&cpu[i].loaded, relaxed) == UINT64_MAX)"),
    ("asid_turns.h", "the address space is noted as loaded first",
     "REMEDY_STORE(&cpu->loaded, space->name, relaxed);\n\tREMEDY_FENCE(ASID_TURNS_LOADED);\n"
     "\tchoice = turns_refresh(cpu, space);",
     "choice = turns_refresh(cpu, space);\n"
     "\tREMEDY_STORE(&cpu->loaded, space->name, relaxed);"),
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A header with a change: its text, and what was changed."""

    header: str
    name: str
    text: str


def make_mutants() -> Iterator[Mutant]:
    """Yield each order weakened, and each rule left out.

    Raises ValueError for a rule whose text is not in its header exactly so.
    """
    for header in CLIENTS_OF:
        text = (REMEDIES / header).read_text()
        for match in _ORDER.finditer(text):
            for weaker in WEAKER.get(match[2], ()):
                changed = f"#define {match[1]} {weaker}"
                yield Mutant(
                    header,
                    f"{match[1]}: {match[2]} → {weaker}",
                    text[: match.start()] + changed + text[match.end() :],
                )
    for header, name, old, new in RULES:
        text = (REMEDIES / header).read_text()
        if text.count(old) != 1:
            raise ValueError(f"{header} has the text of the rule '{name}' {text.count(old)} times")
        yield Mutant(header, f"without: {name}", text.replace(old, new))


def check_mutant(mutant: Mutant) -> str | None:
    """Return the check that notices the change, or None."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "remedies"
        shutil.copytree(REMEDIES, root, ignore=shutil.ignore_patterns("__pycache__"))
        (root / mutant.header).write_text(mutant.text)
        if mutant.header == "asid.h" and not check_sequences(SEQUENCE_RUNS, root).passed:
            return "asid_sequences"
        if mutant.header == "asid_turns.h" and not check_turns(TURNS_RUNS, root).passed:
            return "turns_sequences"
        if mutant.header == "bulk_work.h" and not check_bounds(BOUND_ITEMS, root).passed:
            return "bulk_bounds"
        for client in _clients_of(mutant.header):
            if not check_relacy(client, Path(folder), 4 * client.executions, root).passed:
                return f"{client.name}, Relacy"
    return None


def _clients_of(header: str) -> list[Client]:
    return [client for client in CLIENTS if client.name in CLIENTS_OF[header]]


def main(names: list[str]) -> int:
    """Print the table; 1 where a change was not noticed."""
    unnoticed = 0
    print("| header | change | noticed by |\n|---|---|---|")
    for mutant in make_mutants():
        if names and not any(name in f"{mutant.header} {mutant.name}" for name in names):
            continue
        check = check_mutant(mutant)
        unnoticed += check is None
        print(f"| {mutant.header} | {mutant.name} | {check or 'not noticed'} |", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
