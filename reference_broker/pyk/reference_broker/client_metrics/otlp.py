"""Metrics in the form of OpenTelemetry, ``MetricsData`` in protobuf, as clients push them. Pure.

Only what clients of Kafka send is read: sums and gauges. Other kinds are shown without a value.
The bytes are a client's, so every length is checked, and the count of fields is bounded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pyk.runtime import slotted

MAX_FIELDS = 1_000_000
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_KINDS = {5: "gauge", 7: "sum", 9: "histogram", 10: "exponential histogram", 11: "summary"}
_DELTA = 1
_ATTRIBUTES_OF_NUMBER, _ATTRIBUTES_OF_HISTOGRAM = 7, 9

AttributeValue = str | bool | int | float | bytes | None


class InvalidMetricsError(ValueError):
    """Bytes that are no ``MetricsData`` of OpenTelemetry."""


@slotted.frozen(kw_only=True)
class Metric:
    """One value of one metric."""

    name: str
    kind: str
    """``sum`` or ``gauge``; other kinds of OpenTelemetry have no ``value`` here."""
    value: int | float | None
    attributes: Mapping[str, AttributeValue]
    is_delta: bool = False
    """Whether ``value`` is what a sum has grown by since the last push."""
    unit: str = ""


class _Field(NamedTuple):
    number: int
    kind: int
    value: int | memoryview

    def nested(self) -> memoryview:
        if not isinstance(self.value, memoryview) or self.kind != _BYTES:
            raise InvalidMetricsError(f"field {self.number} is not a message or text")
        return self.value

    def text(self) -> str:
        try:
            return str(self.nested(), "utf-8")
        except UnicodeDecodeError:
            raise InvalidMetricsError(f"field {self.number} is not UTF-8") from None


def decode_metrics(data: bytes | memoryview) -> tuple[Metric, ...]:
    """Return the metrics of a push, decompressed; raise :class:`InvalidMetricsError`."""
    fields = _Reader()
    return tuple(
        metric
        for resource in fields.messages(memoryview(data), 1)
        for scope in fields.messages(resource, 2)
        for each in fields.messages(scope, 2)
        for metric in _metrics(fields, each)
    )


class _Reader:
    """Reads fields of messages, and counts them."""

    def __init__(self) -> None:
        self._left = MAX_FIELDS

    def messages(self, data: memoryview, number: int) -> Iterator[memoryview]:
        return (field.nested() for field in self.fields(data) if field.number == number)

    def fields(self, data: memoryview) -> Iterator[_Field]:
        at = 0
        while at < len(data):
            self._left -= 1
            if self._left < 0:
                raise InvalidMetricsError(f"more than {MAX_FIELDS} fields")
            tag, at = _varint(data, at)
            kind = tag & 7
            if kind == _VARINT:
                value, at = _varint(data, at)
                yield _Field(tag >> 3, kind, value)
                continue
            size, at = _size(data, at, kind)
            if size > len(data) - at:
                raise InvalidMetricsError("a field is cut off")
            yield _Field(tag >> 3, kind, data[at : at + size])
            at += size


def _size(data: memoryview, at: int, kind: int) -> tuple[int, int]:
    if kind == _BYTES:
        return _varint(data, at)
    if kind in (_FIXED64, _FIXED32):
        return 8 if kind == _FIXED64 else 4, at
    raise InvalidMetricsError(f"unknown wire type {kind}")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise InvalidMetricsError("a number is cut off or too long")


def _metrics(fields: _Reader, data: memoryview) -> Iterator[Metric]:
    name, unit, kind, points = "", "", "", memoryview(b"")
    for field in fields.fields(data):
        if field.number == 1:
            name = field.text()
        elif field.number == 3:
            unit = field.text()
        elif field.number in _KINDS:
            kind, points = _KINDS[field.number], field.nested()
    found, is_delta = [], False
    for field in fields.fields(points):
        if field.number == 1:
            found.append(_point(fields, field.nested(), kind))
        elif field.number == 2 and kind == "sum":
            is_delta = field.value == _DELTA
    for value, attributes in found:
        yield Metric(
            name=name, kind=kind, value=value, attributes=attributes, is_delta=is_delta, unit=unit
        )


def _point(
    fields: _Reader, data: memoryview, kind: str
) -> tuple[int | float | None, dict[str, AttributeValue]]:
    value: int | float | None = None
    attributes: dict[str, AttributeValue] = {}
    is_number = kind in ("gauge", "sum")
    at = _ATTRIBUTES_OF_HISTOGRAM if kind == "histogram" else _ATTRIBUTES_OF_NUMBER
    for field in fields.fields(data):
        if field.number == at:
            key, of_key = _attribute(fields, field.nested())
            attributes[key] = of_key
        elif is_number and field.kind == _FIXED64 and field.number in (4, 6):
            layout = "<d" if field.number == 4 else "<q"
            (value,) = struct.unpack(layout, field.value)  # type: ignore[arg-type]
    return value, attributes


def _attribute(fields: _Reader, data: memoryview) -> tuple[str, AttributeValue]:
    key, value = "", None
    for field in fields.fields(data):
        if field.number == 1:
            key = field.text()
        elif field.number == 2:
            for inner in fields.fields(field.nested()):
                value = _attribute_value(inner)
    return key, value


def _attribute_value(field: _Field) -> AttributeValue:
    """Return a simple value; lists and maps, which clients of Kafka do not send, are None."""
    if field.number == 1:
        return field.text()
    if field.number == 2:
        return bool(field.value)
    if field.number == 3 and isinstance(field.value, int):
        return field.value - (1 << 64) if field.value >= 1 << 63 else field.value
    if field.number == 4 and field.kind == _FIXED64:
        (number,) = struct.unpack("<d", field.value)  # type: ignore[arg-type]
        return float(number)
    return bytes(field.nested()) if field.number == 7 else None
