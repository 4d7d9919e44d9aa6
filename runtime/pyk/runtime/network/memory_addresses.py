"""Explain a refused connection between the network of a machine and one in memory. Pure.

An address of a network in memory looks like any other, but no socket leads to it, nor from a
network in memory to a socket.
"""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

OF_WORLD = (
    " A World has this address on its network in memory, which only code inside of its run() "
    "can reach"
)
IN_WORLD = " In a World, only clusters that were made inside of its run() can be reached"

_OPENED: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
_OPENED_LOCK = threading.Lock()
"""Clients in threads of their own look there while a World opens an address."""


class NothingListensError(ConnectionRefusedError):
    """Nothing on a network in memory listens on an address."""


def note_opened(network: object, address: str) -> None:
    """Note an address that a network in memory has opened."""
    with _OPENED_LOCK:
        _OPENED.setdefault(network, set()).add(address)


def refusal_hint(error: ConnectionRefusedError, address: str | None) -> str:
    """Return what to add to the advice about a refused connection, nothing where it is usual."""
    if isinstance(error, NothingListensError):
        return IN_WORLD
    with _OPENED_LOCK:
        is_in_memory = any(address in opened for opened in _OPENED.values())
    return OF_WORLD if is_in_memory else ""
