"""Generate the function that decodes one version of a message.

The source follows the wire from front to back. Values of fixed size that stand side by side,
together with the length prefix that ends such a run, are unpacked by one ``struct.Struct``; structs
and loops are written inline, and objects are filled without ``__init__``, since every field is set.
What may be null is null or empty more often than not, so the run goes on after it as if it were;
where it is not, the rest of the run is unpacked once more.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from struct import calcsize
from typing import Any, TypeAlias

from pyk.protocol.fields import (
    NO_TAGGED_FIELDS,
    ArrayKind,
    Field,
    Kind,
    StructKind,
    has_records,
)
from pyk.protocol.names import snake_case
from pyk.protocol.structs import Struct, VersionedStruct

from . import wire
from .shape import Shape
from .source import Source

Decode: TypeAlias = Callable[[bytes | bytearray | memoryview, int], tuple[Any, int]]
Run: TypeAlias = list[tuple[str, str]]
"""The format and the target of each value to unpack together."""

_HELPERS = (
    wire.read_varint,
    wire.read_length,
    wire.read_string_length,
    wire.read_tag,
    wire.read_unknown_tags,
    wire.bytes_of,
    wire.uuid_of,
    wire.bad_length,
    wire.bad_count,
    wire.bad_marker,
    wire.bad_tag_size,
    wire.malformed,
)

_LENGTH = "length"
_LOCALS = (
    "data", "view", "position", "size", "prefix", _LENGTH, "following", "count", "end", "marker",
)  # fmt: skip


def compile_decoder(cls: type[VersionedStruct], version: int) -> Decode:
    """Return ``decode(data, start) -> (message, end)`` for one version."""
    return _write(cls, version).compile("decode", f"pyk decoder of {cls.__name__} v{version}")


def decoder_source(cls: type[VersionedStruct], version: int) -> str:
    """Return the source of the decoder of one version, for people."""
    return _write(cls, version).text()


def _write(cls: type[VersionedStruct], version: int) -> Source:
    return _DecoderWriter(cls, version).write()


def keeps_views(cls: type[VersionedStruct]) -> bool:
    """Return whether the data stays a view: records, or bytes after a header, are not copied."""
    return cls.kind.value == "header" or has_records(cls)


class _DecoderWriter:
    def __init__(self, cls: type[VersionedStruct], version: int) -> None:
        self._cls = cls
        self._version = version
        self._is_flexible = version in cls.flexible
        self._is_view = keeps_views(cls)
        self._source = Source(_LOCALS)
        self._run: Run = []
        self._after_run: list[str] = []  # lines that need those values
        self._ahead: Run = []  # what the run after a null has unpacked already

    def write(self) -> Source:
        source = self._source
        for helper in _HELPERS:
            source.constant(helper.__name__, helper)
        source.constant("FAULTS", wire.FAULTS)
        source.constant("new", object.__new__)
        source.constant("repeat", repeat)
        source.constant("no_tags", NO_TAGGED_FIELDS)
        source.constant("no_records", memoryview(b""))
        with source.block("def decode(data, position)"):
            if self._is_view:
                source.line("view = memoryview(data)")
                source.line("data = data if type(data) is bytes else bytes_of(view)")
            else:
                source.line("data = bytes(data)")
            source.line("size = len(data)")
            with source.block("try"):
                self._struct(self._cls, source.local("message"), "")
                self._flush()
                source.line("return message, position")
            with source.block("except FAULTS as fault"):
                arguments = f"{self._cls.__name__!r}, {self._version}, data, position, fault"
                source.line(f"raise malformed({arguments}) from fault")
        return source

    def _struct(self, cls: type[Struct], target: str, path: str) -> None:
        """Write the making of a ``cls`` named ``target``, and the reading of it."""
        self._source.line(f"{target} = new({self._source.constant(cls.__name__, cls)})")
        self._fields(cls, target, path)

    def _fields(self, cls: type[Struct], target: str, path: str) -> None:
        """Write the reading of every field of ``cls`` into ``target``, which has none yet."""
        source = self._source
        source.line(f"{target}.unknown_tagged_fields = no_tags")
        wire_fields = []
        for field in cls.fields:
            if self._version in field.versions and self._version not in field.tagged:
                shape = Shape.of(field, self._version, is_flexible=self._is_flexible)
                wire_fields.append((shape, f"{target}.{field.name}", f"{path}{field.name}"))
            else:
                source.line(f"{target}.{field.name} = {self._default(field)}")
        for number, (shape, place, its_path) in enumerate(wire_fields, 1):
            following = [(shape, place) for shape, place, _ in wire_fields[number:]]
            self._value(shape, place, its_path, _run_ahead(shape, following))
        assert not self._ahead, f"unpacked and not read: {self._ahead}"
        if self._is_flexible:
            tagged = [field for field in cls.fields if self._version in field.tagged]
            self._tagged_section(tagged, target, path)

    def _default(self, field: Field) -> str:
        """Return an expression for the default of ``field``."""
        if field.default == ():
            return "[]"
        if field.default is None or isinstance(field.default, bool | int | float | str | bytes):
            return repr(field.default)
        return self._source.constant(f"default_{field.name}", field.default)

    def _value(self, shape: Shape, target: str, path: str, ahead: Run | None = None) -> None:
        if shape.kind.fixed_format:
            self._fixed(shape.kind, target)
        elif isinstance(shape.kind, StructKind):
            self._nested(shape.kind, shape, target, path)
        elif isinstance(shape.kind, ArrayKind):
            self._array(shape, target, path, ahead or [])
        else:
            self._sized(shape, target, path, ahead or [])

    def _fixed(self, kind: Kind, target: str) -> None:
        if kind.name == "uuid":
            raw = self._source.local("raw")
            self._after_run.append(f"{target} = uuid_of({raw})")
            target = raw
        self._add(kind.fixed_format, target)

    def _nested(self, kind: StructKind, shape: Shape, target: str, path: str) -> None:
        source, nested = self._source, self._source.local(snake_case(kind.name))
        if not shape.is_nullable:
            self._struct(kind.struct, nested, f"{path}.")
            source.line(f"{target} = {nested}")
            return
        # The marker is an int8, -1 for null; only in a tagged section it is a varint, 0 for null.
        self._add("B" if shape.is_tagged else "b", "marker")
        self._flush()
        with source.block(f"if marker == {0 if shape.is_tagged else -1}"):
            source.line(f"{target} = None")
        with source.block("elif marker == 1"):
            self._struct(kind.struct, nested, f"{path}.")
            self._flush()
            source.line(f"{target} = {nested}")
        with source.block("else"):
            source.line(f"raise bad_marker({path!r}, marker)")

    def _sized(self, shape: Shape, target: str, path: str, ahead: Run) -> None:
        if ahead:
            self._sized_or_null(shape, target, path, ahead)
            return
        if shape.is_compact:
            self._compact_length(shape)
        else:
            self._classic_length(shape)
        if not shape.is_nullable:
            self._sized_body(shape, target, path)
            return
        with self._source.block(f"if length == {shape.null_prefix}"):
            self._source.line(f"{target} = None")
            if shape.is_compact:
                self._source.line("position += 1")
        with self._source.block("else"):
            self._sized_body(shape, target, path)

    def _sized_or_null(self, shape: Shape, target: str, path: str, ahead: Run) -> None:
        """Write the reading of a value together with what follows it if it is null."""
        back = self._unpack_with(shape, ahead)
        with self._source.block(f"if prefix == {shape.null_prefix}"):
            self._source.line(f"{target} = None")
        with self._source.block("else"):
            self._source.line(f"position -= {back + shape.is_compact}")
            self._source.line("length = prefix")
            if shape.is_compact:
                self._long_length(shape)
            self._sized_body(shape, target, path)
            self._unpack_again(ahead)
        assert not self._ahead, f"unpacked and not read: {self._ahead}"
        self._ahead = ahead

    def _unpack_with(self, shape: Shape, ahead: Run) -> int:
        """Write the unpacking of a prefix and what is ahead; return how far to go back to it."""
        self._add(shape.prefix_format, "prefix")
        self._run += ahead
        self._flush(stay=_stay(ahead))
        return _size(ahead) - _stay(ahead)

    def _unpack_again(self, ahead: Run) -> None:
        self._run += ahead
        self._flush(stay=_stay(ahead))

    def _compact_length(self, shape: Shape) -> None:
        """Write the reading of a length + 1; ``position`` stays at the last byte of it.

        From there on the length + 1 tells where the value ends.
        """
        self._add("B", _LENGTH)
        self._flush(stay=1)
        self._long_length(shape)

    def _long_length(self, shape: Shape) -> None:
        """Write the reading of the rest of a length of more than one byte."""
        source = self._source
        with source.block("if length > 127"):
            if shape.kind.name == "string":
                source.line("length, position = read_string_length(data, position)")
                return
            source.line("following = data[position + 1]")
            with source.block("if 0 < following < 128"):
                source.line("length += (following - 1) << 7")
                source.line("position += 1")
            with source.block("else"):
                source.line("length, position = read_length(data, position)")

    def _classic_length(self, shape: Shape) -> None:
        if shape.kind.name == "string" and not (shape.is_nullable or self._run or self._ahead):
            # Nearly all strings are shorter than 256 bytes: look at the two bytes by themselves.
            unpack = self._source.struct("h", "unpack_from")
            self._source.line("length = data[position + 1]")
            with self._source.block("if data[position]"):
                self._source.line(f"length, = {unpack}(data, position)")
            self._source.line("position += 2")
            return
        self._add(shape.prefix_format, _LENGTH)
        self._flush()

    def _sized_body(self, shape: Shape, target: str, path: str) -> None:
        source, start = self._source, "position + 1" if shape.is_compact else "position"
        source.line("end = position + length")
        if shape.is_compact:
            check = "end > size" if shape.is_nullable else "length == 0 or end > size"
        else:
            check = "not position <= end <= size"
        with source.block(f"if {check}"):
            source.line(f"raise bad_length({path!r}, end - ({start}), size - ({start}))")
        source.line(f"{target} = {self._converted(shape, f'{start}:end')}")
        source.line("position = end")

    def _converted(self, shape: Shape, piece: str) -> str:
        if shape.kind.name == "string":
            return f"data[{piece}].decode()"
        if shape.kind.name == "records":
            return f"view[{piece}] if length > {shape.null_prefix + 1} else no_records"
        return f"bytes(data[{piece}])" if self._is_view else f"data[{piece}]"

    def _array(self, shape: Shape, target: str, path: str, ahead: Run) -> None:
        source, empty, back = self._source, shape.null_prefix + 1, 0
        if ahead:
            back = self._unpack_with(shape, ahead)
        else:
            self._add(shape.prefix_format, "count")
            self._flush()
        count = "prefix" if ahead else "count"
        with source.block(f"if {count} > {empty}"):
            if ahead:
                source.line(f"position -= {back}")
                source.line("count = prefix")
            if shape.is_compact:
                with source.block("if count > 127"):
                    source.line("count, position = read_varint(data, position - 1)")
                source.line("count -= 1")
            self._array_body(shape.element, target, path)
            self._unpack_again(ahead)
        with source.block(f"elif {count} == {empty}"):
            source.line(f"{target} = []")
        if shape.is_nullable:
            with source.block(f"elif {count} == {shape.null_prefix}"):
                source.line(f"{target} = None")
        with source.block("else"):
            claimed = f"{count} - 1" if shape.is_compact else count
            left = f"size - position + {back}" if back else "size - position"
            source.line(f"raise bad_count({path!r}, {claimed}, {left})")
        assert not self._ahead, f"unpacked and not read: {self._ahead}"
        self._ahead = ahead

    def _array_body(self, element: Shape, target: str, path: str) -> None:
        """Write the reading of ``count`` elements, at least one."""
        source, number_format = self._source, element.kind.fixed_format
        if number_format in wire.UNPACK_NUMBERS:
            numbers = wire.UNPACK_NUMBERS[number_format]
            unpack = source.constant(f"unpack_{element.kind.name}s", numbers)
            source.line(f"{target} = list({unpack}[count](data, position))")
            source.line(f"position += {element.smallest_size} * count")
            return
        limits = (
            f"count > {wire.MOST_ELEMENTS} or count * {element.smallest_size} > size - position"
        )
        with source.block(f"if {limits}"):
            source.line(f"raise bad_count({path!r}, count, size - position)")
        items = source.local(path.rpartition(".")[2])
        item = source.local(snake_case(element.kind.name))
        if isinstance(element.kind, StructKind) and self._is_group(element.kind.struct):
            # There are few: to fill one after the other is cheaper than to make all at once.
            source.line(f"{items} = {target} = []")
            with source.block("for _ in repeat(None, count)"):
                self._struct(element.kind.struct, item, f"{path}.")
                self._flush()
                source.line(f"{items}.append({item})")
            return
        if isinstance(element.kind, StructKind):
            struct = source.constant(element.kind.name, element.kind.struct)
            source.line(f"{items} = {target} = list(map(new, repeat({struct}, count)))")
            with source.block(f"for {item} in {items}"):
                self._fields(element.kind.struct, item, f"{path}.")
                self._flush()
            return
        source.line(f"{items} = {target} = []")
        with source.block("for _ in range(count)"):
            self._value(element, item, path)
            self._flush()
            source.line(f"{items}.append({item})")

    def _is_group(self, struct: type[Struct]) -> bool:
        """Return whether each ``struct`` holds structs, as a topic holds partitions."""
        return any(
            isinstance(field.kind, ArrayKind)
            and isinstance(field.kind.of, StructKind)
            and self._version in field.versions
            and self._version not in field.nullable
            for field in struct.fields
        )

    def _tagged_section(self, tagged: list[Field], target: str, path: str) -> None:
        source = self._source
        if not tagged:
            self._add("B", "count")
            self._flush()
            with source.block("if count"):
                source.line(f"position = read_unknown_tags(data, position - 1, {target})")
            return
        count, tag, end, unknown = map(source.local, ("tag_count", "tag", "tag_end", "unknown"))
        self._add("B", count)
        self._flush()
        with source.block(f"if {count}"):
            source.line(f"{count}, position = read_varint(data, position - 1)")
            source.line(f"{tag}, {unknown} = -1, {{}}")
            with source.block(f"for _ in range({count})"):
                source.line(f"{tag}, position, {end} = read_tag(data, position, {tag})")
                for field in tagged:
                    with source.block(f"if {tag} == {field.tag}"):
                        self._tagged_field(field, target, path, tag, end)
                        source.line("continue")
                source.line(f"{unknown}[{tag}] = bytes(data[position:{end}])")
                source.line(f"position = {end}")
            with source.block(f"if {unknown}"):
                source.line(f"{target}.unknown_tagged_fields = {unknown}")

    def _tagged_field(self, field: Field, target: str, path: str, tag: str, end: str) -> None:
        shape = Shape.of(field, self._version, is_flexible=True, is_tagged=True)
        self._value(shape, f"{target}.{field.name}", f"{path}{field.name}")
        self._flush()
        with self._source.block(f"if position != {end}"):
            self._source.line(f"raise bad_tag_size({tag}, position - {end})")

    def _add(self, number_format: str, target: str) -> None:
        """Add a value to the run, unless it was unpacked ahead."""
        if self._ahead:
            assert self._ahead[0] == (number_format, target), f"{target} is not {self._ahead[0]}"
            self._ahead = self._ahead[1:]
        else:
            self._run.append((number_format, target))

    def _flush(self, stay: int = 0) -> None:
        """Write the unpacking of the run that has been collected, and the step after it.

        The step ends ``stay`` bytes before.
        """
        if self._run:
            fixed_format = "".join(item for item, _ in self._run)
            targets = ", ".join(target for _, target in self._run)
            if fixed_format in ("B", "BB"):
                values = ("data[position]", "data[position + 1]")[: len(fixed_format)]
                self._source.line(f"{targets} = {', '.join(values)}")
            else:
                unpack = self._source.struct(fixed_format, "unpack_from")
                self._source.line(
                    f"{targets}{',' * (len(self._run) == 1)} = {unpack}(data, position)"
                )
            if step := calcsize(f">{fixed_format}") - stay:
                self._source.line(f"position += {step}")
        for line in self._after_run:
            self._source.line(line)
        self._run, self._after_run = [], []


def _run_ahead(shape: Shape, rest: list[tuple[Shape, str]]) -> Run:
    """Return what can be unpacked together with the prefix of a value, taking it for null.

    That is never more than there is: a value that is not null only adds bytes.
    """
    ahead: Run = []
    if not _is_often_null(shape):
        return ahead
    for following, target in rest:
        kind = following.kind
        if isinstance(kind, StructKind) or kind.name == "uuid" or _is_often_null(following):
            break
        if not kind.fixed_format:
            name = "count" if isinstance(kind, ArrayKind) else _LENGTH
            ahead.append((following.prefix_format, name))
            break
        ahead.append((kind.fixed_format, target))
    return ahead


def _is_often_null(shape: Shape) -> bool:
    """Return whether a value has a prefix that says null, and hardly ever holds record data."""
    is_prefixed = not (shape.kind.fixed_format or isinstance(shape.kind, StructKind))
    return shape.is_nullable and is_prefixed and shape.kind.name != "records"


def _size(run: Run) -> int:
    return calcsize(">" + "".join(number_format for number_format, _ in run))


def _stay(run: Run) -> int:
    """Return how many bytes before the end of ``run`` to stop: at a compact length's last one."""
    return int(bool(run) and run[-1] == ("B", _LENGTH))
