"""The blocking consumer."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pyk.clients.config import ConsumerConfig
from pyk.clients.consumer.commits.offsets_argument import CommitArgument, offsets_to_commit
from pyk.clients.consumer.faces.closing import warn_of_dropped
from pyk.clients.consumer.faces.core import ConsumerCore
from pyk.clients.consumer.faces.face import ConsumerFace
from pyk.clients.consumer.faces.read_path import ApplicationPace, BlockingReadPath
from pyk.clients.consumer.faces.rebalance_listener import RebalanceListener, tell_listener
from pyk.clients.consumer.group.actions import ApplicationEvent
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.engine.context import BlockingContext
from pyk.clients.engine.thread import LoopThread
from pyk.clients.errors import ConcurrentUseError, StateError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.payload import K, V
from pyk.clients.topic_partition import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from pyk.runtime.system_clock import SystemClock

P = ParamSpec("P")
R = TypeVar("R")


class Consumer(ConsumerFace[K, V], BlockingReadPath, BlockingContext):
    """Reads records of topics, alone or as a member of a group; :class:`AsyncConsumer` is the same,
    awaited.

    ``for record in consumer`` and ``consumer.poll()`` give records. What the loop body finished, or
    what an earlier poll returned, is what gets committed: at least once. Heartbeats and fetches go
    on in a thread of its own, however long a record takes; rebalance listeners run inside ``poll``
    and iteration.

    One thread at a time may use it; another one gets :class:`ConcurrentUseError`. ``close``,
    ``wakeup``, ``health``, ``stats`` and commits of named offsets may be called by any.
    """

    def _set_up(
        self, config: ConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        thread = LoopThread("consumer")
        pace = ApplicationPace(thread, environment.get("clock") or SystemClock())
        core = ConsumerCore(
            config,
            topics,
            on_data=pace.waiter.set,
            on_records=pace.take_records,
            on_room=pace.note,
            **environment,
        )
        BlockingReadPath.__init__(self, core, thread, pace)
        thread.guard.on_fork = lambda error: core.forked()

    # -- life --------------------------------------------------------------------------------------

    def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, else the first ``poll``.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``request_timeout_ms``).
        """
        self._thread.call(self._core.start(timeout))

    def close(self, timeout: float | None = None) -> None:
        """Commit what is finished, leave the group and end, within ``timeout`` seconds (30).

        Where no ``timeout`` is given, a coordinator that cannot be reached is waited for no longer
        than 5 seconds; what is not committed then is read again.

        The record, or the batch, that was handed out last does not count as finished: nothing tells
        whether it is. ``commit()`` before says so, and so does leaving the ``with`` block without
        an exception. Any thread may close it.
        """
        core = self._core
        if self._thread.guard.is_forked or core.is_closed:
            return
        deadlines = core.closing(timeout)
        if self._thread.loop is None:  # it never began
            self._thread.close()
            return
        try:
            for event in self._thread.call(core.begin_leaving(deadlines.commit)):
                self._call_listener(event)
        except KeyboardInterrupt:
            deadlines = core.hurried_closing()
            raise
        finally:
            try:
                self._thread.call(core.close(deadlines.end))
            finally:
                self._thread.close()

    def _is_taker(self) -> bool:
        """Tell whether this thread may say that what was handed out last is finished."""
        taker = self._taker
        return taker is None or taker is threading.current_thread() or not taker.is_alive()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or core.is_closed or not core.is_started or self._thread.guard.is_forked:
            return
        warn_of_dropped(self)
        if not sys.is_finalizing():
            self._thread.end_after(core.abandon)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None and self._is_taker():
            self._reader.finish()
        self.close()

    # -- records -----------------------------------------------------------------------------------

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:  # type: ignore[override]
            """Give records one by one, without end; taking one finishes the one before."""
            ...

    def poll(
        self, timeout: float | None = 1.0, max_records: int | None = None
    ) -> ConsumerRecords[K, V]:
        """Return records as soon as there are some, none after ``timeout`` seconds.

        At most ``max_records`` (``max_poll_records``); a timeout of None has no limit. Coming for
        more finishes what the last poll returned. Raises what keeps a partition from being read;
        records before it came first.
        """
        limit, deadline = self._core.poll_limit(max_records), self._core.poll_deadline(timeout)
        spans, records = self._take(limit, deadline)
        taken = ConsumerRecords[K, V](spans, records)
        # From here to the end nothing is called: the handler of a signal would run after a call.
        self._reader.is_under_way = False
        return taken

    def _begin(self) -> None:
        if not self._core.is_started and not self._core.is_closed:
            self.start()
        self._core.check_reading()

    def _attend(self, deadline: float | None) -> None:
        """Look what there is besides records, and do it."""
        self._raise_if_ended(self._thread.guard)
        self._reader.come_back()
        while (event := self._thread.call(self._core.begin_event(deadline))) is not None:
            try:
                self._call_listener(event)
            finally:
                self._call(self._core.finish_event, event)

    def _call_listener(self, event: ApplicationEvent) -> None:
        waiting = tell_listener(self._core.listener, event)
        if waiting is not None:
            raise StateError("the listener of a blocking Consumer cannot be a coroutine")

    def _refuse_other_threads(self) -> None:
        """Raise while another thread is inside of the consumer.

        Nothing is held after this: the lock is taken with ``with``, which is the only way that the
        handler of a signal cannot leave it locked.
        """
        if self._user not in (None, threading.current_thread()):
            raise ConcurrentUseError("another thread is using this consumer; give each its own")

    def _refuse_nested_use(self) -> None:
        """Raise while records are taken: in another thread, or here, by a deserializer."""
        self._refuse_other_threads()
        if self._user is not None and self._reader.is_under_way:
            raise StateError(
                "a deserializer, or the handler of a signal, cannot come for records or commit "
                "them while others are taken"
            )

    def _leave_interrupted_poll(self) -> None:
        """Go back where the handler of a signal has ended a poll: nobody got what it took."""
        if self._user is None and self._is_taker():
            self._reader.go_back()

    def _call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function of the core on its loop, while nobody else uses the consumer."""

        async def call() -> R:
            return function(*args, **kwargs)

        self._refuse_other_threads()
        with self._use:
            self._leave_interrupted_poll()
            return self._thread.call(call())

    # -- what to read ------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read these topics, or all whose whole name matches ``pattern``, instead of others.

        With a ``group_id`` the members of the group share the partitions; without one this consumer
        reads all of them. Raises :class:`StateError` while partitions are assigned by hand.
        """
        self._call(self._core.subscribe, topics, pattern, listener)

    def unsubscribe(self) -> None:
        """Read nothing more: commit what is finished, and leave the group.

        What was handed out last does not count as finished; ``commit()`` before says that it is.
        """
        self._refuse_other_threads()
        with self._use:
            deadline = self._core.deadline(None)
            for event in self._thread.call(self._core.begin_leaving(deadline)):
                self._call_listener(event)
            self._thread.call(self._core.unsubscribe())

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read these partitions and no others, without sharing them with a group."""
        self._call(self._core.assign, partitions)

    # -- positions ---------------------------------------------------------------------------------

    def position(self, partition: tuple[str, int], *, timeout: float | None = None) -> int:
        """Return the offset of the next record that the application gets of a partition."""
        self._leave_interrupted_poll()
        return self._thread.call(self._core.position_calls.position(partition, timeout))

    def seek(self, partition: tuple[str, int], offset: int | OffsetAndMetadata) -> None:
        """Read a partition on from ``offset``."""
        self._call(self._core.position_calls.seek, partition, offset)

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Read partitions, all that are assigned if none is named, from their first record."""
        self._call(self._core.position_calls.seek_to, partitions, OffsetSpec.EARLIEST)

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Read of partitions, all that are assigned if none is named, only what is to come."""
        self._call(self._core.position_calls.seek_to, partitions, OffsetSpec.LATEST)

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Give no records of these partitions; what is fetched of them is kept."""
        self._call(self._core.position_calls.pause, partitions)

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Give records of these partitions again."""
        self._call(self._core.position_calls.resume, partitions)

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused."""
        return self._call(self._core.position_calls.paused)

    # -- offsets -----------------------------------------------------------------------------------

    def commit(
        self, offsets: CommitArgument | None = None, *, timeout: float | None = None
    ) -> None:
        """Commit everything the application got so far, or a record, a batch, or given offsets.

        Any thread may commit what it names. Without arguments it takes the thread that came for
        records last, for they are finished then; others get :class:`ConcurrentUseError`. Raises
        :class:`CommitFailedError` for what was handed out before the group took the partition away,
        also if it came back since, and :class:`KafkaTimeoutError` after ``timeout`` seconds
        (``default_api_timeout_ms``).
        """
        if offsets is not None:
            self._thread.call(self._core.commit(offsets_to_commit(offsets), timeout))
            return
        self._refuse_nested_use()
        if not self._is_taker():
            raise ConcurrentUseError(
                f"the thread {self._taker!r} came for records last: commit() there, or name here "
                "what is finished, a record for instance"
            )
        with self._use:
            self._reader.finish()
            self._thread.call(self._core.commit(None, timeout))

    def committed(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where it has not."""
        return self._thread.call(self._core.committed(partitions, timeout))

    def beginning_offsets(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record of each partition."""
        return self._thread.call(
            self._core.position_calls.end_offsets(partitions, OffsetSpec.EARLIEST, timeout)
        )

    def end_offsets(
        self, partitions: Collection[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset behind the last record, with read_committed the last stable offset."""
        return self._thread.call(
            self._core.position_calls.end_offsets(partitions, OffsetSpec.LATEST, timeout)
        )

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or behind each time (ms), None where there is none."""
        return self._thread.call(self._core.position_calls.offsets_for_times(timestamps, timeout))

    def lag(self, *, timeout: float | None = None) -> dict[TopicPartition, int]:
        """Return how many offsets lie between the position and the end of each partition."""
        self._leave_interrupted_poll()
        return self._thread.call(self._core.position_calls.lag(timeout))
