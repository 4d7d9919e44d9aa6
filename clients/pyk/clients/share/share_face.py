"""The methods that the blocking and the asyncio share consumer share."""

from __future__ import annotations

import asyncio
import os
import random as randomness
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from pyk.clients import config as option_types
from pyk.clients.config import ShareConsumerConfig
from pyk.clients.config.properties_file import read_properties
from pyk.clients.config.signature import with_options_of
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.faces.closing import ClosingDeadlines
from pyk.clients.consumer.faces.reading_face import ReadingFace
from pyk.clients.consumer.faces.steps import Steps, TellOfCommit, on_loop
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.errors import StateError
from pyk.clients.payload import K, V
from pyk.clients.share.acknowledge_type import AcknowledgeType, checked_type
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.commit_ticket import CommitTicket
from pyk.clients.share.foreign_calls import absent
from pyk.clients.share.held_records import HeldRecords
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_core import ShareCore
from pyk.clients.share.share_health import ShareConsumerHealth, ShareConsumerStats
from pyk.clients.share.share_reader import ShareReader
from pyk.clients.topic_partition import TopicPartition, checked_partition
from pyk.protocol.records.record import ConsumerRecord as AnyRecord
from pyk.protocol.records.record import owner_of
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network

Committed = dict[TopicPartition, tuple[range, ...]]


@with_options_of(ShareConsumerConfig, "ShareConsumerOptions")
class ShareConsumerFace(ReadingFace[K, V]):
    """A share consumer, except for how it waits: in a thread, or in a task."""

    _commit_instead = "call commit() there"
    _core: ShareCore
    _buffer: ShareBuffer
    _reader: ShareReader
    _handlers: object = None
    """The handlers of :meth:`process`, while it runs."""

    def __init__(
        self,
        bootstrap_servers: str | SequenceOf[str] | None = None,
        *,
        topics: Iterable[str] | None = None,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[option_types.ShareConsumerOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range, or that
        does not apply to share groups. ``topics`` are subscribed to.
        Tests can replace ``clock``, ``network`` and ``random``.
        """
        config = ShareConsumerConfig.from_kwargs(bootstrap_servers, **options)
        self._set_up(config, topics, clock=clock, network=network, random=random)

    @classmethod
    def from_properties(
        cls,
        source: str | os.PathLike[str] | Mapping[str, object],
        /,
        *,
        topics: Iterable[str] | None = None,
        **overrides: Unpack[option_types.ShareConsumerOptions],
    ) -> Self:
        """Return a share consumer configured by Kafka's dotted names, from a file or a mapping."""
        consumer = cls.__new__(cls)
        config = ShareConsumerConfig.from_properties(read_properties(source), **overrides)
        consumer._set_up(config, topics)
        return consumer

    def _set_up(
        self, config: ShareConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        """Create the core of the consumer, with this ``environment``."""
        raise NotImplementedError

    if not TYPE_CHECKING:  # where a type checker finds the mistake by itself

        def __getattr__(self, name: str) -> NoReturn:
            raise absent(self, name)

    def health(self) -> ShareConsumerHealth:
        """Return the state of each partition, and of the membership, at this moment."""
        return self._core.health()

    def stats(self) -> ShareConsumerStats:
        """Return the consumer's counters at this moment."""
        return self._core.stats()

    def acquisition_lock_timeout_ms(self) -> int | None:
        """Return how long acquired records stay locked for this consumer, in milliseconds.

        None before the first records were acquired: the group's config
        ``share.record.lock.duration.ms`` says it.
        """
        return self._core.lock_timeout_ms()

    # -- acknowledgements --------------------------------------------------------------------------

    def acknowledge(
        self, record: ConsumerRecord[Any, Any], kind: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """Say what becomes of a record of the last poll; nothing is sent before the next poll or
        commit.

        Until then the record may be acknowledged otherwise. A record whose lock was renewed is
        returned by a poll again. Raises :class:`StateError` unless share_acknowledgement_mode is
        "explicit", and for a record that does not wait to be acknowledged.
        """
        if self._user is None and self._reader.acknowledge(record, kind):
            return
        if not isinstance(record, AnyRecord):
            raise TypeError(f"record must be a ConsumerRecord, not {record!r}")
        held, how = self._held_records(), checked_type(kind)
        acquired = owner_of(record)
        if acquired is None:  # it was pickled, or made by hand
            partition = TopicPartition(record.topic, record.partition)
            acquired = held.find(partition, record.offset)
        if not isinstance(acquired, AcquiredRecords):
            raise StateError(
                f"the record of {record.topic}-{record.partition} at offset {record.offset} cannot "
                "be acknowledged: it does not come from a share consumer"
            )
        held.acknowledge(acquired, record.offset, how)

    def acknowledge_offset(
        self,
        partition: tuple[str, int],
        offset: int,
        kind: AcknowledgeType = AcknowledgeType.ACCEPT,
    ) -> None:
        """Do what :meth:`acknowledge` does, for the record of a partition at an offset.

        That includes one which a deserializer has refused: it is released unless that is said
        otherwise here.
        """
        if isinstance(offset, bool) or not isinstance(offset, int):
            raise TypeError(f"offset must be an int, not {offset!r}")
        held, how = self._held_records(), checked_type(kind)
        held.acknowledge(held.find(checked_partition(partition), offset), offset, how)

    def _held_records(self) -> HeldRecords:
        self._refuse_others()
        self._core.check()
        held = self._reader.held
        if held is None:
            raise StateError(
                "share_acknowledgement_mode is 'implicit', so the next poll accepts all records: "
                "set it to 'explicit' to acknowledge each"
            )
        self._reader.hold_handed()
        return held

    # -- steps, which each face drives -------------------------------------------------------------

    def _attend_steps(self, deadline: float | None) -> Steps[None]:
        """Handle what is due besides records."""
        self._raise_if_ended()
        self._reader.come_back()
        yield from on_loop(self._core.attend)
        yield from self._outcome_steps()

    def _outcome_steps(self) -> Steps[None]:
        """Tell the application of the outcomes that are known, in order."""
        commits = self._core.commits
        while (outcome := commits.take()) is not None:
            if commits.has_outcomes:  # which a callback that raises leaves for the next poll
                self._buffer.call_attention(EVENT)
            yield TellOfCommit(outcome)

    def _commit_steps(self, timeout: float | None) -> Steps[Committed]:
        self._check_commit_of_all()
        deadline = self._core.limits.deadline(timeout)
        ticket = self._core.commits.begin()
        try:
            self._reader.finish()
            call = self._interruptible(self._commit)
            committed: Committed = yield from on_loop(call, ticket, deadline)
        finally:
            self._core.commits.end()
            yield from self._outcome_steps()
        return committed

    async def _commit(self, ticket: CommitTicket, deadline: float) -> Committed:
        await self._core.ready()
        return await self._core.commits.commit(deadline, ticket)

    def _commit_soon(self) -> None:
        self._check_commit_of_all()
        self._reader.finish()
        self._now_on_loop(self._core.commit_soon)

    def _unsubscribe_steps(self) -> Steps[None]:
        self._finish_explicit()
        yield from on_loop(self._core.unsubscribe)
        yield from self._outcome_steps()

    def _close_steps(self, deadlines: ClosingDeadlines) -> Steps[None]:
        core = self._core
        try:
            self._finish_explicit()
            yield from on_loop(core.finish, deadlines.commit)
            yield from self._outcome_steps()
        except (KeyboardInterrupt, asyncio.CancelledError):
            deadlines = core.limits.hurried_closing()
            raise
        finally:
            if not core.is_closed:  # by the callback of a commit
                yield from on_loop(core.close, deadlines.end)

    def _finish_explicit(self) -> None:
        """Let be sent what the application has acknowledged by calls."""
        if self._reader.held is not None and self._is_taker():
            self._reader.finish()
