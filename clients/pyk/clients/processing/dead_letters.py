"""The headers of records that were moved to a retry topic or to the dead letters. Pure.

The record keeps its key, its value and its own headers, byte for byte. What pyk adds tells why it
was moved, and where it was read first:

=========================  ======================================================
``pyk-origin-topic``       the topic, ``…partition``, ``…offset`` and ``…timestamp`` (ms)
``pyk-attempts``           how often its handler was called, everywhere
``pyk-error``              the class of the last error, and ``pyk-error-text`` its text
``pyk-retry-at``           in a retry topic: when it is due, in ms since 1970
=========================  ======================================================
"""

from __future__ import annotations

from typing import Any

from pyk.protocol.records.record import Headers

PREFIX = "pyk-"
ORIGIN = "pyk-origin-"
ATTEMPTS = "pyk-attempts"
ERROR = "pyk-error"
ERROR_TEXT = "pyk-error-text"
RETRY_AT = "pyk-retry-at"
# A text of an error may have a whole document in it; brokers limit the size of records.
LONGEST_TEXT = 1000
# How the producers are configured that move records. What was read must fit, also if its batch was
# compressed; a request may have 100 MiB unless brokers are configured (socket.request.max.bytes).
LARGEST_REQUEST = 100_000_000
MOVING: dict[str, Any] = {
    "max_request_size": LARGEST_REQUEST,
    "buffer_memory": LARGEST_REQUEST,
    "compression_type": "gzip",
}
# A larger number was not written by pyk: it is no time, and no count of attempts.
_MOST = 2**53


def moved_headers(
    record: Any, error: BaseException, attempts: int, retry_at_ms: int | None = None
) -> Headers:
    """Return the headers of a record that is moved; its origin stays that of its first move."""
    origin = tuple(header for header in record.headers if header[0].startswith(ORIGIN))
    added = {ATTEMPTS: str(attempts), ERROR: type(error).__name__, ERROR_TEXT: _text(error)}
    if retry_at_ms is not None:
        added[RETRY_AT] = str(retry_at_ms)
    return (
        *own_headers(record),
        *(origin or _origin_of(record)),
        *((name, text.encode("utf-8", "replace")) for name, text in added.items()),
    )


def own_headers(record: Any) -> Headers:
    """Return the headers that the record had before it was moved."""
    return tuple(header for header in record.headers if not header[0].startswith(PREFIX))


def attempts_before(record: Any) -> int:
    """Return how often a handler was called with a record before it was moved here."""
    return _number(record, ATTEMPTS) or 0


def due_at_ms(record: Any) -> int:
    """Return when a record of a retry topic is due, in ms since 1970; 0 if nothing says so."""
    return _number(record, RETRY_AT) or 0


def origin_topic(record: Any) -> str | None:
    """Return the topic that a record was read from first, None if it was not moved."""
    values = [value for name, value in record.headers if name == f"{ORIGIN}topic"]
    try:
        return values[-1].decode() if values and values[-1] is not None else None
    except UnicodeDecodeError:  # which pyk did not write
        return None


def _origin_of(record: Any) -> Headers:
    return tuple(
        (ORIGIN + name, str(getattr(record, name)).encode())
        for name in ("topic", "partition", "offset", "timestamp")
    )


def _text(error: BaseException) -> str:
    cause = error.__cause__
    text = str(error) if cause is None else f"{error}: {cause}"
    return text[:LONGEST_TEXT]


def _number(record: Any, name: str) -> int | None:
    for header, value in reversed(record.headers):
        if header == name:
            try:
                number = int(value or b"")
            except ValueError:
                return None
            return number if 0 <= number <= _MOST else None
    return None
