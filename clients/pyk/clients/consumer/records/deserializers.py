"""The deserializers of a consumer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Bound = Callable[[bytes], Any] | None


class Deserializers:
    """The deserializers of keys and values, each a callable, or an object with ``deserialize``.

    A callable gets the bytes, ``deserialize`` the topic and the bytes; null stays None for both.
    """

    def __init__(self, key: Any, value: Any) -> None:
        self._key = key
        self._value = value
        self._by_topic: dict[str, tuple[Bound, Bound]] = {}

    def __bool__(self) -> bool:
        return self._key is not None or self._value is not None

    def of(self, topic: str) -> tuple[Bound, Bound]:
        """Return the functions to call with the bytes of keys and values of a topic."""
        bound = self._by_topic.get(topic)
        if bound is None:
            bound = self._by_topic[topic] = (_bind(self._key, topic), _bind(self._value, topic))
        return bound


def _bind(deserializer: Any, topic: str) -> Bound:
    deserialize = getattr(deserializer, "deserialize", None)
    bound: Bound = deserializer if deserialize is None else partial(deserialize, topic)
    return bound
