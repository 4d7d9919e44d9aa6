"""Validate and serialize the arguments of ``send`` and ``send_batch``. Pure.

Every function returns its argument in the form that a batch needs, or raises ``TypeError`` or
``ValueError``; a serializer that fails raises :class:`SerializationError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

from pyk.clients.arguments import INT32_MAX
from pyk.clients.errors import SerializationError

Headers = Sequence[tuple[str, bytes | None]]
"""The headers of a record, as a batch holds them."""
HeadersLike = Mapping[str, bytes | str | None] | Sequence[tuple[str, bytes | str | None]]

NO_HEADERS: Headers = ()


def check_callback(function: Any) -> None:
    """Raise ``TypeError`` for an ``on_delivery`` that cannot be called, before anything is sent."""
    if not callable(function):
        raise TypeError(f"on_delivery must be callable, not {type(function).__name__}")


def as_topic(given: Any) -> str:
    """Return a topic as a plain str, also the member of an enum; raise ``TypeError``."""
    if type(given) is str:
        return given
    if not isinstance(given, str):
        raise TypeError(f"topic must be a str, not {type(given).__name__}")
    return str.__str__(given)  # str() of a member of some enums is its name


def as_partition(given: Any) -> int:
    """Return the number of a partition; raise ``TypeError`` or ``ValueError`` for anything else."""
    if type(given) is int and 0 <= given <= INT32_MAX:
        return given
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"partition must be an int, not {type(given).__name__}")
    number = index(given)
    if not 0 <= number <= INT32_MAX:
        raise ValueError(f"partition must be from 0 to {INT32_MAX}, not {number}")
    return number


def as_bytes(given: Any, what: str) -> bytes:
    """Return a str as UTF-8 and anything else with a buffer as bytes; raise ``TypeError``."""
    if type(given) is bytes:
        return given
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, bytes | bytearray | memoryview) or hasattr(given, "__buffer__"):
        return bytes(given)
    try:
        return bytes(memoryview(given))
    except TypeError:
        raise TypeError(
            f"{what} must be bytes or str, not {type(given).__name__}: give the producer a "
            f"{what}_serializer"
        ) from None


def as_headers(given: HeadersLike) -> Headers:
    """Return headers as pairs of str and bytes or None."""
    pairs: Any = given.items() if isinstance(given, Mapping) else given
    headers: list[tuple[str, bytes | None]] = []
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(
            f"headers must be a mapping or (name, value) pairs, not {type(pairs).__name__}"
        )
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"a header must be a pair (name, value), not {pair!r}")
        name, value = pair
        if not isinstance(name, str):
            raise TypeError(f"header name must be a str, not {type(name).__name__}: {name!r}")
        headers.append((name, None if value is None else _header_value(value, name)))
    return tuple(headers)


def _header_value(given: Any, name: str) -> bytes:
    try:
        return as_bytes(given, "value")
    except TypeError:
        what = type(given).__name__
        raise TypeError(f"header {name!r} must be bytes or str, not {what}") from None


def serialized(serializer: Any, topic: str, given: Any, what: str) -> Any:
    """Return what a serializer makes of a key or value: ``serialize(topic, given)`` of an object
    that has it, otherwise the object called with ``given``.

    None stays None: no key, or a tombstone.
    """
    if serializer is None or given is None:
        return given
    try:
        serialize = getattr(serializer, "serialize", None)
        made = serializer(given) if serialize is None else serialize(topic, given)
    except Exception as error:
        raise SerializationError(
            f"the {what}_serializer failed for topic {topic!r}: {error!r}", topic=topic
        ) from error
    if made is None or type(made) is bytes:
        return made
    try:
        return as_bytes(made, what)
    except TypeError:
        raise TypeError(
            f"the {what}_serializer for topic {topic!r} returned {type(made).__name__}, not bytes"
        ) from None
