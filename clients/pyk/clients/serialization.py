"""Serializers and deserializers like those of Apache Kafka, and for JSON.

Give them to clients as ``key_serializer``, ``value_serializer``, ``key_deserializer`` and
``value_deserializer``. They are not called for None, which is null in Kafka.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from pyk.clients.payload import Deserializer, Serializer

__all__ = [
    "Deserializer",
    "DoubleDeserializer",
    "DoubleSerializer",
    "IntegerDeserializer",
    "IntegerSerializer",
    "JsonDeserializer",
    "JsonSerializer",
    "LongDeserializer",
    "LongSerializer",
    "Serializer",
    "StringDeserializer",
    "StringSerializer",
]


class StringSerializer:
    """Encode ``str``, as UTF-8 unless another encoding is given."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, data: str) -> bytes:
        """Return the encoded text; raise ``TypeError`` if it is not a ``str``."""
        if not isinstance(data, str):
            raise TypeError(f"StringSerializer takes str, not {_type_name(data)}")
        return data.encode(self.encoding)


class StringDeserializer:
    """Decode to ``str``, from UTF-8 unless another encoding is given."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def deserialize(self, topic: str, data: bytes) -> str:
        """Return the decoded text; raise ``UnicodeDecodeError`` if the bytes are not in that
        encoding."""
        return data.decode(self.encoding)


class JsonSerializer:
    """Encode as JSON in UTF-8, with no white space.

    ``default`` is the function that :func:`json.dumps` calls for objects that JSON does not know:
    ``str`` for dates and UUIDs, :func:`attrs.asdict` or :func:`dataclasses.asdict` for your own
    classes.
    """

    def __init__(self, default: Callable[[Any], Any] | None = None) -> None:
        self._encode = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default
        ).encode

    def serialize(self, topic: str, data: Any) -> bytes:
        """Return the JSON; raise ``TypeError`` or ``ValueError`` if JSON cannot represent it."""
        return self._encode(data).encode()


class JsonDeserializer:
    """Decode JSON to ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and None."""

    def deserialize(self, topic: str, data: bytes) -> Any:
        """Return the decoded value; raise ``ValueError`` if the bytes are not JSON."""
        return json.loads(data)


class _NumberSerializer:
    """Encode a number in the big-endian form of Java."""

    _form: struct.Struct
    _kind: type

    def serialize(self, topic: str, data: Any) -> bytes:
        """Return the bytes; raise ``TypeError`` or ``ValueError`` if the number does not fit."""
        if isinstance(data, bool) or not isinstance(data, (int, self._kind)):
            raise TypeError(
                f"{type(self).__name__} takes {self._kind.__name__}, not {_type_name(data)}"
            )
        try:
            return self._form.pack(data)
        except struct.error as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None


class _NumberDeserializer:
    """Decode a number from the big-endian form of Java."""

    _form: struct.Struct

    def _number(self, data: bytes) -> Any:
        if len(data) != self._form.size:
            raise ValueError(
                f"{type(self).__name__} takes {self._form.size} bytes, not {len(data)}"
            )
        return self._form.unpack(data)[0]


class IntegerSerializer(_NumberSerializer):
    """Encode ``int`` as Java's ``int``: 4 bytes, big-endian."""

    _form = struct.Struct(">i")
    _kind = int


class IntegerDeserializer(_NumberDeserializer):
    """Decode Java's ``int``: 4 bytes, big-endian."""

    _form = struct.Struct(">i")

    def deserialize(self, topic: str, data: bytes) -> int:
        """Return the number; raise ``ValueError`` if the bytes are not 4."""
        number: int = self._number(data)
        return number


class LongSerializer(_NumberSerializer):
    """Encode ``int`` as Java's ``long``: 8 bytes, big-endian."""

    _form = struct.Struct(">q")
    _kind = int


class LongDeserializer(_NumberDeserializer):
    """Decode Java's ``long``: 8 bytes, big-endian."""

    _form = struct.Struct(">q")

    def deserialize(self, topic: str, data: bytes) -> int:
        """Return the number; raise ``ValueError`` if the bytes are not 8."""
        number: int = self._number(data)
        return number


class DoubleSerializer(_NumberSerializer):
    """Encode ``float`` as Java's ``double``: 8 bytes, IEEE 754, big-endian."""

    _form = struct.Struct(">d")
    _kind = float


class DoubleDeserializer(_NumberDeserializer):
    """Decode Java's ``double``: 8 bytes, IEEE 754, big-endian."""

    _form = struct.Struct(">d")

    def deserialize(self, topic: str, data: bytes) -> float:
        """Return the number; raise ``ValueError`` if the bytes are not 8."""
        number: float = self._number(data)
        return number


def _type_name(data: object) -> str:
    return type(data).__name__
