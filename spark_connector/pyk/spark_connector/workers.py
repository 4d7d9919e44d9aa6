"""Objects that live as long as a Python worker: pooled clients, and imports exempt from collection.

Spark creates a reader or a writer for each task and drops it; the process serves many tasks.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyk.clients.errors import KafkaError
from pyk.spark_connector.retrying import RetryPolicy

if TYPE_CHECKING:
    from pyk.clients import Consumer, Producer

CLOSE_TIMEOUT = 5.0
IDLE_CLIENTS = 2
"""How many idle clients of one configuration are kept."""


class Client(Protocol):
    """The client, as the pool sees it."""

    def close(self, timeout: float | None = None) -> None: ...


C = TypeVar("C", bound=Client)


class ClientPool:
    """Idle clients by configuration. A client is lent to one task at a time."""

    def __init__(self, wait: Callable[[float], object] | None = None) -> None:
        self._wait = wait or Event().wait
        self._idle: dict[object, list[Any]] = {}
        self._process = os.getpid()

    @contextmanager
    def borrow(
        self,
        make: Callable[[Mapping[str, str]], C],
        properties: Mapping[str, str],
        connect_timeout: float = 0.0,
    ) -> Iterator[C]:
        """Lend a client made by ``make``; it is closed if the block raises, and kept otherwise.

        While no broker answers, a new client is made each second for ``connect_timeout`` seconds. A
        task that stops early (``GeneratorExit``, at a limit) does not count as an error.
        """
        key = (make, frozenset(properties.items()))
        client: C = self._take(key) or RetryPolicy.lasting(connect_timeout).ask(
            "the cluster", lambda: make(properties), self._wait
        )
        healthy = True
        try:
            yield client
        except Exception:
            healthy = False
            raise
        finally:
            self._give_back(key, client, healthy)

    def _take(self, key: object) -> Any:
        if self._process != os.getpid():  # after a fork they belong to the parent
            self._idle, self._process = {}, os.getpid()
        idle = self._idle.get(key)
        return idle.pop() if idle else None

    def _give_back(self, key: object, client: Client, healthy: bool) -> None:
        idle = self._idle.setdefault(key, [])
        if healthy and len(idle) < IDLE_CLIENTS:
            idle.append(client)
            return
        with suppress(KafkaError):
            client.close(CLOSE_TIMEOUT)


def make_consumer(properties: Mapping[str, str]) -> Consumer[bytes, bytes]:
    """Return a connected consumer."""
    from pyk.clients import Consumer

    return Consumer.from_properties(properties).__enter__()


def make_producer(properties: Mapping[str, str]) -> Producer[bytes, bytes]:
    """Return a connected producer."""
    from pyk.clients import Producer

    return Producer.from_properties(properties).__enter__()


clients = ClientPool()
_is_frozen = False


def freeze_imports() -> None:
    """Exempt the imported modules from garbage collection, once per process.

    Spark's worker collects all garbage after every task; visiting the modules took nine tenths of
    the CPU time of a small task.
    """
    global _is_frozen  # noqa: PLW0603 - a property of the process
    if not _is_frozen:
        gc.collect()
        gc.freeze()
        _is_frozen = True
