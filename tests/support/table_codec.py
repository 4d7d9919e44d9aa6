"""A slow and simple codec of messages that reads Kafka's definitions directly.

It shares nothing with ``pyk.protocol``. Values are in the JSON form of the golden vectors. The
writer keeps the pieces that a message is made of, so that a test can break them one by one.
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
    """The smallest part of an encoded message that means something; all of them make it up."""

    role: str
    """``classic length``, ``compact count``, ``marker``, ``tag size``, ``text``, ``number`` …"""
    field: str
    data: bytes
    end: int
    """The number of the first piece after what this one tells about: a length about its value."""
    is_nullable: bool = False


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
    return field_type[0].isupper()


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
        self.pieces: list[Piece] = []

    def message(self, value: Any) -> bytes:
        self.struct(self.schema["fields"], value)
        return self.written()

    def written(self) -> bytes:
        return b"".join(piece.data for piece in self.pieces)

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
        count = self.put("tag count", "", varint(len(tags)))
        for tag, inner in sorted(tags.items()):
            announced = self.put("tag", "", varint(tag))
            size = self.put("tag size", "", varint(len(inner.written())))
            base = len(self.pieces)
            self.pieces += [piece._replace(end=base + piece.end) for piece in inner.pieces]
            self.ends(announced, size)
        self.ends(count)

    def tagged_value(self, field: Facts, value: Any) -> Writer:
        inner = Writer(self.schema, self.version)
        if is_struct(field["type"]) and contains(field.get("nullableVersions"), self.version):
            present = b"\0" if value is None else b"\1"
            marker = inner.put("tagged marker", field["name"], present, True)
            if value is not None:
                inner.struct(fields_at(self.schema, field), value)
            inner.ends(marker)
        else:
            inner.field(field, value)
        return inner

    def field(self, field: Facts, value: Any) -> None:
        kind, name = field["type"], field["name"]
        compact = self.flexible and field.get("flexibleVersions") != "none"
        is_nullable = contains(field.get("nullableVersions"), self.version)
        assert value is not None or is_nullable, name
        if kind.startswith("[]"):
            count = self.length("count", name, value, "i", compact, is_nullable)
            for item in value or []:
                self.field({**field, "type": kind[2:], "nullableVersions": "none"}, item)
            self.ends(count)
        elif is_struct(kind):
            if is_nullable:
                marker = self.put("marker", name, b"\xff" if value is None else b"\1", True)
            if value is not None:
                self.struct(fields_at(self.schema, field), value)
            if is_nullable:
                self.ends(marker)
        elif kind in ("string", "bytes", "records"):
            data = value and (value.encode() if kind == "string" else bytes.fromhex(value))
            size = "h" if kind == "string" else "i"
            length = self.length("length", name, data, size, compact, is_nullable)
            self.put("text" if kind == "string" else "data", name, data or b"")
            self.ends(length)
        elif kind == "bool":
            self.put("bool", name, b"\1" if value else b"\0")
        elif kind == "uuid":
            self.put("uuid", name, UUID(value).bytes)
        else:
            self.put("number", name, struct.pack(">" + NUMBERS[kind], value))

    def length(
        self, role: str, name: str, value: Any, size: str, compact: bool, is_nullable: bool
    ) -> int:
        if compact:
            length = varint(0 if value is None else len(value) + 1)
            return self.put(f"compact {role}", name, length, is_nullable)
        length = struct.pack(">" + size, -1 if value is None else len(value))
        return self.put(f"classic {role}", name, length, is_nullable)

    def put(self, role: str, name: str, data: bytes, is_nullable: bool = False) -> int:
        """Append a piece and return its number."""
        number = len(self.pieces)
        self.pieces.append(Piece(role, name, data, number + 1, is_nullable))
        return number

    def ends(self, *numbers: int) -> None:
        """Record that the value that these pieces describe ends here."""
        for number in numbers:
            self.pieces[number] = self.pieces[number]._replace(end=len(self.pieces))


def varint(value: int) -> bytes:
    """Return ``value`` as an unsigned varint."""
    data = bytearray()
    while value >= 0x80:
        data.append(value % 0x80 + 0x80)
        value //= 0x80
    return bytes((*data, value))


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
