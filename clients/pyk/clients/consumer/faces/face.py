"""The methods that the blocking and the asyncio consumer share.

What never waits is here as it is; calls that wait are here as steps, which each face drives in its
own way.
"""

from __future__ import annotations

import asyncio
import os
import random as randomness
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, Unpack

from pyk.clients import config as option_types
from pyk.clients import consumer as consumers
from pyk.clients import offsets as offset_types
from pyk.clients.arguments import check_commit_callback
from pyk.clients.config import ConsumerConfig
from pyk.clients.config.properties_file import read_properties
from pyk.clients.config.signature import with_options_of
from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.commits.offsets_argument import CommitArgument, offsets_to_commit
from pyk.clients.consumer.faces.async_commits import CommitCallback
from pyk.clients.consumer.faces.closing import ClosingDeadlines
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.faces.reading_face import ReadingFace
from pyk.clients.consumer.faces.steps import Steps, TellListener, TellOfCommit, on_loop
from pyk.clients.consumer.faces.transaction_calls import ReadsOfFace
from pyk.clients.payload import K, V
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network

if TYPE_CHECKING:
    from pyk.clients.consumer.group.actions import ApplicationEvent

R = TypeVar("R")


class HandlersOfProcess(Protocol):
    """The handlers that :meth:`Consumer.process` runs, as rebalances see them."""

    async def release(self, event: ApplicationEvent) -> None:
        """Stop the handlers of partitions that go; on the consumer's event loop."""
        ...

    async def consumer_closes(self, deadline: float) -> None:
        """Begin no more handlers, and write what those before have returned."""
        ...


@with_options_of(ConsumerConfig, "ConsumerOptions")
class ConsumerFace(ReadingFace[K, V]):
    """A consumer, except for how it waits: in a thread, or in a task."""

    _core: ConsumerCore
    _buffer: FetchBuffer
    _reader: FetchReader
    _is_awaited = False
    _handlers: HandlersOfProcess | None = None
    """The handlers of :meth:`process`, while it runs."""
    _leaving: object = None
    """The thread or task that tells the listener what the consumer gives up."""

    def __init__(
        self,
        bootstrap_servers: str | SequenceOf[str] | None = None,
        *,
        topics: Iterable[str] | None = None,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[option_types.ConsumerOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range.
        ``topics`` are subscribed to.
        Tests can replace ``clock``, ``network`` and ``random``.
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
        **overrides: Unpack[option_types.ConsumerOptions],
    ) -> Self:
        """Return a consumer configured by Kafka's dotted names, from a file or a mapping."""
        consumer = cls.__new__(cls)
        config = ConsumerConfig.from_properties(read_properties(source), **overrides)
        consumer._set_up(config, topics)
        return consumer

    def _set_up(
        self, config: ConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        """Create the core of the consumer, with this ``environment``."""
        raise NotImplementedError

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read now."""
        return self._core.partitions.topic_partitions

    def health(self) -> consumers.ConsumerHealth:
        """Return the state of each partition, and of the membership, at this moment."""
        return self._core.standing.health()

    def stats(self) -> consumers.ConsumerStats:
        """Return the consumer's counters at this moment."""
        return self._core.standing.stats()

    def group_metadata(self) -> offset_types.ConsumerGroupMetadata:
        """Return the member of the group that this consumer is now.

        ``producer.send_offsets_to_transaction`` needs it. The generation is -1 and the member id is
        empty before the consumer has joined, and if its partitions are assigned by hand. After the
        group took partitions away it is the member of before, which is fenced (KIP-447), until the
        application has heard of that in a poll and the consumer is a member again. Raises
        :class:`StateError` without a ``group_id``.
        """
        metadata: offset_types.ConsumerGroupMetadata = self._at_once_on_loop(
            self._core.transaction_calls.group_metadata
        )
        return metadata

    @property
    def _transaction_reads(self) -> offset_types.TransactionReads:
        """The part of this consumer in the transactions of a producer."""
        return ReadsOfFace(
            self._core.transaction_calls,
            self._at_once_on_loop,
            self._now_on_loop,
            self._core.call_soon,
            self._is_awaited,
        )

    # -- steps, which each face drives -------------------------------------------------------------

    def _attend_steps(self, deadline: float | None) -> Steps[None]:
        """Handle what is due besides records."""
        self._raise_if_ended()
        self._reader.come_back()
        events = self._core.events
        while (
            event := (yield from on_loop(self._interruptible(events.begin), deadline))
        ) is not None:
            try:
                if self._handlers is not None:
                    yield from on_loop(self._handlers.release, event)
                yield TellListener(event)
            finally:
                yield from on_loop(events.finish, event)
        yield from self._outcome_steps()

    def _outcome_steps(self) -> Steps[None]:
        """Tell the application of the outcomes of ``commit_async`` that are known, in order."""
        background = self._core.commit_calls.background
        while (commit := background.take()) is not None:
            if not background.is_empty:  # which a callback that raises leaves for the next poll
                self._buffer.call_attention(EVENT)
            yield TellOfCommit(commit)

    def _leave_steps(self, deadline: float) -> Steps[None]:
        """Commit what is finished, and tell the listener which partitions the consumer gives up.

        Not once more if the listener itself then closes the consumer, or unsubscribes.
        """
        caller, before = self._caller(), self._leaving
        if before is caller or self._core.is_closed:
            return
        self._leaving = caller
        try:
            for event in (yield from on_loop(self._core.begin_leaving, deadline)):
                yield TellListener(event)
        finally:
            self._leaving = before

    def _unsubscribe_steps(self) -> Steps[None]:
        self._core.check()
        with self._core.wakeups.kept_for_later():
            yield from self._leave_steps(self._core.limits.deadline(None))
            if not self._core.is_closed:
                yield from on_loop(self._core.subscription_calls.unsubscribe)

    def _close_steps(self, deadlines: ClosingDeadlines, leave_group: bool | None) -> Steps[None]:
        core = self._core
        try:
            if self._handlers is not None:
                yield from on_loop(self._handlers.consumer_closes, deadlines.commit)
            raised = yield from self._settle_steps(deadlines.commit)
            yield from self._leave_steps(deadlines.commit)
            if raised is not None:
                raise raised
        except (KeyboardInterrupt, asyncio.CancelledError):
            deadlines = core.limits.hurried_closing()
            raise
        finally:
            if not core.is_closed:  # by the listener, or by the callback of a commit
                yield from on_loop(core.close, deadlines.end, leave_group)

    def _settle_steps(self, deadline: float) -> Steps[Exception | None]:
        """Wait for commits in the background, and tell the application of all of them.

        Return what the first callback has raised: there is no other poll to tell the rest.
        """
        background, first = self._core.commit_calls.background, None
        if background.is_empty:
            return None
        for commit in (yield from on_loop(background.finish, deadline)):
            try:
                yield TellOfCommit(commit)
            except Exception as raised:
                first = first or raised
        return first

    def _commit_async(
        self, offsets: CommitArgument | None, callback: CommitCallback | None
    ) -> None:
        if callback is not None:
            check_commit_callback(callback)
        wanted = None if offsets is None else offsets_to_commit(offsets)
        if wanted is None:
            self._check_commit_of_all()
            self._reader.finish()
        self._now_on_loop(self._core.commit_calls.commit_async, wanted, callback)

    def _commit_steps(self, offsets: CommitArgument | None, timeout: float | None) -> Steps[None]:
        commits = self._core.commit_calls
        if offsets is not None:
            commit = self._interruptible(commits.commit)
            yield from on_loop(commit, offsets_to_commit(offsets), timeout)
        else:
            self._check_commit_of_all()
            self._reader.finish()
            yield from on_loop(self._interruptible(commits.commit_all), timeout)
        if self._is_taker():
            yield from self._outcome_steps()
