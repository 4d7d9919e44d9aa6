"""The judge: messages to bytes and back, straight from Kafka's definitions, slow and obvious.

It shares nothing with ``pyk.protocol``. Values are in the JSON form of the golden vectors. The
writer notes where each piece of the message came to lie, so that a test can break them one by one.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple
from uuid import UUID

from golden.protocol_facts import Facts

NUMBERS = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
}
UNKNOWN_TAGS = "_unknownTaggedFields"


class Piece(NamedTuple):
    """Where something lies in an encoded message."""

    role: str
    """``classic length``, ``compact length``, ``marker``, ``tag count``, ``text``, ``value`` …"""
    field: str
    start: int
    end: int


def contains(versions: str | None, version: int) -> bool:
    """Say whether a range such as ``0-3``, ``9+`` or ``none`` has ``version``."""
    if versions is None or versions == "none":
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    lowest, _, highest = versions.partition("-")
    return int(lowest) <= version <= int(highest or lowest)


def versions_of(schema: Facts) -> range:
    lowest, _, highest = schema["validVersions"].partition("-")
    return range(int(lowest), int(highest or lowest) + 1)


def fields_at(schema: Facts, field: Facts) -> list[Facts]:
    """Return the fields of the struct that ``field`` holds."""
    if "fields" in field:
        return list(field["fields"])
    name = field["type"].removeprefix("[]")
    return next(
        list(struct["fields"]) for struct in schema["commonStructs"] if struct["name"] == name
    )


def json_name(field: Facts) -> str:
    name: str = field["name"]
    return name[0].lower() + name[1:]


def is_struct(field_type: str) -> bool:
    return field_type.removeprefix("[]")[0].isupper()


def default_of(schema: Facts, field: Facts, version: int) -> Any:
    """Return the value of a field that is not on the wire."""
    kind, default = field["type"], field.get("default")
    if default == "null":
        return None
    if kind.startswith("[]"):
        return []
    if is_struct(kind):
        return {
            json_name(inner): default_of(schema, inner, version)
            for inner in fields_at(schema, field)
            if contains(inner["versions"], version)
        }
    if kind == "bool":
        return default == "true"
    if kind == "float64":
        return float(default or 0)
    if kind in NUMBERS:
        return int(default or "0", 0)
    return str(UUID(int=0)) if kind == "uuid" else default or ""


class Writer:
    """Writes one message at one version."""

    def __init__(self, schema: Facts, version: int) -> None:
        self.schema, self.version = schema, version
        self.flexible = contains(schema["flexibleVersions"], version)
        self.out = bytearray()
        self.pieces: list[Piece] = []

    def message(self, value: Any) -> bytes:
        self.struct(self.schema["fields"], value)
        return bytes(self.out)

    def struct(self, fields: list[Facts], value: Any) -> None:
        tags: dict[int, Writer] = {}
        for field in fields:
            if not contains(field["versions"], self.version):
                continue
            item = value[json_name(field)]
            if not contains(field.get("taggedVersions"), self.version):
                self.field(field, item)
            elif item != default_of(self.schema, field, self.version):
                tags[field["tag"]] = self.tagged_value(field, item)
        if self.flexible:
            for unknown in value.get(UNKNOWN_TAGS, []):
                tags[unknown["tag"]] = Writer(self.schema, self.version)
                tags[unknown["tag"]].put("unknown tag", "", bytes.fromhex(unknown["data"]))
            self.tagged_section(tags)

    def tagged_section(self, tags: dict[int, Writer]) -> None:
        self.varint("tag count", "", len(tags))
        for tag, inner in sorted(tags.items()):
            self.varint("tag", "", tag)
            self.varint("tag size", "", len(inner.out))
            for piece in inner.pieces:
                self.put(piece.role, piece.field, inner.out[piece.start : piece.end])

    def tagged_value(self, field: Facts, value: Any) -> Writer:
        inner = Writer(self.schema, self.version)
        if is_struct(field["type"]) and contains(field.get("nullableVersions"), self.version):
            inner.varint("tagged marker", field["name"], 0 if value is None else 1)
            if value is not None:
                inner.struct(fields_at(self.schema, field), value)
        else:
            inner.field(field, value)
        return inner

    def field(self, field: Facts, value: Any) -> None:
        kind, name = field["type"], field["name"]
        compact = self.flexible and field.get("flexibleVersions") != "none"
        if value is None:
            assert contains(field.get("nullableVersions"), self.version), name
        if kind.startswith("[]"):
            self.length(name, value, "i", compact)
            for item in value or []:
                self.field({**field, "type": kind[2:], "nullableVersions": "none"}, item)
        elif is_struct(kind):
            if contains(field.get("nullableVersions"), self.version):
                self.put("marker", name, struct.pack(">b", -1 if value is None else 1))
            if value is not None:
                self.struct(fields_at(self.schema, field), value)
        elif kind == "string":
            data = None if value is None else value.encode("utf-8")
            self.length(name, data, "h", compact)
            self.put("text", name, data or b"")
        elif kind in ("bytes", "records"):
            data = None if value is None else bytes.fromhex(value)
            self.length(name, data, "i", compact)
            self.put("value", name, data or b"")
        elif kind == "bool":
            self.put("value", name, b"\1" if value else b"\0")
        elif kind == "uuid":
            self.put("value", name, UUID(value).bytes)
        else:
            self.put("value", name, struct.pack(">" + NUMBERS[kind], value))

    def length(self, name: str, value: Any, classic_format: str, compact: bool) -> None:
        if compact:
            self.varint("compact length", name, 0 if value is None else len(value) + 1)
        else:
            length = struct.pack(">" + classic_format, -1 if value is None else len(value))
            self.put("classic length", name, length)

    def varint(self, role: str, name: str, value: int) -> None:
        data = bytearray()
        while value >= 0x80:
            data.append(value % 0x80 + 0x80)
            value //= 0x80
        data.append(value)
        self.put(role, name, bytes(data))

    def put(self, role: str, name: str, data: bytes | bytearray) -> None:
        self.pieces.append(Piece(role, name, len(self.out), len(self.out) + len(data)))
        self.out += data


class Reader:
    """Reads one message at one version; the bytes must be right."""

    def __init__(self, schema: Facts, version: int, data: bytes) -> None:
        self.schema, self.version, self.data, self.position = schema, version, data, 0
        self.flexible = contains(schema["flexibleVersions"], version)

    def message(self) -> Any:
        value = self.struct(self.schema["fields"])
        assert self.position == len(self.data)
        return value

    def struct(self, fields: list[Facts]) -> dict[str, Any]:
        value = {}
        for field in fields:
            if contains(field["versions"], self.version):
                is_tagged = contains(field.get("taggedVersions"), self.version)
                value[json_name(field)] = (
                    default_of(self.schema, field, self.version) if is_tagged else self.field(field)
                )
        if self.flexible:
            self.tags(fields, value)
        return value

    def tags(self, fields: list[Facts], value: dict[str, Any]) -> None:
        for _ in range(self.varint()):
            tag, size = self.varint(), self.varint()
            field = next((field for field in fields if self.has_tag(field, tag)), None)
            if field is None:
                unknown = {"tag": tag, "data": self.take(size).hex()}
                value.setdefault(UNKNOWN_TAGS, []).append(unknown)
            elif is_struct(field["type"]) and contains(field.get("nullableVersions"), self.version):
                is_present = self.varint()
                value[json_name(field)] = (
                    self.struct(fields_at(self.schema, field)) if is_present else None
                )
            else:
                value[json_name(field)] = self.field(field)

    def has_tag(self, field: Facts, tag: int) -> bool:
        return contains(field.get("taggedVersions"), self.version) and field["tag"] == tag

    def field(self, field: Facts) -> Any:
        kind = field["type"]
        compact = self.flexible and field.get("flexibleVersions") != "none"
        if kind.startswith("[]"):
            count = self.length("i", compact)
            item = {**field, "type": kind[2:], "nullableVersions": "none"}
            return None if count is None else [self.field(item) for _ in range(count)]
        if is_struct(kind):
            is_nullable = contains(field.get("nullableVersions"), self.version)
            if is_nullable and self.number("b") == -1:
                return None
            return self.struct(fields_at(self.schema, field))
        if kind in ("string", "bytes", "records"):
            length = self.length("h" if kind == "string" else "i", compact)
            if length is None:
                return None
            return self.take(length).decode() if kind == "string" else self.take(length).hex()
        if kind == "bool":
            return self.take(1) != b"\0"
        return str(UUID(bytes=self.take(16))) if kind == "uuid" else self.number(NUMBERS[kind])

    def length(self, classic_format: str, compact: bool) -> int | None:
        length = self.varint() - 1 if compact else self.number(classic_format)
        return None if length == -1 else length

    def number(self, number_format: str) -> Any:
        return struct.unpack(">" + number_format, self.take(struct.calcsize(">" + number_format)))[
            0
        ]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value += (byte % 0x80) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, size: int) -> bytes:
        data = self.data[self.position : self.position + size]
        assert len(data) == size
        self.position += size
        return data
