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
INTEGERS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i"}
C_INTEGERS = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i32": "int32_t",
}
PYTHON_TYPES = {
    "str": "str",
    "bytes": "bytes",
    "list<u16>": "tuple[int, ...]",
    "list<u64>": "tuple[int, ...]",
    "list<str>": "tuple[str, ...]",
}
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
    messages = [Message(m["name"], m["id"], m["doc"], m["fields"]) for m in raw["message"]]
    ids = [m.id for m in messages]
    if len(set(ids)) != len(ids) or not all(0 < i <= 0xFF for i in ids):
        sys.exit("schema: ids must differ and lie in 1…0xFF")
    for message in messages:
        for name, kind in message.fields.items():
            if kind not in INTEGERS and kind not in PYTHON_TYPES:
                sys.exit(f"schema: {message.name}.{name} has the unknown type {kind}")
    return Schema(raw["protocol"], raw["max_payload"], raw["fragment_size"], messages)


# ---------------------------------------------------------------------- C


def c_type(kind: str) -> str:
    """Return the C type of a field."""
    if kind in C_INTEGERS:
        return C_INTEGERS[kind]
    return "struct wire_list" if kind.startswith("list") else "struct wire_bytes"


def c_suffix(kind: str) -> str:
    """Return the part of a reader's or writer's name that names the type."""
    return {
        "str": "bytes",
        "bytes": "bytes",
        "list<u16>": "list_u16",
        "list<u64>": "list_u64",
        "list<str>": "list_str",
    }.get(kind, kind)


def python_suffix(kind: str) -> str:
    """Return the name of the Reader's and Writer's method of the type."""
    return {"str": "text", "bytes": "blob"}.get(kind, c_suffix(kind))


def c_header(schema: Schema) -> str:
    """Return the text of messages.h."""
    out = [
        "// SPDX-License-Identifier: MIT",
        f"/* {NOTICE} */",
        "#ifndef WHYLATE_WIRE_MESSAGES_H",
        "#define WHYLATE_WIRE_MESSAGES_H",
        "",
        "#include <stdbool.h>",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        '#include "pack.h"',
        "",
        f"#define WIRE_PROTOCOL {schema.protocol}",
        f"#define WIRE_MAX_PAYLOAD {schema.max_payload}",
        f"#define WIRE_FRAGMENT_SIZE {schema.fragment_size}",
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
    out.append("/* pack: the payload's length, or 0 with *writer failed where it does not fit. */")
    out.append("/* unpack: false where the payload is not exactly one such message. */")
    for m in schema.messages:
        out.append(
            f"void wire_pack_{m.name}(struct wire_writer *writer, "
            f"const struct wire_{m.name} *message);"
        )
        out.append(
            f"bool wire_unpack_{m.name}(const uint8_t *payload, size_t length, "
            f"struct wire_{m.name} *message);"
        )
    out += ["", "#endif", ""]
    return "\n".join(out)


def c_source(schema: Schema) -> str:
    """Return the text of messages.c."""
    out = ["// SPDX-License-Identifier: MIT", f"/* {NOTICE} */", '#include "messages.h"', ""]
    for m in schema.messages:
        signature = (
            f"void wire_pack_{m.name}(struct wire_writer *writer, "
            f"const struct wire_{m.name} *message)"
        )
        out += [signature, "{"]
        out += [
            f"\twire_write_{c_suffix(kind)}(writer, message->{name});"
            for name, kind in m.fields.items()
        ]
        if not m.fields:
            out += ["\t(void)writer;", "\t(void)message;"]
        out += ["}", ""]
        out += [
            (
                f"bool wire_unpack_{m.name}(const uint8_t *payload, size_t length, "
                f"struct wire_{m.name} *message)"
            ),
            "{",
            "\tstruct wire_reader reader = {payload, length, false};",
            "",
        ]
        out += [
            f"\tmessage->{name} = wire_read_{c_suffix(kind)}(&reader);"
            for name, kind in m.fields.items()
        ]
        if not m.fields:
            out.append("\tmessage->nothing = 0;")
        out += ["\treturn wire_reader_done(&reader);", "}", ""]
    return "\n".join(out)


# ---------------------------------------------------------------------- Python


def python_source(schema: Schema) -> str:
    """Return the text of messages.py."""
    out = [
        f'"""The messages of the wire.\n\n{NOTICE}\n"""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "from typing import ClassVar",
        "",
        "from whylate.wire.pack import Reader, Writer",
        "",
        f"PROTOCOL = {schema.protocol}",
        f"MAX_PAYLOAD = {schema.max_payload}",
        f"FRAGMENT_SIZE = {schema.fragment_size}",
        f"FIRST_CONTROL = {FIRST_CONTROL}",
        "",
        "",
        "class Message:",
        '    """What all messages have: KIND and the payload they make."""',
        "",
        "    KIND: ClassVar[int]",
        "",
        "    def pack(self) -> bytes:",
        '        """Return the payload."""',
        "        raise NotImplementedError",
        "",
    ]
    for m in schema.messages:
        out += [
            "",
            "@dataclass(frozen=True, slots=True)",
            f"class {m.python_name}(Message):",
            f'    """{m.doc}"""',
            "",
            f"    KIND: ClassVar[int] = {m.id}",
        ]
        out += [f"    {name}: {PYTHON_TYPES.get(kind, 'int')}" for name, kind in m.fields.items()]
        out += ["", "    def pack(self) -> bytes:", '        """Return the payload."""']
        out.append("        writer = Writer()")
        out += [
            f"        writer.{python_suffix(kind)}(self.{name})" for name, kind in m.fields.items()
        ]
        out += ["        return writer.done()", "", "    @classmethod"]
        out.append(f"    def unpack(cls, payload: bytes) -> {m.python_name}:")
        out.append('        """Return the message in a payload; raises WireError."""')
        out.append("        reader = Reader(payload)")
        if m.fields:
            out.append("        message = cls(")
            out += [f"            reader.{python_suffix(kind)}()," for kind in m.fields.values()]
            out.append("        )")
        else:
            out.append("        message = cls()")
        out += ["        reader.done()", "        return message", ""]
    names = [m.python_name for m in schema.messages]
    out += ["", f"AnyMessage = {' | '.join(names)}", ""]
    out.append("UNPACK = {")
    out += [f"    {name}.KIND: {name}.unpack," for name in names]
    out += ["}", ""]
    return "\n".join(out)


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
