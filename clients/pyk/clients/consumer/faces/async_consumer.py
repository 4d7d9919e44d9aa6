"""The asyncio consumer."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.commits.offsets_argument import CommitArgument, offsets_to_commit
from pyk.clients.consumer.faces.closing import warn_of_dropped
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.faces.face import ConsumerFace
from pyk.clients.consumer.faces.read_path import AsyncReadPath
from pyk.clients.consumer.faces.rebalance_listener import RebalanceListener, tell_listener
from pyk.clients.consumer.faces.task_waiter import TaskWaiter
from pyk.clients.consumer.group.actions import ApplicationEvent
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.engine.context import AsyncContext
from pyk.clients.errors import ConcurrentUseError, StateError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.payload import K, V
from pyk.clients.topic_partition import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition


class AsyncConsumer(ConsumerFace[K, V], AsyncReadPath, AsyncContext):
    """Reads records of topics, alone or as a member of a group.

    ``async for record in consumer`` and ``await consumer.poll()`` give records. What the loop body
    finished, or what an earlier poll returned, is what gets committed: at least once. Options are
    Kafka's, with ``_`` for ``.``; the table is :class:`~pyk.clients.config.ConsumerConfig`.

    All of it is used on one event loop, by one task at a time; ``close``, ``wakeup``, ``health``,
    ``stats`` and commits of named offsets by any. Methods that
    wait for nothing act at once; awaiting them does no harm.
    ``clock``, ``network`` and ``random`` are its ways to the world, for tests.
    """

    def _set_up(
        self, config: ConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        waiter = TaskWaiter()
        core = ConsumerCore(
            config,
            topics,
            on_data=waiter.set,
            on_records=waiter.set_before,
            on_room=_soon,
            **environment,
        )
        AsyncReadPath.__init__(self, core, waiter)

    # -- life --------------------------------------------------------------------------------------

    async def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, else the first ``poll``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        await self._core.start(timeout)

    async def close(self, timeout: float | None = None) -> None:
        """Commit what is finished, leave the group and end, within ``timeout`` seconds (30).

        Where no ``timeout`` is given, a coordinator that cannot be reached is waited for no longer
        than 5 seconds; what is not committed then is read again.

        The record, or the batch, that was handed out last does not count as finished: nothing tells
        whether it is. ``commit()`` before says so, and so does leaving the ``async with`` block
        without an exception. Any task of the consumer's event loop may close it; on another loop it
        raises :class:`StateError`.
        """
        core = self._core
        if core.is_closed:
            return
        core.client.check_place()
        deadlines = core.closing(timeout)
        try:
            for event in await core.begin_leaving(deadlines.commit):
                await self._call_listener(event)
        except asyncio.CancelledError:
            deadlines = core.hurried_closing()
            raise
        finally:
            await core.close(deadlines.end)

    def _is_taker(self) -> bool:
        """Tell whether this task may say that what was handed out last is finished."""
        taker = self._taker
        return taker is None or taker is asyncio.current_task() or taker.done()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or core.is_closed or not core.is_started or core.client.guard.is_forked:
            return
        warn_of_dropped(self)
        if not sys.is_finalizing():
            core.abandon_soon()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None and self._is_taker():
            self._reader.finish()
        await self.close()

    # -- records -----------------------------------------------------------------------------------

    if TYPE_CHECKING:

        def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:  # type: ignore[override]
            """Give records one by one, without end; taking one finishes the one before."""
            ...

    async def poll(
        self, timeout: float | None = 1.0, max_records: int | None = None
    ) -> ConsumerRecords[K, V]:
        """Return records as soon as there are some, none after ``timeout`` seconds.

        At most ``max_records`` (``max_poll_records``); a timeout of None has no limit. Coming for
        more finishes what the last poll returned. Raises what keeps a partition from being read;
        records before it came first.
        """
        limit, deadline = self._core.poll_limit(max_records), self._core.poll_deadline(timeout)
        spans, records = await self._take(limit, deadline)
        taken = ConsumerRecords[K, V](spans, records)
        # From here to the end nothing is called: the handler of a signal would run after a call.
        self._reader.is_under_way = False
        return taken

    async def _begin(self) -> None:
        if not self._core.is_started and not self._core.is_closed:
            await self.start()
        self._has_begun = True

    async def _attend(self, deadline: float | None) -> None:
        """Look what there is besides records, and do it."""
        self._raise_if_ended(self._core.client.guard)
        self._reader.come_back()
        while (event := await self._core.begin_event(deadline)) is not None:
            try:
                await self._call_listener(event)
            finally:
                self._core.finish_event(event)

    async def _call_listener(self, event: ApplicationEvent) -> None:
        waiting = tell_listener(self._core.listener, event)
        if waiting is not None:
            await waiting

    def _refuse_nested_use(self) -> None:
        """Raise while records are taken: by another task, or here, by a deserializer."""
        self._refuse_other_tasks(asyncio.current_task())
        if self._user is not None and self._reader.is_under_way:
            raise StateError(
                "a deserializer cannot come for records or commit them while others are taken"
            )

    # -- what to read ------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> Done:
        """Read these topics, or all whose whole name matches ``pattern``, instead of others.

        With a ``group_id`` the members of the group share the partitions; without one this consumer
        reads all of them. Raises :class:`StateError` while partitions are assigned by hand.
        """
        self._core.subscribe(topics, pattern, listener)
        return DONE

    async def unsubscribe(self) -> None:
        """Read nothing more: commit what is finished, and leave the group.

        What was handed out last does not count as finished; ``commit()`` before says that it is.
        """
        self._refuse_other_tasks(asyncio.current_task())
        for event in await self._core.begin_leaving(self._core.deadline(None)):
            await self._call_listener(event)
        await self._core.unsubscribe()

    def assign(self, partitions: Iterable[tuple[str, int]]) -> Done:
        """Read these partitions and no others, without sharing them with a group."""
        self._core.assign(partitions)
        return DONE

    # -- positions ---------------------------------------------------------------------------------

    async def position(self, partition: tuple[str, int], *, timeout: float | None = None) -> int:
        """Return the offset of the next record that the application gets of a partition."""
        return await self._core.position_calls.position(partition, timeout)

    def seek(self, partition: tuple[str, int], offset: int | OffsetAndMetadata) -> Done:
        """Read a partition on from ``offset``."""
        self._core.position_calls.seek(partition, offset)
        return DONE

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> Done:
        """Read partitions, all that are assigned if none is named, from their first record."""
        self._core.position_calls.seek_to(partitions, OffsetSpec.EARLIEST)
        return DONE

    def seek_to_end(self, *partitions: tuple[str, int]) -> Done:
        """Read of partitions, all that are assigned if none is named, only what is to come."""
        self._core.position_calls.seek_to(partitions, OffsetSpec.LATEST)
        return DONE

    def pause(self, *partitions: tuple[str, int]) -> Done:
        """Give no records of these partitions; what is fetched of them is kept."""
        self._core.position_calls.pause(partitions)
        return DONE

    def resume(self, *partitions: tuple[str, int]) -> Done:
        """Give records of these partitions again."""
        self._core.position_calls.resume(partitions)
        return DONE

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused."""
        return self._core.position_calls.paused()

    # -- offsets -----------------------------------------------------------------------------------

    async def commit(
        self, offsets: CommitArgument | None = None, *, timeout: float | None = None
    ) -> None:
        """Commit everything the application got so far, or a record, a batch, or given offsets.

        Any task may commit what it names. Without arguments it takes the task that came for records
        last, for they are finished then; others get :class:`ConcurrentUseError`. Raises
        :class:`CommitFailedError` for what was handed out before the group took the partition away,
        also if it came back since, and :class:`KafkaTimeoutError` after ``timeout`` seconds
        (``default_api_timeout_ms``).
        """
        if offsets is not None:
            await self._core.commit(offsets_to_commit(offsets), timeout)
            return
        self._refuse_nested_use()
        if not self._is_taker():
            raise ConcurrentUseError(
                f"{self._taker!r} came for records last: commit() there, or name here what is "
                "finished, a record for instance"
            )
        self._reader.finish()
        await self._core.commit(None, timeout)

    async def committed(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where it has not."""
        return await self._core.committed(partitions, timeout)

    async def beginning_offsets(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record of each partition."""
        return await self._core.position_calls.end_offsets(partitions, OffsetSpec.EARLIEST, timeout)

    async def end_offsets(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset behind the last record, with read_committed the last stable offset."""
        return await self._core.position_calls.end_offsets(partitions, OffsetSpec.LATEST, timeout)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or behind each time (ms), None where there is none."""
        return await self._core.position_calls.offsets_for_times(timestamps, timeout)

    async def lag(self, *, timeout: float | None = None) -> dict[TopicPartition, int]:
        """Return how many offsets lie between the position and the end of each partition."""
        return await self._core.position_calls.lag(timeout)


def _soon(look: Callable[[], None]) -> None:
    """Have the next fetch leave when all is taken of which there is something now."""
    asyncio.get_running_loop().call_soon(look)


class Done:
    """What methods that wait for nothing return, so that awaiting them does no harm."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


DONE = Done()
