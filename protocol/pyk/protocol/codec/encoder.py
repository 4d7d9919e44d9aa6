"""Generate the function that encodes one version of a message.

It checks nothing but what cannot show up by itself: values that this version has no room for, and
lengths of the compact encoding. Everything else that does not fit makes Python or ``struct`` raise,
and only then :mod:`.encode_errors` looks for the field to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import pack
from typing import Any, TypeAlias

from pyk.protocol.errors import EncodeError
from pyk.protocol.fields import ArrayKind, Field, StructKind, has_records
from pyk.protocol.names import snake_case
from pyk.protocol.structs import Struct, VersionedStruct

from . import wire
from .encode_errors import FAULTS, explain
from .shape import Shape
from .source import Source

Encode: TypeAlias = Callable[[Any, bytearray], list[Any]]

_HELPERS = (wire.varint, wire.string_varint, wire.write_tags, wire.record_data_size, explain)


def compile_encoder(cls: type[VersionedStruct], version: int) -> Encode:
    """Return ``encode(message, out) -> parts`` for one version."""
    return _write(cls, version).compile("encode", f"pyk encoder of {cls.__name__} v{version}")


def encoder_source(cls: type[VersionedStruct], version: int) -> str:
    """Return the source of the encoder of one version, for people."""
    return _write(cls, version).text()


def _write(cls: type[VersionedStruct], version: int) -> Source:
    return _EncoderWriter(cls, version).write()


class _EncoderWriter:
    def __init__(self, cls: type[VersionedStruct], version: int) -> None:
        self._cls = cls
        self._version = version
        self._is_flexible = version in cls.flexible
        self._source = Source(reserved=("out", "parts", "raw", "length"))
        self._run: list[tuple[str, str]] = []  # format and expression of values to pack together

    def write(self) -> Source:
        source = self._source
        for helper in _HELPERS:
            source.constant(helper.__name__, helper)
        source.constant("EncodeError", EncodeError)
        source.constant("FAULTS", FAULTS)
        with source.block(f"def encode({source.local('message')}, out)"):
            source.line("parts = [out]")
            with source.block("try"):
                self._struct(self._cls, "message", "")
                self._flush()
            with source.block("except EncodeError"):
                source.line("raise")
            with source.block("except FAULTS as fault"):
                source.line(f"raise explain(message, {self._version}, fault) from fault")
            if has_records(self._cls):
                with source.block("if not out"):
                    source.line("parts.pop()")
            source.line("return parts")
        return source

    def _struct(self, cls: type[Struct], value: str, path: str) -> None:
        source = self._source
        tagged = []
        for field in cls.fields:
            if self._version not in field.versions:
                self._refuse_unless_ignorable(field, f"{value}.{field.name}", path)
            elif self._version in field.tagged:
                tagged.append(field)
            else:
                shape = Shape.of(field, self._version, is_flexible=self._is_flexible)
                self._value(shape, f"{value}.{field.name}")
        if self._is_flexible:
            self._tagged_section(tagged, value)
            return
        with source.block(f"if {value}.unknown_tagged_fields"):
            self._refuse(f"{path}unknown_tagged_fields")

    def _refuse_unless_ignorable(self, field: Field, value: str, path: str) -> None:
        if not field.ignorable:
            with self._source.block(f"if {self._differs_from_default(field, value)}"):
                self._refuse(f"{path}{field.name}")

    def _refuse(self, path: str) -> None:
        words = f"{self._cls.__name__} v{self._version}: {path} is set, but this version lacks it"
        self._source.line(f"raise EncodeError({words!r})")

    def _differs_from_default(self, field: Field, value: str) -> str:
        """Return an expression that is true if ``value`` is not the default of ``field``."""
        if field.default == ():
            return f"{value} is None or {value}"
        if field.default is None:
            return f"{value} is not None"
        if field.kind.name == "uuid":
            return f"{value}.int"
        if isinstance(field.kind, StructKind):
            default = self._source.constant(f"default_{field.name}", field.default)
            return f"{value} is not {default} and {value} != {default}"
        return f"{value} != {field.default!r}"

    def _value(self, shape: Shape, value: str) -> None:
        if shape.kind.fixed_format:
            expression = f"{value}.bytes" if shape.kind.name == "uuid" else value
            self._run.append((shape.kind.fixed_format, expression))
        elif isinstance(shape.kind, StructKind):
            self._nested(shape.kind, shape, value)
        elif isinstance(shape.kind, ArrayKind):
            self._array(shape, value)
        elif shape.kind.name == "records":
            self._records(shape, value)
        else:
            self._sized(shape, value)

    def _nested(self, kind: StructKind, shape: Shape, value: str) -> None:
        source, nested = self._source, self._source.local(snake_case(kind.name))
        source.line(f"{nested} = {value}")
        if not shape.is_nullable:
            self._struct(kind.struct, nested, f"{kind.name}.")
            return
        # The marker is an int8, -1 for null; only in a tagged section it is a varint, 0 for null.
        self._flush()
        with source.block(f"if {nested} is None"):
            source.line(f"out.append({0 if shape.is_tagged else 255})")
        with source.block("else"):
            source.line("out.append(1)")
            self._struct(kind.struct, nested, f"{kind.name}.")
            self._flush()

    @contextmanager
    def _unless_null(self, shape: Shape, value: str) -> Iterator[None]:
        """Write the null of a nullable value; within the ``with`` the value is not null."""
        if not shape.is_nullable:
            yield
            return
        self._flush()
        null = pack(f">{shape.prefix_format}", shape.null_prefix)
        with self._source.block(f"if {value} is None"):
            self._source.line(f"out += {null!r}")
        with self._source.block("else"):
            yield

    def _prefix(self, shape: Shape, length: str) -> None:
        """Write a length or count, and all that waits before it."""
        if not shape.is_compact:
            self._run.append((shape.prefix_format, length))
            self._flush()
            return
        source = self._source
        self._flush()
        source.line(f"length = {length} + 1")
        with source.block("if length < 128"):
            source.line("out.append(length)")
        with source.block("else"):
            varint = "string_varint" if shape.kind.name == "string" else "varint"
            source.line(f"out += {varint}(length)")

    def _sized(self, shape: Shape, value: str) -> None:
        source = self._source
        source.line(f"raw = {value}")
        with self._unless_null(shape, "raw"):
            if shape.kind.name == "string":
                source.line("raw = raw.encode()")
            self._prefix(shape, "len(raw)")
            source.line("out += raw")

    def _records(self, shape: Shape, value: str) -> None:
        source, data = self._source, self._source.local("record_data")
        source.line(f"{data} = {value}")
        with self._unless_null(shape, data):
            self._prefix(shape, f"record_data_size({data})")
            source.line(f"parts.extend({data} if isinstance({data}, list) else ({data},))")
            source.line("out = bytearray()")
            source.line("parts.append(out)")

    def _array(self, shape: Shape, value: str) -> None:
        source, element = self._source, shape.element
        items = source.local(value.rpartition(".")[2])
        source.line(f"{items} = {value}")
        with self._unless_null(shape, items):
            self._prefix(shape, f"len({items})")
            numbers = wire.PACK_NUMBERS.get(element.kind.fixed_format)
            if numbers is not None:
                pack_numbers = source.constant(f"pack_{element.kind.name}s", numbers)
                source.line(f"out += {pack_numbers}[len({items})](*{items})")
                return
            item = source.local(snake_case(element.kind.name))
            with source.block(f"for {item} in {items}"):
                if isinstance(element.kind, StructKind):
                    self._struct(element.kind.struct, item, f"{element.kind.name}.")
                else:
                    self._value(element, item)
                self._flush()

    def _tagged_section(self, tagged: list[Field], struct: str) -> None:
        self._flush()
        source, unknown = self._source, f"{struct}.unknown_tagged_fields"
        tags = self._known_tags(tagged, struct) if tagged else "{}"
        with source.block(f"if {tags} or {unknown}" if tagged else f"if {unknown}"):
            source.line(f"write_tags(out, {tags}, {unknown})")
        with source.block("else"):
            source.line("out.append(0)")

    def _known_tags(self, tagged: list[Field], struct: str) -> str:
        """Write the collecting of tagged fields not at their default; return its variable."""
        source = self._source
        tags, outer = source.local("tags"), source.local("outer")
        source.line(f"{tags} = {{}}")
        for field in tagged:
            with source.block(f"if {self._differs_from_default(field, f'{struct}.{field.name}')}"):
                source.line(f"{outer}, out = out, bytearray()")
                shape = Shape.of(field, self._version, is_flexible=True, is_tagged=True)
                self._value(shape, f"{struct}.{field.name}")
                self._flush()
                source.line(f"{tags}[{field.tag}], out = out, {outer}")
        return tags

    def _flush(self) -> None:
        """Write the packing of the run that has been collected."""
        if self._run:
            pack = self._source.struct("".join(item for item, _ in self._run), "pack")
            self._source.line(f"out += {pack}({', '.join(value for _, value in self._run)})")
        self._run = []
