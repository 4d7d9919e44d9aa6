"""Generate the function that decodes one version of a message.

The source follows the wire from front to back. Values of fixed size that stand side by side,
together with the length prefix that ends such a run, are unpacked by one ``struct.Struct``; structs
and loops are written inline, and objects are filled without ``__init__``, since every field is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import calcsize
from typing import TYPE_CHECKING, Any, TypeAlias

from pyk.protocol.fields import (
    NO_TAGGED_FIELDS,
    ZERO_UUID,
    ArrayKind,
    Field,
    Kind,
    StructKind,
    has_records,
)
from pyk.protocol.names import snake_case

from . import wire
from .source import Source

if TYPE_CHECKING:
    from pyk.protocol.schema import Message, Struct

Decode: TypeAlias = Callable[[bytes | bytearray | memoryview, int], tuple[Any, int]]

_HELPERS = (
    wire.read_varint,
    wire.read_string_varint,
    wire.read_tag,
    wire.uuid_of,
    wire.bad_length,
    wire.bad_count,
    wire.bad_marker,
    wire.bad_tag_size,
    wire.malformed,
)


def compile_decoder(cls: type[Message], version: int) -> Decode:
    """Return ``decode(data, start) -> (message, end)`` for one version."""
    return _write(cls, version).compile("decode", f"pyk decoder of {cls.__name__} v{version}")


def decoder_source(cls: type[Message], version: int) -> str:
    """Return the source of the decoder of one version, for people."""
    return _write(cls, version).text()


def _write(cls: type[Message], version: int) -> Source:
    return _DecoderWriter(
        version, is_flexible=version in cls.flexible, is_view=_keeps_views(cls)
    ).write(cls)


def _keeps_views(cls: type[Message]) -> bool:
    """Say whether the data stays a view: record data is not copied, nor what follows a header."""
    return cls.kind.value == "header" or has_records(cls)


class _DecoderWriter:
    def __init__(self, version: int, *, is_flexible: bool, is_view: bool) -> None:
        self._version = version
        self._is_flexible = is_flexible
        self._is_view = is_view
        self._source = Source(
            reserved=("data", "position", "size", "length", "count", "end", "marker")
        )
        self._run: list[tuple[str, str]] = []  # format and target of each value to unpack together
        self._after_run: list[str] = []  # lines that need those values

    def write(self, cls: type[Message]) -> Source:
        source = self._source
        for helper in _HELPERS:
            source.constant(helper.__name__, helper)
        source.constant("FAULTS", wire.FAULTS)
        source.constant("new", object.__new__)
        with source.block("def decode(data, position)"):
            source.line(f"data = {'memoryview' if self._is_view else 'bytes'}(data)")
            source.line("size = len(data)")
            with source.block("try"):
                self._struct(cls, source.local("message"), "")
                self._flush()
                source.line("return message, position")
            with source.block("except FAULTS as fault"):
                arguments = f"{cls.__name__!r}, {self._version}, data, position, fault"
                source.line(f"raise malformed({arguments}) from fault")
        return source

    def _struct(self, cls: type[Struct], target: str, path: str) -> None:
        """Write the reading of a new ``cls`` into ``target``, every field of it."""
        self._new(cls, target)
        tagged = []
        for field in cls.fields:
            if self._version in field.tagged:
                tagged.append(field)
            if self._version in field.versions and self._version not in field.tagged:
                self._field(field, target, path)
            else:
                self._default(field, f"{target}.{field.name}")
        if self._is_flexible:
            self._tagged_section(tagged, target, path)

    def _new(self, cls: type[Struct], target: str) -> None:
        source = self._source
        source.line(f"{target} = new({source.constant(cls.__name__, cls)})")
        source.line(
            f"{target}.unknown_tagged_fields = {source.constant('no_tags', NO_TAGGED_FIELDS)}"
        )

    def _default(self, field: Field, target: str) -> None:
        source = self._source
        if field.default == ():
            source.line(f"{target} = []")
        elif field.default_struct:
            nested = source.local(field.name)
            self._new(field.default_struct, nested)
            source.line(f"{target} = {nested}")
            for inner in field.default_struct.fields:
                self._default(inner, f"{nested}.{inner.name}")
        elif field.default is ZERO_UUID:
            source.line(f"{target} = {source.constant('zero_uuid', ZERO_UUID)}")
        else:
            source.line(f"{target} = {field.default!r}")

    def _field(self, field: Field, target: str, path: str, *, is_tagged: bool = False) -> None:
        self._value(
            field.kind,
            f"{target}.{field.name}",
            f"{path}{field.name}",
            is_nullable=self._version in field.nullable,
            is_compact=self._is_flexible and not field.always_classic,
            is_tagged=is_tagged,
        )

    def _value(
        self,
        kind: Kind,
        target: str,
        path: str,
        *,
        is_nullable: bool,
        is_compact: bool,
        is_tagged: bool = False,
    ) -> None:
        if kind.fixed_format:
            self._fixed(kind, target)
        elif isinstance(kind, StructKind):
            self._nested(kind, target, path, is_nullable=is_nullable, is_tagged=is_tagged)
        elif isinstance(kind, ArrayKind):
            with self._prefixed(
                "count", "i", target, is_nullable=is_nullable, is_compact=is_compact
            ):
                self._array(kind.of, target, path, is_compact=is_compact)
        else:
            prefix = "h" if kind.name == "string" else "i"
            with self._prefixed(
                "length", prefix, target, is_nullable=is_nullable, is_compact=is_compact
            ):
                self._sized(kind, target, path, is_compact=is_compact)

    def _fixed(self, kind: Kind, target: str) -> None:
        if kind.name == "uuid":
            raw = self._source.local("raw")
            self._after_run.append(f"{target} = uuid_of({raw})")
            target = raw
        self._run.append((kind.fixed_format, target))

    def _nested(
        self, kind: StructKind, target: str, path: str, *, is_nullable: bool, is_tagged: bool
    ) -> None:
        source, nested = self._source, self._source.local(snake_case(kind.name))
        if not is_nullable:
            self._struct(kind.struct, nested, f"{path}.")
            source.line(f"{target} = {nested}")
            return
        # The marker is an int8, -1 for null; only in a tagged section it is a varint, 0 for null.
        self._run.append(("B" if is_tagged else "b", "marker"))
        self._flush()
        with source.block(f"if marker == {0 if is_tagged else -1}"):
            source.line(f"{target} = None")
        with source.block("elif marker == 1"):
            self._struct(kind.struct, nested, f"{path}.")
            self._flush()
            source.line(f"{target} = {nested}")
        with source.block("else"):
            source.line(f"raise bad_marker({path!r}, marker)")

    @contextmanager
    def _prefixed(
        self, name: str, classic_format: str, target: str, *, is_nullable: bool, is_compact: bool
    ) -> Iterator[None]:
        """Write the reading of a length or count; within the ``with`` the value is not null."""
        source = self._source
        self._run.append(("B" if is_compact else classic_format, name))
        self._flush()
        if is_compact:
            with source.block(f"if {name} > 127"):
                reader = "read_string_varint" if classic_format == "h" else "read_varint"
                source.line(f"{name}, position = {reader}(data, position - 1)")
        if not is_nullable:
            yield
            return
        with source.block(f"if {name} == {0 if is_compact else -1}"):
            source.line(f"{target} = None")
        with source.block("else"):
            yield

    def _sized(self, kind: Kind, target: str, path: str, *, is_compact: bool) -> None:
        source = self._source
        source.line(f"end = position + length{' - 1' if is_compact else ''}")
        with source.block("if not position <= end <= size"):
            source.line(f"raise bad_length({path!r}, end - position, size - position)")
        source.line(f"{target} = {self._converted(kind, 'data[position:end]')}")
        source.line("position = end")

    def _converted(self, kind: Kind, piece: str) -> str:
        if kind.name == "string":
            return f'str({piece}, "utf-8")' if self._is_view else f"{piece}.decode()"
        return f"bytes({piece})" if kind.name == "bytes" and self._is_view else piece

    def _array(self, of: Kind, target: str, path: str, *, is_compact: bool) -> None:
        source = self._source
        if is_compact:
            source.line("count -= 1")
        smallest = self._smallest(of, is_compact=is_compact)
        with source.block(
            f"if not 0 <= count <= {wire.MOST_ELEMENTS} or count * {smallest} > size - position"
        ):
            source.line(f"raise bad_count({path!r}, count, size - position)")
        if of.fixed_format in wire.NUMBER_ARRAYS:
            arrays = source.constant(f"{of.name}_arrays", wire.NUMBER_ARRAYS[of.fixed_format])
            source.line(f"{target} = list({arrays}[count].unpack_from(data, position))")
            source.line(f"position += {smallest} * count")
            return
        items, item = source.local(path.rpartition(".")[2]), source.local(snake_case(of.name))
        source.line(f"{items} = {target} = []")
        with source.block("for _ in range(count)"):
            if isinstance(of, StructKind):
                self._struct(of.struct, item, f"{path}.")
            else:
                self._value(of, item, path, is_nullable=False, is_compact=is_compact)
            self._flush()
            source.line(f"{items}.append({item})")

    def _tagged_section(self, tagged: list[Field], target: str, path: str) -> None:
        source = self._source
        count = source.local("tag_count")
        self._run.append(("B", count))
        self._flush()
        with source.block(f"if {count}"):
            tag, end, unknown = (
                source.local("tag"),
                source.local("tag_end"),
                source.local("unknown"),
            )
            with source.block(f"if {count} > 127"):
                source.line(f"{count}, position = read_varint(data, position - 1)")
            source.line(f"{tag}, {unknown} = -1, {{}}")
            with source.block(f"for _ in range({count})"):
                source.line(f"{tag}, position, {end} = read_tag(data, position, {tag})")
                for field in tagged:
                    with source.block(f"if {tag} == {field.tag}"):
                        self._field(field, target, path, is_tagged=True)
                        self._flush()
                        with source.block(f"if position != {end}"):
                            source.line(f"raise bad_tag_size({tag}, position - {end})")
                        source.line("continue")
                source.line(f"{unknown}[{tag}] = bytes(data[position:{end}])")
                source.line(f"position = {end}")
            with source.block(f"if {unknown}"):
                source.line(f"{target}.unknown_tagged_fields = {unknown}")

    def _flush(self) -> None:
        """Write the unpacking of the run that has been collected."""
        if self._run:
            fixed_format = "".join(item for item, _ in self._run)
            targets = ", ".join(target for _, target in self._run)
            if fixed_format == "B":
                self._source.line(f"{targets} = data[position]")
            else:
                unpack = self._source.struct(fixed_format, "unpack_from")
                self._source.line(
                    f"{targets}{',' * (len(self._run) == 1)} = {unpack}(data, position)"
                )
            self._source.line(f"position += {calcsize('>' + fixed_format)}")
        for line in self._after_run:
            self._source.line(line)
        self._run, self._after_run = [], []

    def _smallest(self, kind: Kind, *, is_compact: bool) -> int:
        """Return the fewest bytes that a value can take, at least 1."""
        if kind.fixed_format:
            return calcsize(f">{kind.fixed_format}")
        if not isinstance(kind, StructKind):
            return 1 if is_compact else 2 if kind.name == "string" else 4
        size = int(self._is_flexible)
        for field in kind.struct.fields:
            if self._version in field.versions and self._version not in field.tagged:
                is_marked = isinstance(field.kind, StructKind) and self._version in field.nullable
                size += 1 if is_marked else self._smallest(field.kind, is_compact=is_compact)
        return max(size, 1)
