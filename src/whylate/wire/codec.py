"""Messages to bytes and back: the field types of schema/wire.toml and the code that packs them.

All integers are little-endian. Text, bytes and lists follow their length in elements, a u16.
What is unpacked lies within the ranges of the schema.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Annotated, Any, ClassVar, NamedTuple, Self, cast, get_type_hints

import msgspec


class WireError(Exception):
    """Bytes that contradict the schema of the wire."""


class FieldType(NamedTuple):
    """How one field travels: the value to bytes, and (payload, offset) to (value, next offset).

    code: of an integer, its letter in a struct.
    """

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes, int], tuple[Any, int]]
    code: str = ""


def _packed(layout: struct.Struct, *values: int) -> bytes:
    try:
        return layout.pack(*values)
    except struct.error as error:
        raise WireError(f"{values[0]} does not fit its field: {error}") from None


def _piece(payload: bytes, at: int, length: int) -> bytes:
    if at + length > len(payload):
        raise WireError(f"payload ends {at + length - len(payload)} bytes too soon")
    return payload[at : at + length]


def _integer(code: str) -> FieldType:
    layout = struct.Struct("<" + code)

    def decode(payload: bytes, at: int) -> tuple[int, int]:
        return layout.unpack(_piece(payload, at, layout.size))[0], at + layout.size

    return FieldType(lambda value: _packed(layout, value), decode, code)


_U16 = _integer("H")


def _encode_blob(value: bytes) -> bytes:
    return _U16.encode(len(value)) + value


def _decode_blob(payload: bytes, at: int) -> tuple[bytes, int]:
    # The most of what a journal holds: without a call for the length.
    start = at + 2
    end = start + int.from_bytes(payload[at:start], "little")
    if end > len(payload) or start > len(payload):
        raise WireError(f"payload ends {max(end, start) - len(payload)} bytes too soon")
    return payload[start:end], end


def _encode_text(value: str) -> bytes:
    """Return UTF-8 with its length; bytes that were not UTF-8 (PEP 383) become themselves again."""
    try:
        return _encode_blob(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError as error:
        raise WireError(f"a text holds what no UTF-8 has: {error.reason}") from None


def _decode_text(payload: bytes, at: int) -> tuple[str, int]:
    data, at = _decode_blob(payload, at)
    return data.decode("utf-8", "surrogateescape"), at


def _list_of(element: FieldType) -> FieldType:
    def encode(values: tuple[Any, ...]) -> bytes:
        return _U16.encode(len(values)) + b"".join(map(element.encode, values))

    def decode(payload: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        count, at = _U16.decode(payload, at)
        if element.code:
            layout = struct.Struct(f"<{count}{element.code}")
            return layout.unpack(_piece(payload, at, layout.size)), at + layout.size
        values = []
        for _ in range(count):
            value, at = element.decode(payload, at)
            values.append(value)
        return tuple(values), at

    return FieldType(encode, decode)


_TEXT = FieldType(_encode_text, _decode_text)

U8 = Annotated[int, _integer("B")]
U16 = Annotated[int, _U16]
U32 = Annotated[int, _integer("I")]
U64 = Annotated[int, _integer("Q")]
I32 = Annotated[int, _integer("i")]
Text = Annotated[str, _TEXT]
Blob = Annotated[bytes, FieldType(_encode_blob, _decode_blob)]
ListU16 = Annotated[tuple[int, ...], _list_of(_U16)]
ListU64 = Annotated[tuple[int, ...], _list_of(_integer("Q"))]
ListText = Annotated[tuple[str, ...], _list_of(_TEXT)]
Ranges = Mapping[str, tuple[int, int]]


class Message(msgspec.Struct, frozen=True):
    """A message of the schema: its fields are of the types above.

    A Struct, because there are more than a hundred: dataclasses take 40 times longer to define.
    """

    #: The id of the message in schema/wire.toml.
    KIND: ClassVar[int]
    #: By field, the least and the most that it, or each of its elements, may be.
    RANGES: ClassVar[Ranges] = {}

    def pack(self) -> bytes:
        """Return the payload; raises WireError for a value that its field cannot hold."""
        return b"".join(
            field.encode(getattr(self, name)) for name, field in layout_of(type(self)).items()
        )

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the message in a payload; raises WireError, also for a value out of its range."""
        message = cls.unpack_layout(payload)
        message.check()
        return message

    @classmethod
    def unpack_layout(cls, payload: bytes) -> Self:
        """Return the message in a payload, its ranges not checked; raises WireError."""
        fixed, others = _parts_of(cls)
        values: list[Any] = []
        at = fixed.size
        if at <= len(payload):
            values += fixed.unpack_from(payload)
        else:
            others, at = tuple(layout_of(cls).values()), 0
        for field in others:
            value, at = field.decode(payload, at)
            values.append(value)
        if at != len(payload):
            raise WireError(f"payload is {len(payload) - at} bytes too long")
        return cls(*values)

    def check(self) -> None:
        """Raise WireError for a value out of its range."""
        for name, (least, most) in self.RANGES.items():
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if not least <= number <= most:
                    raise WireError(
                        f"{type(self).__name__}.{name} is {number}: expected {least} to {most}"
                    )


#: By class; made when the first message of a class is packed or unpacked.
_LAYOUTS: dict[type[Message], dict[str, FieldType]] = {}
_PARTS: dict[type[Message], tuple[struct.Struct, tuple[FieldType, ...]]] = {}


def _parts_of(message: type[Message]) -> tuple[struct.Struct, tuple[FieldType, ...]]:
    """Return the integers that a message begins with, and the fields behind them."""
    if message not in _PARTS:
        fields = list(layout_of(message).values())
        codes = "".join(field.code for field in takewhile(lambda field: field.code, fields))
        _PARTS[message] = struct.Struct("<" + codes), tuple(fields[len(codes) :])
    return _PARTS[message]


def layout_of(message: type[Message]) -> dict[str, FieldType]:
    """Return the fields of a message in the order in which they travel."""
    if message not in _LAYOUTS:
        hints = get_type_hints(message, include_extras=True)
        _LAYOUTS[message] = {
            name: cast(FieldType, hint.__metadata__[0])
            for name, hint in hints.items()
            if hasattr(hint, "__metadata__")
        }
    return _LAYOUTS[message]
