"""Message classes: one class per struct of Kafka's protocol, for all its versions.

A class lists its fields in wire order, each with an option from :mod:`.fields`; a decorator says
what kind of message it is and which versions it has. Codecs are generated when first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from . import codec
from .api_keys import ApiKey
from .errors import MalformedMessageError, UnsupportedVersionError
from .field import ZERO_UUID, RecordData
from .fields import (
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    nested,
    records,
    string,
    uint16,
    uint32,
    uuid,
)
from .structs import MessageKind, Struct, VersionedStruct, struct
from .versions import VersionRange

__all__ = [
    "ZERO_UUID",
    "ApiKey",
    "Message",
    "MessageKind",
    "RecordData",
    "Struct",
    "array",
    "binary",
    "boolean",
    "coordinator_key",
    "coordinator_value",
    "data",
    "float64",
    "header",
    "int8",
    "int16",
    "int32",
    "int64",
    "metadata_record",
    "nested",
    "records",
    "request",
    "response",
    "string",
    "struct",
    "uint16",
    "uint32",
    "uuid",
]

M = TypeVar("M", bound="Message")


@struct
class Message(VersionedStruct):
    """A request, response, header or persisted record; see the decorators below for its facts."""

    _encoders: ClassVar[dict[int, codec.Encode]]
    _decoders: ClassVar[dict[int, codec.Decode]]

    @classmethod
    def decoder(cls, version: int) -> codec.Decode:
        """Return the function ``decode(data, start) -> (message, end)`` of a version.

        It raises as :meth:`decode`, except that it accepts bytes after the message.
        """
        return cls._decoders.get(version) or cls._compile_decoder(version)

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview, version: int, start: int = 0) -> Self:
        """Return the message that ``data`` holds from ``start`` on, all of it.

        Record data becomes memoryviews of ``data``, without a copy. Raises MalformedMessageError
        for bytes that are not such a message, UnsupportedVersionError for an unknown version.
        """
        message: Self
        message, end = cls.decoder(version)(data, start)
        if end != len(data):
            raise MalformedMessageError(
                f"{cls.__name__} v{version} ends at byte {end}, but {len(data) - end} bytes follow"
            )
        return message

    @classmethod
    def decode_prefix(
        cls, data: bytes | bytearray | memoryview, version: int, start: int = 0
    ) -> tuple[Self, int]:
        """Return the message that begins at ``start``, and where it ends; raise as ``decode``."""
        return cls.decoder(version)(data, start)

    def encode(self, version: int) -> bytes:
        """Return the bytes of this message; raise as :meth:`encode_parts`."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int, out: bytearray | None = None) -> list[Any]:
        """Return the message as pieces to send one after the other, record data as it was given.

        The first piece is ``out``, which may hold a header, grown by what precedes any record data.
        Raises EncodeError for a value that this version cannot carry.
        """
        encode = self._encoders.get(version) or self._compile_encoder(version)
        return encode(self, bytearray() if out is None else out)

    @classmethod
    def from_json(cls, value: Mapping[str, Any], version: int) -> Self:
        """Return the message that ``value`` describes, in the JSON form of Kafka's own tools."""
        from . import json_form

        return json_form.from_json(cls, value, cls._checked(version))

    def to_json(self, version: int) -> dict[str, Any]:
        """Return the fields of ``version`` under Kafka's names: bytes as hex text, uuids dashed."""
        from . import json_form

        return json_form.to_json(self, self._checked(version))

    @classmethod
    def _compile_decoder(cls, version: int) -> codec.Decode:
        decode = cls._decoders[version] = codec.compile_decoder(cls, cls._checked(version))
        return decode

    @classmethod
    def _compile_encoder(cls, version: int) -> codec.Encode:
        encode = cls._encoders[version] = codec.compile_encoder(cls, cls._checked(version))
        return encode

    @classmethod
    def _checked(cls, version: int) -> int:
        if version not in cls.versions:
            raise UnsupportedVersionError(
                f"{cls.__name__} has versions {cls.versions}, not {version}"
            )
        return version


def _message(
    kind: MessageKind, api_key: int, versions: str, flexible: str
) -> Callable[[type[M]], type[M]]:
    def decorate(cls: type[M]) -> type[M]:
        built = struct(cls)
        built.kind = kind
        built.api_key = api_key
        built.versions = VersionRange.parse(versions)
        built.flexible = VersionRange.parse(flexible)
        built._encoders = {}
        built._decoders = {}
        return built

    return decorate


@dataclass_transform(kw_only_default=True)
def request(api_key: ApiKey, *, versions: str, flexible: str) -> Callable[[type[M]], type[M]]:
    """Declare the request of an API."""
    return _message(MessageKind.REQUEST, api_key, versions, flexible)


@dataclass_transform(kw_only_default=True)
def response(api_key: ApiKey, *, versions: str, flexible: str) -> Callable[[type[M]], type[M]]:
    """Declare the response of an API."""
    return _message(MessageKind.RESPONSE, api_key, versions, flexible)


@dataclass_transform(kw_only_default=True)
def header(*, versions: str, flexible: str) -> Callable[[type[M]], type[M]]:
    """Declare the header of requests or of responses."""
    return _message(MessageKind.HEADER, -1, versions, flexible)


@dataclass_transform(kw_only_default=True)
def data(*, versions: str, flexible: str = "none") -> Callable[[type[M]], type[M]]:
    """Declare a format that travels inside a bytes field or lies in a file."""
    return _message(MessageKind.DATA, -1, versions, flexible)


@dataclass_transform(kw_only_default=True)
def coordinator_key(record_type: int) -> Callable[[type[M]], type[M]]:
    """Declare the key of a record in an internal topic; keys have one version, 0."""
    return _message(MessageKind.COORDINATOR_KEY, record_type, "0", "none")


@dataclass_transform(kw_only_default=True)
def coordinator_value(
    record_type: int, *, versions: str, flexible: str
) -> Callable[[type[M]], type[M]]:
    """Declare the value of a record in an internal topic."""
    return _message(MessageKind.COORDINATOR_VALUE, record_type, versions, flexible)


@dataclass_transform(kw_only_default=True)
def metadata_record(
    record_type: int, *, versions: str, flexible: str
) -> Callable[[type[M]], type[M]]:
    """Declare a record of the cluster metadata log."""
    return _message(MessageKind.METADATA, record_type, versions, flexible)
