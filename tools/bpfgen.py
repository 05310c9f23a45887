"""Compile BPF programs into headers that the probe is built with.

`bpfgen.py` writes programs.h beside each source and needs clang (Debian: clang). The headers are
committed, so that a probe can be built with a C compiler alone. `bpfgen.py --check` only says
whether they were made from the present sources, by their hash (exit status 1 when not).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "probe/src"
#: Each becomes programs.h beside it.
MAINS = (
    SOURCES / "recorder/bpf/recorder.bpf.c",
    SOURCES / "section/bpf/section.bpf.c",
    SOURCES / "sampled/bpf/sampled.bpf.c",
    SOURCES / "traced/bpf/traced.bpf.c",
)
#: The kind of a program, by the type of its section.
KINDS = {
    "tp_btf": "KIND_TYPED",
    "raw_tp": "KIND_UNTYPED",
    "kprobe": "KIND_PROBE",
    "fentry": "KIND_ENTRY",
    "fexit": "KIND_EXIT",
    "perf_event": "KIND_EVENT",
}
NOTICE = "Written by tools/bpfgen.py from what lies beside it. Do not edit."
FLAGS = ["-target", "bpf", "-mcpu=v3", "-std=gnu11", "-O2", "-g", "-fno-strict-aliasing"]
# The same wherever the checkout is.
FLAGS += ["-Wall", "-Wextra", "-Werror", f"-I{SOURCES}", f"-ffile-prefix-map={ROOT}/="]
COMPILERS = ("clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14")
#: What an address in a program may stand for, and its number; the loader puts the thing there.
PLACES = {
    "cpus": ("PLACE_MAP", "AT_CPUS"),
    "woken": ("PLACE_MAP", "AT_WOKEN"),
    "left": ("PLACE_MAP", "AT_LEFT"),
    "config": ("PLACE_VALUE", "AT_CONFIG"),
    "raised_list": ("PLACE_VARIABLE", "AT_RAISED"),
    "lazy_list": ("PLACE_VARIABLE", "AT_LAZY"),
    "return_list": ("PLACE_VARIABLE", "AT_RETURN"),
    "section_cpus": ("PLACE_MAP", "AT_SECTION_CPUS"),
    "section_owners": ("PLACE_MAP", "AT_SECTION_OWNERS"),
    "section_events": ("PLACE_MAP", "AT_SECTION_EVENTS"),
    "section_paths": ("PLACE_MAP", "AT_SECTION_PATHS"),
    "section_samples": ("PLACE_MAP", "AT_SECTION_SAMPLES"),
    "section_walk": ("PLACE_MAP", "AT_SECTION_WALK"),
    "wanted": ("PLACE_VALUE", "AT_SECTION_CONFIG"),
    "sampled_cpus": ("PLACE_MAP", "AT_SAMPLED_CPUS"),
    "sampling": ("PLACE_VALUE", "AT_SAMPLED_CONFIG"),
    "off_events": ("PLACE_MAP", "AT_OFF_EVENTS"),
    "traced_cpus": ("PLACE_MAP", "AT_TRACED_CPUS"),
    "tracing": ("PLACE_VALUE", "AT_TRACED_CONFIG"),
}
#: The kind of relocation of a call, and its instruction.
R_BPF_64_32, CALL = 10, 0x85
#: linux/bpf.h
CORE_RELO = struct.Struct("<IIII")
#: linux/btf.h: kinds, and by how many bytes a type of that kind goes on (a fixed part, each member)
BTF_VAR, BTF_DATASEC = 14, 15
BTF_TAIL = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8)}
BTF_TAIL |= {BTF_VAR: (4, 0), BTF_DATASEC: (0, 12), 17: (4, 0), 19: (0, 12)}


@dataclass(frozen=True)
class Section:
    """One section of an ELF file."""

    name: str
    kind: int
    info: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """One symbol of an ELF file."""

    name: str
    section: int
    is_function: bool
    offset: int
    size: int


@dataclass(frozen=True)
class Function:
    """A function that programs call: its instructions, places and type are as in Program.

    calls: the offsets of its own calls, and those of what they call.
    """

    instructions: bytes
    places: list[tuple[int, str]]
    calls: dict[int, int]
    type: int


@dataclass(frozen=True)
class Program:
    """One BPF program, as the kernel wants it.

    functions: instruction at which each begins, and its type in BTF; the first is the program.
    """

    name: str
    tracepoint: str
    kind: str
    instructions: bytes
    places: list[tuple[int, str]]
    functions: list[tuple[int, int]]
    relocations: bytes


def text_at(strings: bytes, offset: int) -> str:
    """Return the string at an offset of a string table."""
    return strings[offset : strings.index(b"\0", offset)].decode()


def sections_of(elf: bytes) -> list[Section]:
    """Return the sections of a little-endian 64-bit ELF file."""
    (at,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]
    strings = elf[headers[names][4] :]
    return [Section(text_at(strings, h[0]), h[1], h[7], elf[h[4] : h[4] + h[5]]) for h in headers]


def symbols_of(sections: list[Section]) -> list[Symbol]:
    """Return the symbols, in their order."""
    table = next(s.data for s in sections if s.name == ".symtab")
    strings = next(s.data for s in sections if s.name == ".strtab")
    return [
        Symbol(text_at(strings, name), section, info & 0xF == 2, offset, size)
        for name, info, _, section, offset, size in struct.iter_unpack("<IBBHQQ", table)
    ]


def loadable_btf(btf: bytes) -> bytes:
    """Return the BTF with what a kernel refuses set right: extern variables, sizes of sections."""
    out = bytearray(btf)
    (header,) = struct.unpack_from("<I", btf, 4)
    types, length = struct.unpack_from("<II", btf, 8)
    at, end = header + types, header + types + length
    while at < end:
        info = struct.unpack_from("<I", btf, at + 4)[0]
        kind, members = info >> 24 & 0x1F, info & 0xFFFF
        fixed, each = BTF_TAIL.get(kind, (0, 0))
        if kind == BTF_VAR:
            struct.pack_into("<I", out, at + 12, 1)
        elif kind == BTF_DATASEC:
            offset = 0
            for member in range(members):
                entry = at + 12 + 12 * member
                struct.pack_into("<I", out, entry + 4, offset)
                offset += struct.unpack_from("<I", btf, entry + 8)[0]
            struct.pack_into("<I", out, at + 8, offset)
        at += 12 + fixed + each * members
    return bytes(out)


def by_section(btf: bytes, part: bytes) -> dict[str, tuple[int, bytes]]:
    """Return the records of a part of .BTF.ext by section: the size of one, and all of them."""
    (header,) = struct.unpack_from("<I", btf, 4)
    strings = btf[header + struct.unpack_from("<I", btf, 16)[0] :]
    records: dict[str, tuple[int, bytes]] = {}
    if not part:
        return records
    (size,) = struct.unpack_from("<I", part)
    at = 4
    while at < len(part):
        name, count = struct.unpack_from("<II", part, at)
        records[text_at(strings, name)] = (size, part[at + 8 : at + 8 + size * count])
        at += 8 + size * count
    return records


def relocations_of(sections: list[Section], index: int) -> list[tuple[int, int, int]]:
    """Return offset, kind and number of the symbol of all relocations of a section."""
    return [
        (offset, info & 0xFFFFFFFF, info >> 32)
        for table in sections
        if table.kind == 9 and table.info == index
        for offset, info in struct.iter_unpack("<QQ", table.data)
    ]


def recording_path(symbol: Symbol, user: str) -> str:
    """Return what the loader puts where that symbol is used."""
    if symbol.name not in PLACES:
        sys.exit(f"bpfgen: {user} uses {symbol.name}: the loader does not know it")
    return ", ".join(PLACES[symbol.name])


def functions_of(sections: list[Section], types: bytes) -> dict[int, Function]:
    """Return the functions that programs call, and those that these call, by their offset."""
    index = next((i for i, s in enumerate(sections) if s.name == ".text"), -1)
    symbols = symbols_of(sections)
    functions = {}
    type_at = dict(struct.iter_unpack("<II", types))
    for symbol in symbols:
        if symbol.section != index or not symbol.is_function:
            continue
        end = symbol.offset + symbol.size
        places = []
        calls = {}
        for offset, kind, number in relocations_of(sections, index):
            if not symbol.offset <= offset < end:
                continue
            if kind == R_BPF_64_32:
                calls[offset - symbol.offset] = symbols[number].offset
            else:
                at = (offset - symbol.offset) // 8
                places.append((at, recording_path(symbols[number], symbol.name)))
        code = sections[index].data[symbol.offset : end]
        for at in range(0, len(code), 8):
            if code[at] == CALL and code[at + 1] >> 4 == 1 and at not in calls:
                sys.exit(f"bpfgen: {symbol.name} has a call without a relocation")
        functions[symbol.offset] = Function(code, places, calls, type_at[symbol.offset])
    return functions


def link(
    program: bytes, calls: dict[int, int], functions: dict[int, Function]
) -> tuple[bytes, list[tuple[int, str]], list[tuple[int, int]]]:
    """Put the functions that a program calls behind it, and those that they call.

    calls: the offsets of its calls, and those of what they call. Returns instructions, places and
    functions, as in Program.
    """
    code = bytearray(program)
    places: list[tuple[int, str]] = []
    begins: dict[int, int] = {}
    left = list(calls.items())
    while left:
        at, target = left.pop(0)
        if target not in begins:
            begins[target] = len(code) // 8
            function = functions[target]
            places += [(begins[target] + i, place) for i, place in function.places]
            left += [(len(code) + inside, called) for inside, called in function.calls.items()]
            code += function.instructions
        struct.pack_into("<i", code, at + 4, begins[target] - at // 8 - 1)
    return bytes(code), places, [(at, functions[target].type) for target, at in begins.items()]


def programs_of(sections: list[Section], btf: bytes) -> list[Program]:
    """Return all programs: each has a section of its own, called TYPE/TRACEPOINT."""
    symbols = symbols_of(sections)
    extra = next(s.data for s in sections if s.name == ".BTF.ext")
    header, functions, functions_size = struct.unpack_from("<III", extra, 4)
    relocations, relocations_size = struct.unpack_from("<II", extra, 24)
    functions += header
    relocations += header
    types = by_section(btf, extra[functions : functions + functions_size])
    changes = by_section(btf, extra[relocations : relocations + relocations_size])
    called = functions_of(sections, types.get(".text", (8, b""))[1])
    if ".text" in changes:
        sys.exit("bpfgen: a function reads the kernel's structures: only programs can")
    programs = []
    for index, section in enumerate(sections):
        kind, _, tracepoint = section.name.partition("/")
        if kind not in KINDS:
            continue
        names = [s.name for s in symbols if s.section == index and s.is_function]
        if len(names) != 1:
            sys.exit(f"bpfgen: {section.name} must hold one program, and nothing it calls")
        places = []
        calls: dict[int, int] = {}
        for offset, kind_of_use, number in relocations_of(sections, index):
            if kind_of_use == R_BPF_64_32:
                calls[offset] = symbols[number].offset
            else:
                places.append((offset // 8, recording_path(symbols[number], names[0])))
        code, more_places, more_functions = link(section.data, calls, called)
        (function,) = struct.unpack_from("<I", types[section.name][1], 4)
        size, records = changes.get(section.name, (CORE_RELO.size, b""))
        if size != CORE_RELO.size:
            sys.exit("bpfgen: this clang writes relocations of another size")
        programs.append(
            Program(
                names[0],
                tracepoint,
                KINDS[kind],
                code,
                places + more_places,
                [(0, function), *more_functions],
                records,
            )
        )
    return programs


def numbers(values: list[str], indent: str, per_line: int) -> list[str]:
    """Return an array's content, some values to the line."""
    return [
        indent + " ".join(f"{value}," for value in values[i : i + per_line])
        for i in range(0, len(values), per_line)
    ]


def words(data: bytes) -> list[str]:
    """Return data as 64-bit numbers, padded with zeros."""
    padded = data + bytes(-len(data) % 8)
    return [f"0x{word:016x}" for (word,) in struct.iter_unpack("<Q", padded)]


def render(programs: list[Program], btf: bytes, digest: str, guard: str) -> str:
    """Return the text of the header."""
    out = [
        "/* SPDX-License-Identifier: MIT OR GPL-2.0-only */",
        f"/* {NOTICE} */",
        f"/* sources: sha256 {digest} */",
        "/* clang-format off */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        '#include "../../bpf/program.h"',
        '#include "layout.h"',
        "",
        "enum {",
        *[f"\tPROGRAM_{p.name.upper()}," for p in programs],
        "\tPROGRAMS,",
        "};",
        "",
        "/* In words of 64 bits: they are to lie as the kernel wants them. */",
        "static const uint64_t program_btf[] = {",
        *numbers(words(btf), "\t", 4),
        "};",
        f"#define PROGRAM_BTF_SIZE {len(btf)}",
    ]
    for p in programs:
        out += ["", f"static const uint64_t {p.name}_instructions[] = {{"]
        out += [*numbers(words(p.instructions), "\t", 4), "};"]
        out.append(f"static const struct bpf_place {p.name}_places[] = {{")
        out += [*numbers([f"{{{at}, {place}}}" for at, place in p.places], "\t", 4), "};"]
        out.append(f"static const struct bpf_function {p.name}_functions[] = {{")
        out += [*numbers([f"{{{at}, {kind}}}" for at, kind in p.functions], "\t", 4), "};"]
        if p.relocations:
            out.append(f"static const struct bpf_relocation {p.name}_relocations[] = {{")
            entries = [
                "{" + ", ".join(map(str, r)) + "}" for r in CORE_RELO.iter_unpack(p.relocations)
            ]
            out += [*numbers(entries, "\t", 4), "};"]
    out += ["", "static const struct bpf_program programs[PROGRAMS] = {"]
    for p in programs:
        out += [
            f"\t[PROGRAM_{p.name.upper()}] = {{",
            f'\t\t.name = "{p.name}", .tracepoint = "{p.tracepoint}",',
            f"\t\t.kind = {p.kind},",
            f"\t\t.instructions = {p.name}_instructions,",
            f"\t\t.instruction_count = {len(p.instructions) // 8},",
            f"\t\t.places = {p.name}_places, .place_count = {len(p.places)},",
            f"\t\t.functions = {p.name}_functions, .function_count = {len(p.functions)},",
        ]
        if p.relocations:
            count = len(p.relocations) // CORE_RELO.size
            out.append(f"\t\t.relocations = {p.name}_relocations, .relocation_count = {count},")
        out.append("\t},")
    return "\n".join([*out, "};", "", "#endif", ""])


def target_of(main: Path) -> Path:
    """Return the header that is made from a source."""
    return main.with_name("programs.h")


def digest_of_sources(main: Path) -> str:
    """Return the SHA-256 of all that the programs of a source may be made from."""
    beside = {path for path in main.parent.glob("*.[ch]") if path != target_of(main)}
    files = sorted(beside) + sorted((SOURCES / "bpf").glob("*.h"))
    files += [SOURCES / "recorder/event.h", SOURCES / "wire/constants.h"]
    sha256 = hashlib.sha256()
    for path in [*files, Path(__file__)]:
        data = path.read_bytes()
        sha256.update(f"{path.name} {len(data)}\n".encode() + data)
    return sha256.hexdigest()


def compile_programs(main: Path) -> bytes:
    """Return the object that clang makes; raises SystemExit with what it says."""
    clang = os.environ.get("CLANG") or next(filter(shutil.which, COMPILERS), None)
    if clang is None:
        sys.exit("bpfgen: there is no clang here; Debian: apt-get install clang")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "programs.o"
        # Paths are in the debug information: they must not differ from checkout to checkout.
        done = subprocess.run(
            [
                *[clang, *FLAGS, f"-ffile-prefix-map={main.parent}=."],
                *["-c", main.name, "-o", str(target)],
            ],
            check=False,
            cwd=main.parent,
        )
        if done.returncode:
            sys.exit("bpfgen: the programs do not compile")
        return target.read_bytes()


def write(main: Path, *, check: bool) -> None:
    """Write the header of a source, or check it."""
    target = target_of(main)
    digest = digest_of_sources(main)
    guard = f"WHYLATE_{target.relative_to(SOURCES).as_posix().upper()}".replace("/", "_").replace(
        ".", "_"
    )
    old = target.read_text() if target.exists() else ""
    if check:
        made_from = re.search(r"sha256 ([0-9a-f]{64})", old)
        if not made_from or made_from[1] != digest:
            sys.exit(f"{target.relative_to(ROOT)} is not made from these sources: run make bpf")
        return
    sections = sections_of(compile_programs(main))
    btf = next(s.data for s in sections if s.name == ".BTF")
    text = render(programs_of(sections, btf), loadable_btf(btf), digest, guard)
    if text != old:
        target.write_text(text)
        print(f"wrote {target.relative_to(ROOT)}")


def main() -> None:
    """Write the headers, or check them."""
    for source in MAINS:
        write(source, check="--check" in sys.argv[1:])


if __name__ == "__main__":
    main()
