"""Both ends of a connection, without the connection: frames in, messages out, and back.

The protocol has one rule of order: responses come in the order of their requests. A client keeps
a queue of what is in flight and matches each response with its head; a server keeps a queue of what
it was asked and holds back a response until those before it are ready. A Produce with acks 0 is
never answered, and so delays no other.

Every ``ProtocolError`` raised here means that the two sides no longer agree on their position in
the stream: close the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from struct import Struct
from typing import Any, Protocol

from pyk.runtime import slotted

from .api_keys import ApiKey
from .codec import Decode
from .errors import ErrorCode, MalformedMessageError, ProtocolError
from .messages.headers import RequestHeader, ResponseHeader
from .negotiation import request_header_version, response_header_version
from .registry import request_class, response_class
from .schema import Message
from .versions import NO_VERSIONS, VersionRange
from .wire_numbers import bytearray_of, get_int32, has_bytes, put_int32

_SIZE_BYTES = 4
_ERROR_CODE = Struct(">h")
_API_KEY_AND_VERSION = Struct(">hh")
# In a request, after the size of the frame, the API key and the version.
_CORRELATION_ID_AT = 8
_CORRELATION_ID_BYTES = 4
_NO_TAGS = b"\0"
_SHORTEST_HEADER_BYTES = _API_KEY_AND_VERSION.size + _CORRELATION_ID_BYTES
_LAST_CORRELATION_ID = 2**31 - 1
_PRODUCE = int(ApiKey.PRODUCE)
_API_VERSIONS = ApiKey.API_VERSIONS


class CorrelationError(ProtocolError):
    """A response to a request that is not the oldest one in flight."""


class RequestError(ProtocolError):
    """A request that the server cannot take, although its header could be read.

    ``request`` can be given to :meth:`ServerConnection.respond`; it is None if no response of pyk
    would be understood.
    """

    def __init__(self, text: str, header: RequestHeader, request: Request | None) -> None:
        super().__init__(text)
        self.header = header
        self.request = request


class UnsupportedRequestError(RequestError):
    """An API that the server does not have, or not in this version."""


class InvalidRequestError(RequestError):
    """A body that is not the request that the header announces."""


class OutgoingRequest(Protocol):
    """A request that a client sends: a message, or a :class:`SelfCodedRequest`."""

    @property
    def api_key(self) -> int: ...

    def encode_parts(self, version: int, out: bytearray) -> list[Any]:
        """Return the parts of the request, of which the first is ``out``, grown."""


class SelfCodedRequest:
    """A request that encodes itself and decodes its response, faster than the codec.

    ``is_answered`` is False for one that gets no response.
    """

    __slots__ = ("api_key", "is_answered")

    def __init__(self, api_key: int) -> None:
        self.api_key = api_key
        self.is_answered = True

    def encode_parts(self, version: int, out: bytearray) -> list[Any]:
        """Return the parts of the request, of which the first is ``out``, grown."""
        raise NotImplementedError

    def read_response(self, frame: bytes | memoryview, version: int, start: int) -> Any:
        """Return the response that begins at ``start``, None to have it decoded as a message."""
        return None


class Reply:
    """A response and what belonged to its request."""

    __slots__ = ("context", "correlation_id", "response", "version")

    def __init__(self, correlation_id: int, response: Any, version: int, context: Any) -> None:
        self.correlation_id = correlation_id
        self.response = response
        """The response message of the request's API."""
        self.version = version
        """Of the response: that of the request, but 0 for a refused ApiVersions."""
        self.context = context


class _Exchange:
    """The header and the codecs that all requests of one API and version share."""

    __slots__ = (
        "_decode",
        "api_key",
        "frame_start",
        "has_tags",
        "number",
        "response_class",
        "version",
    )

    def __init__(self, api_key: ApiKey, version: int, frame_start: bytes) -> None:
        self.api_key = api_key
        self.number = int(api_key)
        self.version = version
        self.frame_start = frame_start
        """Room for the size, and a request header whose correlation id is yet to be set."""
        self.has_tags = response_header_version(api_key, version) > 0
        """Whether tagged fields follow the correlation id of a response header."""
        self.response_class = response_class(api_key)
        self._decode: Decode | None = None

    def decoded(self, frame: bytes | memoryview, start: int) -> Any:
        """Return the response that begins at ``start``."""
        if self._decode is None:
            self._decode = self.response_class.decoder(self.version)
        response, end = self._decode(frame, start)
        if end != len(frame):
            self.response_class.decode(frame, self.version, start)  # raises, and says what is left
        return response


class _InFlight:
    __slots__ = ("context", "correlation_id", "exchange", "reader")

    correlation_id: int
    exchange: _Exchange
    context: Any
    reader: SelfCodedRequest | None


class ClientConnection:
    """The client's end: requests become frames, frames become replies."""

    def __init__(self, client_id: str | None, *, first_correlation_id: int = 0) -> None:
        self._client_id = client_id
        self._next_correlation_id = first_correlation_id
        self._in_flight: deque[_InFlight] = deque()
        self._exchanges: dict[tuple[int, int], _Exchange] = {}
        # The one before: most connections carry one API only, at any time.
        self._last_exchange: _Exchange | None = None

    @property
    def in_flight_count(self) -> int:
        """How many requests wait for a response."""
        return len(self._in_flight)

    def contexts(self) -> list[Any]:
        """Return the contexts of all requests in flight, oldest first."""
        return [waiting.context for waiting in self._in_flight]

    def send(
        self, request: OutgoingRequest, version: int, context: Any = None
    ) -> tuple[int, list[Any]]:
        """Return the request's correlation id and the parts of its frame.

        ``context`` comes back with the reply. Raises EncodeError, and then nothing has changed.
        """
        correlation_id, number = self._next_correlation_id, request.api_key
        exchange = self._last_exchange
        if exchange is None or exchange.number != number or exchange.version != version:
            exchange = self._last_exchange = self._exchange(number, version)
        out = bytearray_of(exchange.frame_start)
        put_int32(out, _CORRELATION_ID_AT, correlation_id)
        reader = None
        if isinstance(request, SelfCodedRequest):
            reader = request
            parts = reader.encode_parts(version, out)
            is_answered = reader.is_answered
        else:
            parts = request.encode_parts(version, out)
            is_answered = expects_response(request)
        size = -_SIZE_BYTES
        for part in parts:
            size += len(part)
        put_int32(out, 0, size)
        if is_answered:
            self._in_flight.append(_new_in_flight(correlation_id, exchange, context, reader))
        is_last = correlation_id == _LAST_CORRELATION_ID
        self._next_correlation_id = 0 if is_last else correlation_id + 1
        return correlation_id, parts

    def receive(self, frame: bytes | memoryview) -> Reply:
        """Return the reply in ``frame``, which comes without its length.

        Raises CorrelationError or MalformedMessageError; the request is then still in flight.
        """
        if not self._in_flight:
            raise CorrelationError("a response although no request waits for one")
        waiting: _InFlight = self._in_flight[0]
        correlation_id, exchange = waiting.correlation_id, waiting.exchange
        api_key, version = exchange.api_key, exchange.version
        position = _CORRELATION_ID_BYTES + exchange.has_tags
        if _has_plain_header(frame, position):
            received_id = get_int32(frame, 0)
        else:
            received_id, position = _read_response_header(frame, exchange.has_tags)
        if received_id != correlation_id:
            raise CorrelationError(
                f"a response to request {received_id}, but {api_key.api_name} "
                f"{correlation_id} is the next to be answered"
            )
        response = None
        if api_key is _API_VERSIONS and _is_refusal(frame, position):
            version = 0
            response = exchange.response_class.decode(frame, version, position)
        elif waiting.reader is not None:
            response = waiting.reader.read_response(frame, version, position)
        if response is None:
            response = exchange.decoded(frame, position)
        self._in_flight.popleft()
        return Reply(correlation_id, response, version, waiting.context)

    def abandon(self) -> list[Any]:
        """Return the contexts of all requests in flight, oldest first, and forget them."""
        contexts = self.contexts()
        self._in_flight.clear()
        return contexts

    def _exchange(self, number: int, version: int) -> _Exchange:
        exchange = self._exchanges.get((number, version))
        if exchange is None:
            api_key = ApiKey(number)
            header = RequestHeader(
                request_api_key=api_key, request_api_version=version, client_id=self._client_id
            )
            start = bytearray(_SIZE_BYTES)
            header.encode_parts(request_header_version(api_key, version), start)
            exchange = _Exchange(api_key, version, bytes(start))
            self._exchanges[number, version] = exchange
        return exchange


def _new_in_flight(
    correlation_id: int, exchange: _Exchange, context: Any, reader: SelfCodedRequest | None
) -> _InFlight:
    """Return a request in flight; compiled, no arguments are parsed on the way."""
    waiting = _InFlight.__new__(_InFlight)
    waiting.correlation_id = correlation_id
    waiting.exchange = exchange
    waiting.context = context
    waiting.reader = reader
    return waiting


@slotted.define(eq=False)
class Request:
    """A request that a server has received."""

    header: RequestHeader
    api_key: ApiKey
    version: int
    body: Any
    """The message; None if it came with a :class:`RequestError`."""
    response_version: int
    expects_response: bool = True
    _parts: list[Any] | None = None


class ServerConnection:
    """The server's end: frames become requests, responses become frames in the right order."""

    def __init__(self, supported: Mapping[ApiKey, VersionRange]) -> None:
        self.supported = supported
        """The APIs and versions that are taken; may be replaced, as when a client has logged in."""
        self._unanswered: deque[Request] = deque()

    @property
    def in_flight_count(self) -> int:
        """How many requests have not been responded to, or wait for one that has not."""
        return len(self._unanswered)

    def receive(self, frame: bytes | memoryview) -> Request:
        """Return the request in ``frame``, which comes without its length.

        Raises MalformedMessageError if not even its header can be read, UnsupportedRequestError
        and InvalidRequestError if that is all that can be read.
        """
        header, api_key, position = self._read_header(frame)
        version = header.request_api_version
        offered = self.supported.get(api_key, NO_VERSIONS)
        if version not in offered:
            raise UnsupportedRequestError(
                f"{api_key.api_name} version {version}; this server has {offered}",
                header,
                self._unread(header, api_key, _nearest(version, api_key, offered)),
            )
        try:
            # What may follow is ignored, as Kafka does: librdkafka 2.16 puts bytes of fields that
            # are gone after a Metadata request for all topics.
            body, _ = request_class(api_key).decode_prefix(frame, version, position)
        except MalformedMessageError as error:
            request = self._unread(header, api_key, version)
            raise InvalidRequestError(str(error), header, request) from error
        request = Request(header, api_key, version, body, version, expects_response(body))
        self._unanswered.append(request)
        return request

    def respond(self, request: Request, response: Message | None) -> list[Any]:
        """Take the response to ``request`` and return the parts of all frames that may be sent now.

        That is nothing while an earlier request waits, and several frames when this was the one
        they waited for. A request that expects no response gets None. Raises EncodeError for a
        response that its version cannot carry; another one can then be given.
        """
        if request._parts is not None:
            raise RuntimeError(f"{request.api_key.api_name} has been answered already")
        request._parts = self._response_frame(request, response)
        ready: list[Any] = []
        while self._unanswered and self._unanswered[0]._parts is not None:
            ready += self._unanswered.popleft()._parts or ()
        return ready

    def _read_header(self, frame: bytes | memoryview) -> tuple[RequestHeader, ApiKey, int]:
        if len(frame) < _SHORTEST_HEADER_BYTES:
            RequestHeader.decode_prefix(frame, 0)  # raises, and says what is missing
        number, version = _API_KEY_AND_VERSION.unpack_from(frame)
        try:
            api_key = ApiKey(number)
        except ValueError:
            start, _ = RequestHeader.decode_prefix(frame, 0)
            text = f"unknown API key {number}"
            raise UnsupportedRequestError(text, start, None) from None
        header_version = request_header_version(api_key, version)
        header, position = RequestHeader.decode_prefix(frame, header_version)
        return header, api_key, position

    def _unread(
        self, header: RequestHeader, api_key: ApiKey, response_version: int | None
    ) -> Request | None:
        """Return a request without its body that can be responded to in its turn."""
        if response_version is None:
            return None
        request = Request(header, api_key, header.request_api_version, None, response_version)
        self._unanswered.append(request)
        return request

    def _response_frame(self, request: Request, response: Message | None) -> list[Any]:
        if not request.expects_response:
            return []
        if not isinstance(response, response_class(request.api_key)):
            what = type(response).__name__
            raise TypeError(f"{what} is not a response to {request.api_key.api_name}")
        header = ResponseHeader(correlation_id=request.header.correlation_id)
        version = request.response_version
        header_version = response_header_version(request.api_key, version)
        return _frame(header, header_version, response, version)


def _frame(header: Message, header_version: int, body: Message, version: int) -> list[Any]:
    out = bytearray(_SIZE_BYTES)
    header.encode_parts(header_version, out)
    parts = body.encode_parts(version, out)
    put_int32(out, 0, sum(map(len, parts)) - _SIZE_BYTES)
    return parts


def _has_plain_header(frame: bytes | memoryview, end: int) -> bool:
    """Return whether a response header ends there: nearly always, as it has no tagged fields."""
    if end == _CORRELATION_ID_BYTES:
        return len(frame) >= end
    return has_bytes(frame, _CORRELATION_ID_BYTES, _NO_TAGS)


def _read_response_header(frame: bytes | memoryview, has_tags: bool) -> tuple[int, int]:
    """Return the correlation id of a response, and where its body begins."""
    header, position = ResponseHeader.decode_prefix(frame, int(has_tags))
    return header.correlation_id, position


def expects_response(request: OutgoingRequest) -> bool:
    """Return whether a request is answered: all are but a Produce with acks 0."""
    if isinstance(request, SelfCodedRequest):
        return request.is_answered
    return request.api_key != _PRODUCE or getattr(request, "acks", 0) != 0


def _is_refusal(frame: bytes | memoryview, start: int) -> bool:
    """Return whether an ApiVersions response is UNSUPPORTED_VERSION, and so of version 0."""
    code = frame[start : start + _ERROR_CODE.size]
    return code == _ERROR_CODE.pack(ErrorCode.UNSUPPORTED_VERSION)


def _nearest(version: int, api_key: ApiKey, offered: VersionRange) -> int | None:
    """Return the version in which to answer a request of a version that is not offered."""
    if api_key is ApiKey.API_VERSIONS:
        return 0
    return None if offered.is_empty else min(max(version, offered.lowest), offered.highest)
