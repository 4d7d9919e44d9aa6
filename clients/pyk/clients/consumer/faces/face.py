"""What the blocking and the asyncio consumer have in common, to the last word."""

from __future__ import annotations

import os
import random as randomness
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, Generic, Self, Unpack

from pyk.clients.config import ConsumerConfig, ConsumerOptions
from pyk.clients.config.properties_file import read_properties
from pyk.clients.config.signature import with_options_of
from pyk.clients.consumer.buffer.fetch_buffer import CLOSED, FORKED, WAKEUP, FetchBuffer
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.faces.health import ConsumerHealth, ConsumerStats
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.errors import ClosedError, WakeupError
from pyk.clients.payload import K, V
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network


@with_options_of(ConsumerConfig, ConsumerOptions)
class ConsumerFace(Generic[K, V]):
    """How a consumer is made and looked at: what never waits, in a thread or in a task."""

    _core: ConsumerCore
    _buffer: FetchBuffer

    def __init__(
        self,
        bootstrap_servers: str | SequenceOf[str] | None = None,
        *,
        topics: Iterable[str] | None = None,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range.
        ``topics`` are subscribed to.
        ``clock``, ``network`` and ``random`` are ways to the world, for tests.
        """
        config = ConsumerConfig.from_kwargs(bootstrap_servers, **options)
        self._set_up(config, topics, clock=clock, network=network, random=random)

    @classmethod
    def from_properties(
        cls,
        source: str | os.PathLike[str] | Mapping[str, object],
        /,
        *,
        topics: Iterable[str] | None = None,
        **overrides: Unpack[ConsumerOptions],
    ) -> Self:
        """Return a consumer configured by Kafka's dotted names, from a file or a mapping."""
        consumer = cls.__new__(cls)
        config = ConsumerConfig.from_properties(read_properties(source), **overrides)
        consumer._set_up(config, topics)
        return consumer

    def _set_up(
        self, config: ConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        """Make what the consumer stands on; ``environment`` is the core's."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._core.config.name_of(self)

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read now."""
        return self._core.positions.partitions

    def subscription(self) -> set[str]:
        """Return the topics that were asked for, or that match the pattern now."""
        return set(self._core.subscriptions.topics)

    def wakeup(self) -> None:
        """Have the poll or iteration under way, or the next one, raise :class:`WakeupError`."""
        self._buffer.call_attention(WAKEUP)

    def health(self) -> ConsumerHealth:
        """Return how each partition, and the membership, stands at this moment."""
        return self._core.health()

    def stats(self) -> ConsumerStats:
        """Return what the consumer has done and holds at this moment."""
        return self._core.stats()

    def _raise_if_ended(self, guard: ForkGuard) -> None:
        """Raise where attention was called for because reading cannot, or shall not, go on."""
        reasons = self._buffer.attention
        if reasons & FORKED:
            guard.check()
        if reasons & CLOSED:
            raise ClosedError("the consumer is closed")
        if reasons & WAKEUP:
            self._buffer.clear_attention(WAKEUP)
            raise WakeupError("wakeup() was called")
