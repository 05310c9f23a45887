"""Write both ends of the wire from schema/wire.toml.

`wiregen.py` writes the files; `wiregen.py --check` only says whether they are up to date
(exit status 1 when they are not).
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema" / "wire.toml"
C_INTEGERS = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i32": "int32_t",
}
PYTHON_TYPES = {
    "u8": "U8",
    "u16": "U16",
    "u32": "U32",
    "u64": "U64",
    "i32": "I32",
    "str": "Text",
    "bytes": "Blob",
    "list<u16>": "ListU16",
    "list<u64>": "ListU64",
    "list<str>": "ListText",
}
#: All values of an integer type; a list has those of its elements.
ALL_VALUES = {
    "u8": (0, (1 << 8) - 1),
    "u16": (0, (1 << 16) - 1),
    "u32": (0, (1 << 32) - 1),
    "u64": (0, (1 << 64) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
}
#: What the host keeps a u64 in.
MOST_U64 = (1 << 63) - 1
#: Enumerations whose values are bits.
FLAGS = (
    "counter_mode",
    "recorder_stack",
    "switch_state",
    "execution_flag",
    "execution_part",
    "listing_lack",
)
#: How a column of a block is encoded.
ENCODINGS = ("plain", "step", "maybe")
#: What a field of an event may be beside a number that is sent as it is.
EVENT_FIELDS = ("address", "interrupt", "comm", "local")
#: Messages below this id are the host's commands, those from it on the probe's answers.
FIRST_ANSWER = 64
#: Messages from this id on are the link's own: not numbered, not delivered.
FIRST_CONTROL = 0xF0
NOTICE = "Written by tools/wiregen.py from schema/wire.toml. Do not edit."


@dataclass(frozen=True)
class Message:
    """One message of the schema."""

    name: str
    id: int
    doc: str
    fields: dict[str, str]
    #: Whether the command starts a workload of the probe's.
    workload: bool = False
    #: [least, most] of integers, each a number or a limit's name; or "any".
    ranges: dict[str, Any] = field(default_factory=dict)

    @property
    def python_name(self) -> str:
        """Class name: cpu_started becomes CpuStarted."""
        return camel(self.name)


@dataclass(frozen=True)
class Limit:
    """A number that both ends must agree on."""

    name: str
    value: int
    doc: str


@dataclass(frozen=True)
class Enumeration:
    """Named values of a field."""

    name: str
    prefix: str
    doc: str
    values: dict[str, int]


@dataclass(frozen=True)
class Load:
    """A kind of load."""

    name: str
    unit: str
    doc: str


@dataclass(frozen=True)
class Block:
    """A block of LEB128 numbers in a field of bytes: its columns and their encodings."""

    name: str
    doc: str
    columns: dict[str, str]


@dataclass(frozen=True)
class Event:
    """A kind of event: what its fields a to f mean."""

    name: str
    id: int
    doc: str
    fields: dict[str, str]


@dataclass(frozen=True)
class Schema:
    """The whole schema file."""

    protocol: int
    max_payload: int
    fragment_size: int
    messages: list[Message]
    limits: list[Limit]
    enums: list[Enumeration]
    loads: list[Load]
    blocks: list[Block]
    events: list[Event]


def read_schema(path: Path) -> Schema:
    """Read and check the schema; raises SystemExit with the first fault."""
    raw = tomllib.loads(path.read_text())
    schema = Schema(
        raw["protocol"],
        raw["max_payload"],
        raw["fragment_size"],
        [Message(**entry) for entry in raw["message"]],
        [Limit(**entry) for entry in raw["limit"]],
        [Enumeration(**entry) for entry in raw["enum"]],
        [Load(**entry) for entry in raw["load"]],
        [Block(**entry) for entry in raw["block"]],
        [Event(**entry) for entry in raw["event"]],
    )
    ids = [m.id for m in schema.messages]
    if len(set(ids)) != len(ids) or not all(0 < i <= 0xFF for i in ids):
        sys.exit("schema: ids must differ and lie in 1…0xFF")
    for message in schema.messages:
        for name, kind in message.fields.items():
            if kind not in PYTHON_TYPES:
                sys.exit(f"schema: {message.name}.{name} has the unknown type {kind}")
            range_of(schema, message, name)
        if unknown := set(message.ranges) - set(message.fields):
            sys.exit(f"schema: {message.name} has a range of the unknown field {unknown.pop()}")
    for block in schema.blocks:
        if unknown := set(block.columns.values()) - set(ENCODINGS):
            sys.exit(f"schema: {block.name} has the unknown encoding {unknown.pop()}")
    return schema


def element_of(kind: str) -> str:
    """Return the type of an integer field, or of a list's elements."""
    return kind.removeprefix("list<").removesuffix(">")


def range_of(schema: Schema, message: Message, name: str) -> tuple[int, int] | None:
    """Return the least and the most that a field may be; None where it is no integer.

    Raises SystemExit for a range that its type does not have.
    """
    kind = element_of(message.fields[name])
    if kind not in ALL_VALUES:
        return None
    given = message.ranges.get(name)
    if given == "any":
        return ALL_VALUES[kind]
    limits = {limit.name: limit.value for limit in schema.limits}
    if given is None:
        least, most = ALL_VALUES[kind]
        if kind == "u64":
            most = limits["latest_ns"] if name.endswith("_ns") else MOST_U64
        return least, most
    least, most = (limits[end] if isinstance(end, str) else end for end in given)
    if not ALL_VALUES[kind][0] <= least <= most <= ALL_VALUES[kind][1]:
        sys.exit(f"schema: {message.name}.{name} has a range that a {kind} has not")
    return least, most


def own_ranges(schema: Schema, message: Message) -> dict[str, tuple[int, int]]:
    """Return the ranges that exclude some of a type's values, by field."""
    ranges = {name: range_of(schema, message, name) for name in message.fields}
    return {
        name: values
        for name, values in ranges.items()
        if values is not None and values != ALL_VALUES[element_of(message.fields[name])]
    }


def camel(name: str) -> str:
    """Return the name of a Python class: cpu_started becomes CpuStarted."""
    return "".join(part.capitalize() for part in name.split("_"))


# ---------------------------------------------------------------------- C


def c_type(kind: str) -> str:
    """Return the C type of a field."""
    if kind in C_INTEGERS:
        return C_INTEGERS[kind]
    return "struct wire_list" if kind.startswith("list") else "struct wire_bytes"


def c_wire_type(kind: str) -> str:
    """Return the value of enum wire_type for a field."""
    name = {"str": "bytes"}.get(kind, kind)
    return "WIRE_" + name.replace("<", "_").replace(">", "").upper()


def c_constants(schema: Schema) -> str:
    """Return the text of constants.h, which the BPF programs include too: no types, no headers."""
    out = [
        "/* SPDX-License-Identifier: MIT */",
        f"/* {NOTICE} */",
        "#ifndef WHYLATE_WIRE_CONSTANTS_H",
        "#define WHYLATE_WIRE_CONSTANTS_H",
        "",
        f"#define WIRE_PROTOCOL {schema.protocol}",
        f"#define WIRE_MAX_PAYLOAD {schema.max_payload}",
        f"#define WIRE_FRAGMENT_SIZE {schema.fragment_size}",
        "/* Kinds below FIRST_ANSWER are the host's commands, from FIRST_CONTROL on the link's. */",
        f"#define WIRE_FIRST_ANSWER {FIRST_ANSWER}",
        f"#define WIRE_FIRST_CONTROL {FIRST_CONTROL}",
        "",
    ]
    for limit in schema.limits:
        suffix = "u" if 0 <= limit.value < 1 << 32 else "ull" if limit.value > 0 else ""
        value = f"{limit.value}{suffix}" if limit.value >= 0 else f"({limit.value + 1} - 1)"
        out += [f"/* {limit.doc} */", f"#define WIRE_{limit.name.upper()} {value}"]
    for enum in [*schema.enums, Enumeration("recorder_kind", "EVENT_", "Kinds of events.", {})]:
        values = enum.values or {event.name: event.id for event in schema.events}
        out += ["", f"/* {enum.doc} */", f"enum {enum.name} {{"]
        out += [f"\t{enum.prefix}{name.upper()} = {value}," for name, value in values.items()]
        out += [f"\t{enum.prefix}COUNT = {max(values.values()) + 1},", "};"]
    out += ["", "/* X(name, unit, doc) for each kind of load. */", "#define WIRE_LOADS(X) \\"]
    out.append(" \\\n".join(f'\tX({x.name}, "{x.unit}", "{x.doc}")' for x in schema.loads))
    return "\n".join([*out, "", "#endif", ""])


def c_header(schema: Schema) -> str:
    """Return the text of messages.h."""
    commands = [m for m in schema.messages if m.id < FIRST_ANSWER]
    out = [
        "// SPDX-License-Identifier: MIT",
        f"/* {NOTICE} */",
        "#ifndef WHYLATE_WIRE_MESSAGES_H",
        "#define WHYLATE_WIRE_MESSAGES_H",
        "",
        '#include "constants.h"',
        '#include "pack.h"',
        "",
        "enum wire_kind {",
        *[f"\tWIRE_{m.name.upper()} = {m.id}," for m in schema.messages],
        "};",
        "",
    ]
    for m in schema.messages:
        out.append(f"/* {m.name} - {m.doc} */")
        out.append(f"struct wire_{m.name} {{")
        out += [f"\t{c_type(kind)} {name};" for name, kind in m.fields.items()]
        if not m.fields:
            out.append("\tchar nothing; /* C has no empty structs */")
        out += ["};", ""]
    out += ["/* Any command of the host. */", "union wire_command {"]
    out += [f"\tstruct wire_{m.name} {m.name};" for m in commands]
    out += ["};", "", "/* X(name, NAME) for each command that starts no workload. */"]
    out.append("#define WIRE_SESSION_COMMANDS(X) \\")
    out.append(" \\\n".join(f"\tX({m.name}, {m.name.upper()})" for m in commands if not m.workload))
    out += ["", "/* By enum recorder_kind, for its fields a to f. */"]
    out.append("extern const uint8_t wire_event_fields[EVENT_COUNT][WIRE_EVENT_FIELDS];")
    out += ["", "/* Blocks of numbers: see wire/block.h. */", "enum wire_block {"]
    out += [f"\tBLOCK_{b.name.upper()}," for b in schema.blocks]
    out += ["};", "", "#endif", ""]
    return "\n".join(out)


def c_source(schema: Schema) -> str:
    """Return the text of messages.c: the layout of each message as a table."""
    out = ["// SPDX-License-Identifier: MIT", f"/* {NOTICE} */", '#include "messages.h"', ""]
    out += [
        "#define FIELD(message, name, type, least, most) \\",
        "\t{#name, offsetof(struct wire_##message, name), type, least, most}",
    ]
    out += ["", "/* clang-format off */", "static const struct wire_field fields[] = {"]
    for m in schema.messages:
        for name, kind in m.fields.items():
            least, most = range_of(schema, m, name) or (0, 0)
            # The least 32-bit number is no literal in C.
            first = f"{least}" if least > -(1 << 31) else f"{least + 1} - 1"
            out.append(f"\tFIELD({m.name}, {name}, {c_wire_type(kind)}, {first}, {most}u),")
    out += ["};", "", "const struct wire_layout wire_layouts[256] = {"]
    at = 0
    for m in schema.messages:
        out.append(f'\t[WIRE_{m.name.upper()}] = {{"{m.name}", fields + {at}, {len(m.fields)}}},')
        at += len(m.fields)
    out += ["};", "", "const struct wire_columns wire_blocks[] = {"]
    for block in schema.blocks:
        encodings = ", ".join(f"COLUMN_{kind.upper()}" for kind in block.columns.values())
        out.append(f"\t[BLOCK_{block.name.upper()}] = {{{len(block.columns)}, {{{encodings}}}}},")
    out += ["};", "", "const uint8_t wire_event_fields[EVENT_COUNT][WIRE_EVENT_FIELDS] = {"]
    for event in schema.events:
        places = [
            f"['{name}' - 'a'] = FIELD_{kind.upper()}"
            for name, kind in event.fields.items()
            if kind in EVENT_FIELDS
        ]
        if places:
            out.append(f"\t[EVENT_{event.name.upper()}] = {{{', '.join(places)}}},")
    out += ["};", "/* clang-format on */", ""]
    return "\n".join(out)


# ---------------------------------------------------------------------- Python


def python_ranges(schema: Schema, message: Message) -> list[str]:
    """Return the line that gives a class its ranges; none without one."""
    ranges = own_ranges(schema, message)
    pairs = [f'"{name}": ({least:_}, {most:_})' for name, (least, most) in ranges.items()]
    return [f"    RANGES: ClassVar[Ranges] = {{{', '.join(pairs)}}}"] if pairs else []


def python_source(schema: Schema) -> str:
    """Return the text of messages.py."""
    types = "I32, U8, U16, U32, U64, Blob, ListText, ListU16, ListU64, Ranges, Text"
    out = [
        f'"""The messages of the wire.\n\n{NOTICE}\n"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import ClassVar",
        "",
        f"from whylate.wire.codec import {types}",
        "from whylate.wire.codec import Message as Message  # noqa: PLC0414",
        "",
        f"PROTOCOL = {schema.protocol}",
        f"MAX_PAYLOAD = {schema.max_payload}",
        f"FRAGMENT_SIZE = {schema.fragment_size}",
        f"FIRST_CONTROL = {FIRST_CONTROL}",
        "",
    ]
    for m in schema.messages:
        out += [
            "",
            f"class {m.python_name}(Message, frozen=True):",
            f'    """{m.doc}"""',
            "",
            f"    KIND: ClassVar[int] = {m.id}",
            *python_ranges(schema, m),
        ]
        out += [f"    {name}: {PYTHON_TYPES[kind]}" for name, kind in m.fields.items()]
        out.append("")
    names = [m.python_name for m in schema.messages]
    out += ["", f"MESSAGES: dict[int, type[Message]] = {{m.KIND: m for m in ({', '.join(names)})}}"]
    return "\n".join([*out, ""])


def python_constants(schema: Schema) -> str:
    """Return the text of constants.py."""
    out = [
        f'"""Limits, enumerations, loads and blocks of the wire.\n\n{NOTICE}\n"""',
        "",
        "from __future__ import annotations",
        "",
        "from enum import IntEnum, IntFlag",
        "",
    ]
    for limit in schema.limits:
        out += [f"#: {limit.doc}", f"{limit.name.upper()} = {limit.value:_}"]
    kinds = {event.name: event.id for event in schema.events}
    events = Enumeration("event_kind", "", "What an event of the recorder is.", kinds)
    for enum in [*schema.enums, events]:
        base = "IntFlag" if enum.name in FLAGS else "IntEnum"
        out += ["", "", f"class {camel(enum.name)}({base}):", f'    """{enum.doc}"""', ""]
        for name, value in enum.values.items():
            note = next(
                (f"    #: {e.doc}" for e in schema.events if enum is events and e.id == value), ""
            )
            out += [note] if note else []
            out.append(f"    {name.upper()} = {value}")
    out += [
        "",
        "",
        "#: Kinds of loads: what their work is counted in, and what they do.",
        "LOADS = {",
    ]
    out += [f'    "{x.name}": ("{x.unit}", "{x.doc}"),' for x in schema.loads]
    out += [
        "}",
        "#: Columns of blocks of numbers and how each is encoded (whylate.wire.blocks).",
        "BLOCKS = {",
    ]
    for block in schema.blocks:
        columns = ", ".join(f'"{kind}"' for kind in block.columns.values())
        out.append(f'    "{block.name}": ({columns},),')
    return "\n".join([*out, "}", ""])


def format_with(command: list[str], text: str) -> str:
    """Return text as the project's formatter would write it."""
    import subprocess

    return subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout


def main() -> None:
    """Write the files, or check them."""
    schema = read_schema(SCHEMA)
    tools = Path(sys.executable).parent
    clang = [str(tools / "clang-format"), "--assume-filename=probe/src/wire/messages.c"]
    ruff = [str(tools / "ruff"), "format", "--stdin-filename", "src/whylate/wire/messages.py", "-"]
    files = {
        ROOT / "probe/src/wire/messages.h": format_with(clang, c_header(schema)),
        ROOT / "probe/src/wire/messages.c": format_with(clang, c_source(schema)),
        ROOT / "probe/src/wire/constants.h": format_with(clang, c_constants(schema)),
        ROOT / "src/whylate/wire/messages.py": format_with(ruff, python_source(schema)),
        ROOT / "src/whylate/wire/constants.py": format_with(ruff, python_constants(schema)),
    }
    stale = [p for p, text in files.items() if not p.exists() or p.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what schema/wire.toml says: run make schema")
        sys.exit(1 if stale else 0)
    for path in stale:
        path.write_text(files[path])
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
