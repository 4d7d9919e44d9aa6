"""The blocking share consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.consumer.faces.blocking_face import BlockingFace
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.records import ConsumerRecords
from pyk.clients.interpreter import check_interpreter
from pyk.clients.payload import K, V
from pyk.clients.share.commit_ticket import AcknowledgementCallback
from pyk.clients.share.foreign_calls import refuse_given
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_core import ShareCore
from pyk.clients.share.share_face import Committed, ShareConsumerFace
from pyk.clients.share.share_reader import ShareReader

if TYPE_CHECKING:
    from pyk.clients.processing.retries import RetryPolicy


class ShareConsumer(ShareConsumerFace[K, V], BlockingFace[K, V]):
    """Reads records of topics as a member of a share group.

    :class:`AsyncShareConsumer` is its asyncio twin.

    Any number of members share the records of a partition. Each record is locked for the member
    that got it until it is acknowledged, or until the lock is over: then it is delivered again.

    ``for record in consumer`` and ``consumer.poll()`` return records.
    By default they are accepted once the loop body has finished with them, or once the next poll is
    called. With ``share_acknowledgement_mode="explicit"`` the application says of each record what
    becomes of it: :meth:`acknowledge`.

    One thread at a time may use it; another one gets :class:`ConcurrentUseError`. ``close``,
    ``wakeup``, ``health`` and ``stats`` may be called by any.
    """

    _core: ShareCore
    _buffer: ShareBuffer
    _reader: ShareReader

    def _set_up(
        self, config: ShareConsumerConfig, topics: Iterable[str] | None, **environment: Any
    ) -> None:
        self._create(
            lambda **pace: ShareCore(config, topics, **pace, **environment),
            environment.get("clock"),
        )

    # -- life --------------------------------------------------------------------------------------

    def close(self, timeout: float | None = None) -> None:
        """Send what is acknowledged, give back all other records, leave the group and end.

        It takes at most ``timeout`` seconds (30), and without a ``timeout`` waits no longer than 5
        seconds for a leader that cannot be reached.

        The record, or the batch, that was handed out last is given back, unless it was acknowledged
        or ``commit()`` was called, or the ``with`` block is left without an exception. Any
        thread may close it.
        """
        self._close(timeout, self._close_steps)

    # -- records -----------------------------------------------------------------------------------

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:  # type: ignore[override]
            """Yield records one at a time, without end; taking one accepts the one before."""
            ...

    def poll(
        self, timeout: float | None = 1.0, max_records: int | None = None
    ) -> ConsumerRecords[K, V]:
        """Return records as soon as there are some, none after ``timeout`` seconds.

        At most ``max_records`` (``max_poll_records``); a timeout of None has no limit. A poll
        accepts the records of the poll before; with explicit acknowledgement it raises
        :class:`StateError` if one of them is not acknowledged. A record that cannot be read is
        released and its error raised, after the records before it were returned.
        """
        limits = self._core.limits
        spans, records = self._take(limits.poll_records(max_records), limits.poll_deadline(timeout))
        taken = ConsumerRecords[K, V](spans, records)
        # From here to the end nothing is called: the handler of a signal would run after a call.
        self._reader.is_under_way = False
        return taken

    def process(
        self,
        handler: Callable[[ConsumerRecord[K, V]], object],
        *,
        concurrency: int = 16,
        ordering: Literal["none"] = "none",
        deadline: float | None = None,
        retry: RetryPolicy | None = None,
        dead_letter: str
        | Callable[[ConsumerRecord[bytes, bytes], Exception], object]
        | None = None,
        producer: None = None,
    ) -> None:
        """Call ``handler`` with each record, many side by side; acknowledge each by itself.

        Returns once the consumer is closed; after :meth:`wakeup` once running handlers are done. At
        most ``concurrency`` run at once, each in a thread, in no order. The locks of records are
        renewed until they are handled, where brokers can (Kafka 4.2). After ``deadline`` seconds a
        handler is cancelled; in a thread it has to ask :func:`current_attempt`.

        A record is accepted when its handler returns. A handler that fails is called again as
        ``retry`` says. Then its record, as bytes, goes to ``dead_letter``, a topic or a callable
        that gets record and error, and is rejected; without ``dead_letter`` it is released, and
        delivered again as often as the group allows. So is one that cannot be deserialized.
        A ``producer``, and an ``ordering`` as :class:`Consumer` has it, are refused.
        """
        check_interpreter("a client cannot be used")
        from pyk.clients.processing.share_handlers import share_in_threads

        share_in_threads(
            self,
            handler,
            concurrency=concurrency,
            ordering=ordering,
            deadline=deadline,
            retry=retry,
            dead_letter=dead_letter,
            producer=producer,
        )

    # -- what to read ------------------------------------------------------------------------------

    def subscribe(
        self, topics: Iterable[str] = (), *, pattern: None = None, listener: None = None
    ) -> None:
        """Read these topics instead of others, together with the other members of the group."""
        refuse_given("subscribe()", pattern=pattern, listener=listener)
        self._at_once(self._core.subscription_calls.subscribe, topics)

    def unsubscribe(self) -> None:
        """Read nothing more: give back what is not acknowledged, and leave the group."""
        self._run(self._unsubscribe_steps(), alone=True)

    # -- acknowledgements --------------------------------------------------------------------------

    def commit(self, records: None = None, *, timeout: float | None = None) -> Committed:
        """Send what is acknowledged, and return it: ranges of offsets by partition.

        Without explicit acknowledgement it accepts all that the application got. Raises the error
        of a partition whose acknowledgements failed, with those of further ones as notes:
        :class:`InvalidRecordStateError` if the lock of a record was over, which then is delivered
        again. Raises :class:`KafkaTimeoutError` after ``timeout`` seconds
        (``default_api_timeout_ms``), and :class:`WakeupError` if :meth:`wakeup` interrupts it.
        """
        refuse_given("commit()", records=records)
        return self._run(self._commit_steps(timeout), alone=True)

    def commit_async(self) -> None:
        """Send what :meth:`commit` does, without waiting.

        The callback of :meth:`set_acknowledgement_commit_callback` hears of the outcome; without
        one a failure is logged.
        """
        self._commit_soon()

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCallback | None) -> None:
        """Call ``callback(offsets, error)`` with the outcome of all acknowledgements.

        ``offsets`` has ranges of offsets by partition, and ``error`` is None if its leader took
        them. Polls, commits and ``close`` of the thread that polls call it.
        """
        self._at_once(self._core.commits.set_callback, callback)
