"""Decode the frames of one connection into requests and responses.

A response names its request only by the correlation id, so the API and version of each request are
remembered. If the capture lacks the request, its response cannot be decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import islice
from struct import Struct

from pyk.command_line.wire.frames import SIZE, FrameReader, NoFrameError
from pyk.protocol import ApiKey, Message, ProtocolError, request_class, response_class
from pyk.protocol.messages.headers import RequestHeader, ResponseHeader
from pyk.protocol.negotiation import request_header_version, response_header_version
from pyk.runtime import slotted

MOST_IN_FLIGHT = 1000  # requests remembered, the oldest forgotten first
MOST_UNANSWERED = 10  # requests without a response that are named at the end

_TLS_RECORD_TYPES = range(20, 24)
_REQUEST_START = Struct(">ihh")  # length, API key, version
_LEAST_REQUEST_BYTES = 8
_UNSUPPORTED_VERSION = b"\x00\x23"


class Direction(Enum):
    """The direction of a message: from the client, or from the broker."""

    REQUEST = "request"
    RESPONSE = "response"


@slotted.frozen(kw_only=True)
class WireMessage:
    """A request or response as it went over the wire."""

    direction: Direction
    size: int
    """Bytes of the frame, without its length."""
    api_key: ApiKey | None = None
    version: int | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    body: Message | None = None
    body_version: int = 0
    """Differs from ``version`` where a broker refuses an ApiVersions request (KIP-511)."""
    problem: str | None = None
    """Why there is no body, or what is unusual about it."""
    waited_ns: int | None = None
    """From the request to this response."""


class Note(str):
    """A sentence about the connection."""

    __slots__ = ()


@slotted.frozen
class _InFlightRequest:
    api_key: ApiKey
    version: int
    client_id: str | None
    time_ns: int


class Conversation:
    """The requests and responses of one connection."""

    def __init__(self, *, max_frame_bytes: int, from_start: bool) -> None:
        self._in_flight: dict[int, _InFlightRequest] = {}
        self._is_encrypted = False
        self._raw_tokens = False
        self._readers = {
            direction: FrameReader(looks_like, max_frame_bytes=max_frame_bytes, in_step=from_start)
            for direction, looks_like in (
                (Direction.REQUEST, looks_like_request),
                (Direction.RESPONSE, self._looks_like_response),
            )
        }

    @property
    def unanswered(self) -> Note | None:
        """The requests without a response, as a note."""
        if not self._in_flight:
            return None
        oldest = islice(self._in_flight.items(), MOST_UNANSWERED)
        names = [f"{asked.api_key.api_name} {number}" for number, asked in oldest]
        if (rest := len(self._in_flight) - len(names)) > 0:
            names.append(f"{rest} more")
        return Note(f"not answered in the capture: {', '.join(names)}")

    @property
    def waiting_bytes(self) -> int:
        return sum(reader.waiting_bytes for reader in self._readers.values())

    def receive(
        self, direction: Direction, data: bytes, time_ns: int
    ) -> Iterator[WireMessage | Note]:
        """Yield the messages that the bytes complete."""
        if self._is_encrypted:
            return
        reader = self._readers[direction]
        if reader.waiting_bytes == 0 and looks_like_tls(data):
            self._is_encrypted = True
            yield Note("the connection is encrypted (TLS): capture on a plaintext listener")
            return
        try:
            for frame in reader.feed(data):
                yield self._message(direction, frame, time_ns)
        except NoFrameError as error:
            yield Note(f"not the Kafka protocol: {error}; searching the next {direction.value}")

    def lose(self, direction: Direction, size: int) -> Note:
        """Drop the unfinished frame, since ``size`` bytes are not in the capture."""
        self._readers[direction].lose()
        return Note(f"{size} bytes of {direction.value}s are not in the capture")

    def _message(self, direction: Direction, frame: bytes, time_ns: int) -> WireMessage:
        if direction is Direction.RESPONSE:
            return self._response(frame, time_ns)
        if self._raw_tokens and not looks_like_request(SIZE.pack(len(frame)) + frame):
            return _sasl_token(direction, frame)
        message = decode_request(frame)
        if message.api_key is None or message.version is None or message.correlation_id is None:
            return message
        self._raw_tokens = message.api_key is ApiKey.SASL_HANDSHAKE and message.version == 0
        if getattr(message.body, "acks", None) != 0:  # a Produce with acks 0 is never answered
            if len(self._in_flight) >= MOST_IN_FLIGHT:
                del self._in_flight[next(iter(self._in_flight))]
            self._in_flight[message.correlation_id] = _InFlightRequest(
                message.api_key, message.version, message.client_id, time_ns
            )
        return message

    def _response(self, frame: bytes, time_ns: int) -> WireMessage:
        number = _int32(frame)
        asked = None if number is None else self._in_flight.pop(number, None)
        if asked is not None:
            message = decode_response(frame, asked.api_key, asked.version)
            waited_ns = time_ns - asked.time_ns
            return slotted.evolve(message, client_id=asked.client_id, waited_ns=waited_ns)
        if self._raw_tokens:
            return _sasl_token(Direction.RESPONSE, frame)
        return WireMessage(
            direction=Direction.RESPONSE,
            size=len(frame),
            correlation_id=number,
            problem="its request is not in the capture, so its API and version are unknown",
        )

    def _looks_like_response(self, data: bytes) -> bool:
        number = _int32(data, SIZE.size)
        if number is None:
            return False
        return number in self._in_flight or _int32(data) == len(data) - SIZE.size


def decode_request(frame: bytes) -> WireMessage:
    """Return the request in a frame, whose header has its API and version."""
    message = WireMessage(direction=Direction.REQUEST, size=len(frame))
    try:
        header, position = RequestHeader.decode_prefix(frame, 0)
        api_key, version = _api_key(header.request_api_key), header.request_api_version
        message = slotted.evolve(message, version=version, correlation_id=header.correlation_id)
        if api_key is None:
            problem = f"unknown API key {header.request_api_key}"
            return slotted.evolve(message, problem=problem)
        message = slotted.evolve(message, api_key=api_key)
        header_version = request_header_version(api_key, version)
        header, position = RequestHeader.decode_prefix(frame, header_version)
        message = slotted.evolve(message, client_id=header.client_id)
        return _with_body(message, request_class(api_key), version, frame, position)
    except ProtocolError as error:
        return slotted.evolve(message, problem=str(error))


def decode_response(frame: bytes, api_key: ApiKey, version: int) -> WireMessage:
    """Return the response in a frame, given the API and version of its request."""
    message = WireMessage(
        direction=Direction.RESPONSE, size=len(frame), api_key=api_key, version=version
    )
    try:
        header_version = response_header_version(api_key, version)
        header, position = ResponseHeader.decode_prefix(frame, header_version)
        message = slotted.evolve(message, correlation_id=header.correlation_id)
        is_refusal = frame[position : position + 2] == _UNSUPPORTED_VERSION
        if api_key is ApiKey.API_VERSIONS and is_refusal:
            version = 0
        return _with_body(message, response_class(api_key), version, frame, position)
    except ProtocolError as error:
        return slotted.evolve(message, problem=str(error))


def looks_like_request(data: bytes) -> bool:
    """Return whether a request may begin with the first byte of ``data``."""
    if len(data) < _REQUEST_START.size:
        return False
    size, number, version = _REQUEST_START.unpack_from(data)
    api_key = _api_key(number)
    return size >= _LEAST_REQUEST_BYTES and api_key is not None and version in api_key.versions


def looks_like_tls(data: bytes) -> bool:
    """Return whether a TLS record begins with the first byte of ``data``."""
    return len(data) >= 3 and data[0] in _TLS_RECORD_TYPES and data[1] == 3 and data[2] <= 4


def _with_body(
    message: WireMessage, cls: type[Message], version: int, frame: bytes, position: int
) -> WireMessage:
    body, end = cls.decode_prefix(frame, version, position)
    left = len(frame) - end
    problem = f"{left} bytes follow the message" if left else None
    return slotted.evolve(message, body=body, body_version=version, problem=problem)


def _sasl_token(direction: Direction, frame: bytes) -> WireMessage:
    return WireMessage(
        direction=direction, size=len(frame), problem="a SASL token without a header, not shown"
    )


def _api_key(number: int) -> ApiKey | None:
    try:
        return ApiKey(number)
    except ValueError:
        return None


def _int32(data: bytes, position: int = 0) -> int | None:
    if len(data) < position + SIZE.size:
        return None
    return int(SIZE.unpack_from(data, position)[0])
