"""Types of keys and values, ``Consumer[str, Order]``, and of what makes bytes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

__all__ = ["Deserializer", "K", "Serializer", "V"]


class Serializer(Protocol):
    """Makes the bytes of keys or values. A plain callable that takes the data will do as well."""

    def serialize(self, topic: str, data: Any) -> bytes | None:
        """Return the bytes of a key or value of a topic, or raise."""


class Deserializer(Protocol):
    """Makes keys or values from bytes. A plain callable that takes the bytes will do as well."""

    def deserialize(self, topic: str, data: bytes) -> Any:
        """Return the key or value of bytes from a topic, or raise."""
