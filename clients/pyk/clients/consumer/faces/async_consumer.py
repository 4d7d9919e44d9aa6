"""The asyncio consumer."""

from __future__ import annotations

import inspect
import re
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
)
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pyk.clients.arguments import checked_choice
from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.commits.offsets_argument import CommitArgument
from pyk.clients.consumer.faces.async_commits import CommitCallback
from pyk.clients.consumer.faces.async_face import DONE, AsyncFace, Done
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.faces.face import ConsumerFace
from pyk.clients.consumer.faces.rebalance_listener import RebalanceListener, tell_listener
from pyk.clients.consumer.faces.steps import Step, TellListener
from pyk.clients.consumer.positions.topic_patterns import SubscriptionPattern
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.offsets import OffsetSpec
from pyk.clients.payload import K, V
from pyk.clients.topic_partition import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

if TYPE_CHECKING:
    from pyk.clients.processing.retries import RetryPolicy
    from pyk.clients.producer import AsyncProducer

P = ParamSpec("P")
R = TypeVar("R")


class AsyncConsumer(ConsumerFace[K, V], AsyncFace[K, V]):
    """Reads records of topics, alone or as a member of a group.

    ``async for record in consumer`` and ``await consumer.poll()`` return records. Records are
    committed once the loop body has finished with them, or once the next poll is called: at least
    once. Options are Kafka's, with ``_`` for ``.``; the table is
    :class:`~pyk.clients.config.ConsumerConfig`.

    Use it on one event loop, in one task at a time; any task may call ``close``, ``wakeup``,
    ``health``, ``stats`` and ``commit`` of named offsets. Methods that never wait act at once, and
    may be awaited as well. Tests can replace ``clock``, ``network`` and ``random``.
    """

    _core: ConsumerCore
    _buffer: FetchBuffer
    _reader: FetchReader
    _is_awaited = True

    def _set_up(
        self, config: ConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        self._create(lambda **pace: ConsumerCore(config, topics, **pace, **environment))

    # -- life --------------------------------------------------------------------------------------

    async def close(self, timeout: float | None = None, *, leave_group: bool | None = None) -> None:
        """Commit what is finished, leave the group and end, within ``timeout`` seconds (30).

        Without a ``timeout`` it waits no longer than 5 seconds for a coordinator that cannot be
        reached; records that are not committed then are read again.

        ``leave_group`` says whether other members get the partitions now, or only when the session
        ends, unless a member with the same ``group_instance_id`` is back before (KIP-1092). By
        default members with a ``group_instance_id`` stay, and others leave.

        The record, or the batch, that was handed out last does not count as finished, unless
        ``commit()`` is called first or the ``async with`` block is left without an exception. Any
        task of the consumer's event loop may close it; on another loop it raises
        :class:`StateError`.
        """
        leave = checked_choice(leave_group, "leave_group")
        await self._close(timeout, lambda deadlines: self._close_steps(deadlines, leave))

    # -- records -----------------------------------------------------------------------------------

    if TYPE_CHECKING:

        def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:  # type: ignore[override]
            """Yield records one at a time, without end; taking one finishes the one before."""
            ...

    async def poll(
        self, timeout: float | None = 1.0, max_records: int | None = None
    ) -> ConsumerRecords[K, V]:
        """Return records as soon as there are some, none after ``timeout`` seconds.

        At most ``max_records`` (``max_poll_records``); a timeout of None has no limit. A poll
        finishes the records of the poll before. Raises the error that keeps a partition from being
        read, after the records before it were returned.
        """
        limits = self._core.limits
        spans, records = await self._take(
            limits.poll_records(max_records), limits.poll_deadline(timeout)
        )
        taken = ConsumerRecords[K, V](spans, records)
        # From here to the end nothing is called: the handler of a signal would run after a call.
        self._reader.is_under_way = False
        return taken

    async def process(
        self,
        handler: Callable[[ConsumerRecord[K, V]], object],
        *,
        concurrency: int = 16,
        ordering: str = "partition",
        deadline: float | None = None,
        retry: RetryPolicy | None = None,
        dead_letter: str
        | Callable[[ConsumerRecord[bytes, bytes], Exception], object]
        | None = None,
        producer: AsyncProducer[Any, Any] | None = None,
    ) -> None:
        """Call ``handler`` with each record, many side by side; commit what is finished in order.

        Returns once the consumer is closed; after :meth:`wakeup` once running handlers are done. At
        most ``concurrency`` run at once, each in a task, and keep an ``ordering``: that of the
        "partition", of the "key" (records without one have no order), or "none". After ``deadline``
        seconds a handler is cancelled; in a thread it has to ask :func:`current_attempt`.

        Offsets are committed up to the first unfinished record, whatever ``enable_auto_commit``
        says. The commit notes what is finished behind it: a restart does not repeat that. When the
        group takes partitions away, their handlers may finish for most of ``max_poll_interval_ms``.

        A handler that fails is called again as ``retry`` says. Then its record, as bytes, goes to
        ``dead_letter``, a topic or a callable that gets record and error; one that cannot be
        deserialized goes there at once. Without ``dead_letter``, the error ends the call and is
        raised, after the others have finished; the record is read again.

        With a ``producer``, the handler returns a :class:`ProducerRecord`, several, or None. With a
        ``transactional_id`` its transactions contain these and the offsets: exactly once.
        """
        from pyk.clients.processing.async_driver import process_in_tasks

        await process_in_tasks(
            self,
            handler,
            concurrency=concurrency,
            ordering=ordering,
            deadline=deadline,
            retry=retry,
            dead_letter=dead_letter,
            producer=producer,
        )

    async def process_batches(
        self,
        handler: Callable[[ConsumerRecords[K, V]], object],
        *,
        max_records: int = 500,
        concurrency: int = 16,
        ordering: str = "partition",
        deadline: float | None = None,
        retry: RetryPolicy | None = None,
        dead_letter: str
        | Callable[[ConsumerRecord[bytes, bytes], Exception], object]
        | None = None,
        producer: AsyncProducer[Any, Any] | None = None,
    ) -> None:
        """Call ``handler`` with batches of records, and otherwise do as :meth:`process`.

        A batch has what is there of one partition when a call can begin, at most ``max_records``,
        in their ``ordering``: a sequence with ``to_arrow()``. It is finished as a whole.

        One that fails is handled again as a whole; after the attempts of ``retry`` its halves are,
        until it is known which records fail. These go to a retry topic or to ``dead_letter``.
        """
        from pyk.clients.processing.async_driver import process_in_tasks

        await process_in_tasks(
            self,
            handler,
            max_records=max_records,
            concurrency=concurrency,
            ordering=ordering,
            deadline=deadline,
            retry=retry,
            dead_letter=dead_letter,
            producer=producer,
        )

    async def _do(self, step: Step) -> Any:
        if not isinstance(step, TellListener):
            return await super()._do(step)
        told = tell_listener(self._core.subscription_calls.listener, step.event)
        if inspect.isawaitable(told):
            await told
        return None

    # -- what to read ------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | SubscriptionPattern | None = None,
        listener: RebalanceListener | None = None,
    ) -> Done:
        """Read these topics, or all whose whole name matches ``pattern``, instead of others.

        A ``str`` is in the syntax of Python, a :class:`SubscriptionPattern` in that of RE2.
        With a ``group_id`` the members of the group share the partitions; without one this consumer
        reads all of them. Raises :class:`StateError` while partitions are assigned by hand.
        """
        return self._at_once(self._core.subscription_calls.subscribe, topics, pattern, listener)

    async def unsubscribe(self) -> None:
        """Read nothing more: commit what is finished, and leave the group.

        What was handed out last does not count as finished, unless ``commit()`` is called first.
        """
        await self._run(self._unsubscribe_steps(), alone=True)

    def enforce_rebalance(self, reason: str | None = None) -> Done:
        """Make the members of the group join again, so that its partitions are divided again.

        ``reason`` is what the coordinator logs (KIP-568). With ``group_protocol="consumer"`` the
        coordinator alone decides, and the call only warns. Raises :class:`StateError` without a
        ``group_id``.
        """
        return self._at_once(self._core.subscription_calls.enforce_rebalance, reason)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> Done:
        """Read these partitions and no others, without sharing them with a group."""
        return self._at_once(self._core.subscription_calls.assign, partitions)

    # -- positions ---------------------------------------------------------------------------------

    async def position(self, partition: tuple[str, int], *, timeout: float | None = None) -> int:
        """Return the offset of the next record that the application gets of a partition."""
        return await self._wait_for(self._core.position_calls.position, partition, timeout)

    def seek(self, partition: tuple[str, int], offset: int | OffsetAndMetadata) -> Done:
        """Read a partition on from ``offset``.

        If the group took it away and gave it back since the last poll, the seek is ignored with a
        warning: another member may have committed more meanwhile, as the listener hears first.
        """
        return self._at_once(self._core.position_calls.seek, partition, offset)

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> Done:
        """Seek to the first record of the given partitions (default: all assigned ones)."""
        return self._at_once(self._core.position_calls.seek_to, partitions, OffsetSpec.EARLIEST)

    def seek_to_end(self, *partitions: tuple[str, int]) -> Done:
        """Seek to the end of the given partitions (default: all assigned ones)."""
        return self._at_once(self._core.position_calls.seek_to, partitions, OffsetSpec.LATEST)

    def pause(self, *partitions: tuple[str, int]) -> Done:
        """Stop returning records of these partitions; fetched records are kept."""
        return self._at_once(self._core.position_calls.pause, partitions)

    def resume(self, *partitions: tuple[str, int]) -> Done:
        """Return records of these partitions again."""
        return self._at_once(self._core.position_calls.resume, partitions)

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused."""
        return self._core.position_calls.paused()

    # -- offsets -----------------------------------------------------------------------------------

    async def commit(
        self, offsets: CommitArgument | None = None, *, timeout: float | None = None
    ) -> None:
        """Commit everything the application got so far, or a record, a batch, or given offsets.

        Any task may commit offsets that it names. Without arguments only the task that polled last
        may call it, because the call finishes its records; others get :class:`ConcurrentUseError`.
        Raises :class:`CommitFailedError` for what was handed out before the group took the
        partition away, also if it came back since, :class:`StateError` for records of another
        consumer, :class:`KafkaTimeoutError` after ``timeout`` seconds
        (``default_api_timeout_ms``), and :class:`WakeupError` if :meth:`wakeup` interrupts it: the
        offsets may have been stored then, unless the error is ``definite``.
        """
        await self._run(self._commit_steps(offsets, timeout), alone=offsets is None)

    def commit_async(
        self, offsets: CommitArgument | None = None, callback: CommitCallback | None = None
    ) -> Done:
        """Commit what :meth:`commit` does, without waiting for the coordinator.

        Commits are stored in the order of the calls, also where one has to be retried. Polls,
        commits and ``close`` of the task that polls call ``callback(offsets, error)`` in that
        order, with the error of :meth:`commit` or None. Without a callback a failure is logged.
        """
        self._commit_async(offsets, callback)
        return DONE

    async def committed(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where it has not."""
        return await self._wait_for(self._core.commit_calls.committed, partitions, timeout)

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> set[int]:
        """Return the partitions of a topic; raise :class:`KafkaTimeoutError` if it has none in
        time."""
        return await self._wait_for(self._core.position_calls.partitions_for, topic, timeout)

    async def beginning_offsets(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record of each partition."""
        return await self._wait_for(
            self._core.position_calls.end_offsets, partitions, OffsetSpec.EARLIEST, timeout
        )

    async def end_offsets(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last record, with read_committed the last stable offset."""
        return await self._wait_for(
            self._core.position_calls.end_offsets, partitions, OffsetSpec.LATEST, timeout
        )

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the offset of the first record at or after each time (ms), None if there is
        none."""
        return await self._wait_for(
            self._core.position_calls.offsets_for_times, timestamps, timeout
        )

    async def lag(self, *, timeout: float | None = None) -> dict[TopicPartition, int]:
        """Return how many offsets lie between the position and the end of each partition.

        With read_committed the end is the last stable offset; ``health()`` shows in ``held_back``
        what open transactions hold back after it.
        """
        return await self._wait_for(self._core.position_calls.lag, timeout)
