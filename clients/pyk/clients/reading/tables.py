"""Read a bounded range of a topic as Arrow tables, blocking and with asyncio."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Generator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack

from pyk.clients.config import ConsumerOptions
from pyk.clients.consumer import AsyncConsumer, Consumer
from pyk.clients.engine.steps import run, run_awaited
from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import ConcurrentUseError, ConfigurationError
from pyk.clients.reading.limits import ReadLimit, ReadLimits
from pyk.runtime.wrong_twin import AwaitedTwin, BlockingTwin

if TYPE_CHECKING:
    import pyarrow

    from pyk.clients.reading.bounded_read import BoundedRead, Step

Order = Literal["arrival", "time"]

FIXED: ConsumerOptions = {
    "group_id": None,
    "auto_offset_reset": "none",
    "enable_auto_commit": False,
    "allow_auto_create_topics": False,
    "key_deserializer": None,
    "value_deserializer": None,
}


def read(
    bootstrap_servers: str | Sequence[str],
    topic: str,
    *,
    start: ReadLimit = "earliest",
    end: ReadLimit = "latest",
    columns: Sequence[str] | None = None,
    order: Order = "arrival",
    **options: Unpack[ConsumerOptions],
) -> TopicTables:
    """Return the records of a topic from ``start`` up to ``end`` as Arrow tables, then end.

    ``start`` and ``end`` are ``"earliest"``, ``"latest"`` (what is there when the read begins), a
    ``datetime`` with a time zone, a ``timedelta`` before now, or a mapping of partitions to any of
    these or to an offset, which reads these partitions only. The end is exclusive. A time stands
    for the first record at or after it; if there is none, for ``"latest"``.

    ``columns`` are those of :meth:`ConsumerRecords.to_arrow`. Records of one partition keep their
    order. With ``order="time"`` partitions are merged by timestamp; with ``"arrival"`` records come
    as brokers return them. With ``isolation_level="read_committed"`` only committed records come,
    and ``"latest"`` is where the first open transaction begins. ``options`` are the consumer's.

    Nothing is connected before the first table is asked for. The iteration raises
    :class:`UnknownTopicOrPartitionError` for a topic or partition that does not exist,
    :class:`OffsetOutOfRangeError` for named offsets that the log does not have and for records that
    retention deletes during the read, and what :meth:`Consumer.poll` raises.
    """
    consumer: Consumer[Any, Any] = _consumer(Consumer, bootstrap_servers, options)
    limits = ReadLimits.of(start, end, _now_ms(consumer))
    return TopicTables(consumer, _bounded_read(topic, limits, columns, order))


def aread(
    bootstrap_servers: str | Sequence[str],
    topic: str,
    *,
    start: ReadLimit = "earliest",
    end: ReadLimit = "latest",
    columns: Sequence[str] | None = None,
    order: Order = "arrival",
    **options: Unpack[ConsumerOptions],
) -> AsyncTopicTables:
    """Return the tables of :func:`read` as an asynchronous iterator."""
    consumer: AsyncConsumer[Any, Any] = _consumer(AsyncConsumer, bootstrap_servers, options)
    limits = ReadLimits.of(start, end, _now_ms(consumer))
    return AsyncTopicTables(consumer, _bounded_read(topic, limits, columns, order))


class TopicTables(BlockingTwin):
    """Arrow tables of a bounded range: an iterator of ``pyarrow.Table``, and an Arrow stream.

    There is at least one table, which is empty if the range is. Once the iteration has ended, was
    given up, or raised, the connections are closed; so they are after a ``with`` block. A read that
    was closed, or has raised, raises :class:`ClosedError` when it is asked for more.
    """

    _written_as = "read()", "aread()"

    def __init__(self, consumer: Consumer[Any, Any], bounded_read: BoundedRead) -> None:
        self.schema: pyarrow.Schema = bounded_read.schema
        self._read = bounded_read
        self._tables = _tables(consumer, bounded_read)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pyarrow.Table:
        if inspect.getgeneratorstate(self._tables) == inspect.GEN_RUNNING:
            raise ConcurrentUseError("another thread is using this read: give each its own")
        try:
            return next(self._tables)
        except StopIteration:
            self._read.check_end()
            raise

    if not TYPE_CHECKING:

        def __aiter__(self) -> NoReturn:
            raise self._needs_no_async("for")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rest of the records as an Arrow stream, for pandas, polars, DuckDB and others.

        They find this method by themselves (the Arrow PyCapsule interface).
        """
        import pyarrow as pa

        self._read.check_stream()
        if inspect.getgeneratorstate(self._tables) == inspect.GEN_CLOSED:
            self._read.check_end()
        batches = (batch for table in self for batch in table.to_batches())
        reader = pa.RecordBatchReader.from_batches(self.schema, batches)
        return reader.__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """End the read and close its connections."""
        self._tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncTopicTables(AwaitedTwin):
    """Arrow tables of a bounded range, as :class:`TopicTables`, for ``async for``."""

    _written_as = "aread()", "read()"

    def __init__(self, consumer: AsyncConsumer[Any, Any], bounded_read: BoundedRead) -> None:
        self.schema: pyarrow.Schema = bounded_read.schema
        self._read = bounded_read
        self._tables = _awaited_tables(consumer, bounded_read)
        self._is_in_use = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pyarrow.Table:
        if self._is_in_use:
            raise ConcurrentUseError("another task is using this read: give each its own")
        self._is_in_use = True
        try:
            return await anext(self._tables)
        except StopAsyncIteration:
            self._read.check_end()
            raise
        finally:
            self._is_in_use = False

    if not TYPE_CHECKING:

        def __iter__(self) -> NoReturn:
            raise self._needs_async("for")

    async def close(self) -> None:
        """End the read and close its connections."""
        await self._tables.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _tables(consumer: Consumer[Any, Any], bounded_read: BoundedRead) -> Generator[pyarrow.Table]:
    def do(step: Step) -> Any:
        return step(consumer)

    with consumer:
        run(bounded_read.begin(), do)
        while (table := run(bounded_read.next_table(), do)) is not None:
            yield table


async def _awaited_tables(
    consumer: AsyncConsumer[Any, Any], bounded_read: BoundedRead
) -> AsyncGenerator[pyarrow.Table]:
    async def do(step: Step) -> Any:
        result = step(consumer)
        return await result if inspect.isawaitable(result) else result

    async with consumer:
        await run_awaited(bounded_read.begin(), do)
        while (table := await run_awaited(bounded_read.next_table(), do)) is not None:
            yield table


def _consumer(kind: Any, bootstrap_servers: str | Sequence[str], options: ConsumerOptions) -> Any:
    """Return a consumer without a group, whose position nothing but the read moves."""
    refused = sorted({*FIXED, "topics"} & options.keys())
    if refused:
        raise ConfigurationError(
            f"a bounded read does not take {', '.join(refused)}: it is of one topic, has no group, "
            "commits and creates nothing, and returns keys and values as bytes"
        )
    return kind(bootstrap_servers, **options, **FIXED)


def _now_ms(consumer: Consumer[Any, Any] | AsyncConsumer[Any, Any]) -> int:
    return consumer._core.client.clock.time_ms()


def _bounded_read(
    topic: str, limits: ReadLimits, columns: Sequence[str] | None, order: Order
) -> BoundedRead:
    from pyk.clients.reading.bounded_read import BoundedRead  # needs pyarrow

    checked_topics([topic])
    if order not in ("arrival", "time"):
        raise ValueError(f"order must be 'arrival' or 'time', not {order!r}")
    return BoundedRead(topic, limits, columns, by_time=order == "time")
