"""Write both ends of the wire from schema/wire.toml.

`wiregen.py` writes the files; `wiregen.py --check` only says whether they are up to date
(exit status 1 when they are not).
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

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

    @property
    def python_name(self) -> str:
        """Class name: cpu_started becomes CpuStarted."""
        return "".join(part.capitalize() for part in self.name.split("_"))


@dataclass(frozen=True)
class Schema:
    """The whole schema file."""

    protocol: int
    max_payload: int
    fragment_size: int
    messages: list[Message]


def read_schema(path: Path) -> Schema:
    """Read and check the schema; raises SystemExit with the first fault."""
    raw = tomllib.loads(path.read_text())
    messages = [Message(**m) for m in raw["message"]]
    ids = [m.id for m in messages]
    if len(set(ids)) != len(ids) or not all(0 < i <= 0xFF for i in ids):
        sys.exit("schema: ids must differ and lie in 1…0xFF")
    for message in messages:
        for name, kind in message.fields.items():
            if kind not in PYTHON_TYPES:
                sys.exit(f"schema: {message.name}.{name} has the unknown type {kind}")
    return Schema(raw["protocol"], raw["max_payload"], raw["fragment_size"], messages)


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


def c_header(schema: Schema) -> str:
    """Return the text of messages.h."""
    commands = [m for m in schema.messages if m.id < FIRST_ANSWER]
    out = [
        "// SPDX-License-Identifier: MIT",
        f"/* {NOTICE} */",
        "#ifndef WHYLATE_WIRE_MESSAGES_H",
        "#define WHYLATE_WIRE_MESSAGES_H",
        "",
        '#include "pack.h"',
        "",
        f"#define WIRE_PROTOCOL {schema.protocol}",
        f"#define WIRE_MAX_PAYLOAD {schema.max_payload}",
        f"#define WIRE_FRAGMENT_SIZE {schema.fragment_size}",
        "/* Kinds below FIRST_ANSWER are the host's commands, from FIRST_CONTROL on the link's. */",
        f"#define WIRE_FIRST_ANSWER {FIRST_ANSWER}",
        f"#define WIRE_FIRST_CONTROL {FIRST_CONTROL}",
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
    out += ["", "#endif", ""]
    return "\n".join(out)


def c_source(schema: Schema) -> str:
    """Return the text of messages.c: the layout of each message as a table."""
    out = ["// SPDX-License-Identifier: MIT", f"/* {NOTICE} */", '#include "messages.h"', ""]
    out.append(
        "#define FIELD(message, name, type) {#name, offsetof(struct wire_##message, name), type}"
    )
    out += ["", "/* clang-format off */", "static const struct wire_field fields[] = {"]
    for m in schema.messages:
        out += [
            f"\tFIELD({m.name}, {name}, {c_wire_type(kind)})," for name, kind in m.fields.items()
        ]
    out += ["};", "", "const struct wire_layout wire_layouts[256] = {"]
    at = 0
    for m in schema.messages:
        out.append(f'\t[WIRE_{m.name.upper()}] = {{"{m.name}", fields + {at}, {len(m.fields)}}},')
        at += len(m.fields)
    out += ["};", "/* clang-format on */", ""]
    return "\n".join(out)


# ---------------------------------------------------------------------- Python


def python_source(schema: Schema) -> str:
    """Return the text of messages.py."""
    types = "I32, U8, U16, U32, U64, Blob, ListText, ListU16, ListU64, Text"
    out = [
        f'"""The messages of the wire.\n\n{NOTICE}\n"""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
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
            "@dataclass(frozen=True, slots=True)",
            f"class {m.python_name}(Message, kind={m.id}):",
            f'    """{m.doc}"""',
            "",
        ]
        out += [f"    {name}: {PYTHON_TYPES[kind]}" for name, kind in m.fields.items()]
        out.append("")
    names = [m.python_name for m in schema.messages]
    out += ["", f"MESSAGES: dict[int, type[Message]] = {{m.KIND: m for m in ({', '.join(names)})}}"]
    return "\n".join([*out, ""])


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
        ROOT / "src/whylate/wire/messages.py": format_with(ruff, python_source(schema)),
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
