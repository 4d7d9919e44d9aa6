"""A cluster on a thread of its own, for code that blocks."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pyk.runtime.clock import Clock
from pyk.runtime.current_host import current_host
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.wrong_twin import BlockingTwin

from .cluster import OPEN_IT, AsyncCluster, DataDir, whereabouts
from .fault_injector import ReceivedRequest
from .faults import FaultRules

if TYPE_CHECKING:
    from pyk.protocol.records import ConsumerRecord
    from pyk.runtime.filesystem.faulty import FaultyFileSystem

    from .client_metrics.latest_pushes import ClientMetrics
    from .expectations import ExpectedRecord
    from .record_notation import WrittenRecord

R = TypeVar("R")

BLOCKED_LOOP = (
    "expect() blocked the event loop, so its tasks could not write meanwhile: use AsyncCluster, or "
    "await asyncio.to_thread(cluster.expect, …)"
)


class Cluster(BlockingTwin):
    """A cluster on a thread of its own; see :class:`AsyncCluster` for the same calls awaited."""

    def __init__(
        self,
        brokers: int = 1,
        *,
        data_dir: DataDir | None = None,
        log_dirs: int = 1,
        config: Mapping[str, object] | None = None,
        host: str | None = None,
        port: int | None = None,
        advertise: str | None = None,
        sasl: Mapping[str, str] | None = None,
        super_users: Iterable[str] | None = None,
        tls: bool = False,
        clock: Clock | None = None,
        filesystem: FileSystem | None = None,
    ) -> None:
        self._cluster = AsyncCluster(
            brokers,
            data_dir=data_dir,
            log_dirs=log_dirs,
            config=config,
            host=host,
            port=port,
            advertise=advertise,
            sasl=sasl,
            super_users=super_users,
            tls=tls,
            clock=clock,
            filesystem=filesystem,
        )
        self._cluster._how_to_open = OPEN_IT
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    @property
    def bootstrap(self) -> str:
        """The addresses for ``bootstrap_servers``."""
        return self._cluster.bootstrap

    def bootstrap_of(self, listener: str | None) -> str:
        """Return the addresses of a listener by its name; None is the first that is advertised."""
        return self._cluster.bootstrap_of(listener)

    def client_options(
        self, user: str | None = None, *, listener: str | None = None
    ) -> dict[str, Any]:
        """Return the keyword arguments with which a client connects.

        ``user`` is one of ``sasl``, by default the first; ``listener`` by default the first that is
        advertised. Raises ``ValueError`` for an unknown one.
        """
        return self._cluster.client_options(user, listener=listener)

    def client_properties(
        self, user: str | None = None, *, listener: str | None = None, librdkafka: bool = False
    ) -> dict[str, str]:
        """Return what :meth:`client_options` does under the names of Java's clients.

        With ``librdkafka`` they are the names of librdkafka, for confluent-kafka. Certificates and
        keys are in files that only this user can read, which :meth:`close` removes.
        """
        return self._cluster.client_properties(user, listener=listener, librdkafka=librdkafka)

    @property
    def faults(self) -> FaultRules:
        """Rules that make requests go wrong."""
        self._check_process()
        return self._cluster.faults

    def log_dirs(self, node: int = 0) -> tuple[str, ...]:
        """Return the directories that a node has its logs in: ``disk.fail(path)`` breaks one."""
        return self._cluster.log_dirs(node)

    def __repr__(self) -> str:
        return f"<Cluster {whereabouts(self._cluster)}>"

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Start all nodes."""
        if current_host() is not None:
            raise RuntimeError(
                "a Cluster runs in real time, on a thread of its own: in a simulated world use "
                "AsyncCluster"
            )
        self._check_process()
        if self._loop is not None:
            raise RuntimeError("the cluster is open already: close it first")
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="pyk reference broker", daemon=True
        )
        self._thread.start()
        try:
            self._call(self._cluster.open())
        except BaseException:
            self._end_thread()
            raise

    def close(self) -> None:
        """Stop all nodes and end the thread; do nothing in a forked child."""
        if self._loop is None or self._is_forked:
            return
        try:
            self._call(self._cluster.close())
        finally:
            self._end_thread()

    def start(self, node: int = 0) -> None:
        """Start a node, on the port it had before."""
        self._call(self._cluster.start(node))

    def stop(self, node: int = 0) -> None:
        """Stop a node cleanly."""
        self._call(self._cluster.stop(node))

    def kill(self, node: int = 0) -> None:
        """Kill a node as ``kill -9`` does: nothing more is written, connections are cut."""
        self._call(self._cluster.kill(node))

    def heal(self) -> None:
        """End all faults, of requests and of the disk, set the clock right, start what is down."""
        self._call(self._cluster.heal())

    @property
    def clock(self) -> Clock:
        """The clock of the node."""
        return self._cluster.clock

    def skew_clock(self, seconds: float) -> None:
        """Set the wall clock of the node forward, or backward, until :meth:`heal`."""
        self._check_process()
        self._cluster.skew_clock(seconds)

    @property
    def disk(self) -> FaultyFileSystem:
        """The disk of a cluster in memory, which fails on demand: ``disk.full()``."""
        self._check_process()
        return self._cluster.disk

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        """Create a topic; raise :class:`ApiError` with Kafka's error code if that fails."""
        self._call(self._cluster.create_topic(name, partitions, replication_factor, configs))

    def seed(self, records: Mapping[str, Iterable[WrittenRecord]]) -> None:
        """Append records to topics, which are created with one partition where there are none.

        A record is ``b"value"``, ``("key", "value")``, or has names: ``{"value": …, "headers": …,
        "partition": 2, "timestamp_ms": …}``. Returns once all are stored; raises the broker's error
        for what it does not take.
        """
        self._call(self._cluster.seed(records))

    def records(self, topic: str, *, committed: bool = True) -> list[ConsumerRecord]:
        """Return all records of a topic, by partition and offset.

        Records of open and aborted transactions are left out; ``committed=False`` includes them.
        Raises :class:`ApiError` if there is no such topic.
        """
        return self._call(self._cluster.records(topic, committed=committed))

    def expect(
        self, topic: str, *expected: ExpectedRecord, timeout: float = 5.0, exactly: bool = True
    ) -> list[ConsumerRecord]:
        """Wait until a topic has these records, and return them; raise ``AssertionError`` if not.

        Records are written as for :meth:`seed`, and only what is named is compared; a function of
        a record may stand for one. A topic with one partition has them in this order, one with
        several in any. With ``exactly=False`` it may have others, too.
        """
        try:
            return self._call(
                self._cluster.expect(topic, *expected, timeout=timeout, exactly=exactly)
            )
        except AssertionError as error:
            if asyncio._get_running_loop() is not None:
                error.add_note(BLOCKED_LOOP)
            raise

    def requests(
        self, api: str | None = None, *, client_id: str | None = None, node: int | None = None
    ) -> list[ReceivedRequest]:
        """Return the latest requests that match all given arguments, oldest first."""
        self._check_process()
        return self._cluster.requests(api, client_id=client_id, node=node)

    def client_metrics(self) -> list[ClientMetrics]:
        """Return what clients have pushed of their metrics (KIP-714), the last push of each.

        They push what a resource of type ``CLIENT_METRICS`` asks for in its configuration.
        """
        self._check_process()
        return self._cluster.client_metrics()

    def _call(self, coroutine: Coroutine[Any, Any, R]) -> R:
        try:
            self._check_process()
            if self._loop is None:
                raise RuntimeError(f"the cluster is not open: {OPEN_IT}")
        except RuntimeError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _check_process(self) -> None:
        """Raise in a forked child of the process that has the cluster open."""
        if self._loop is not None and self._is_forked:
            raise RuntimeError(
                f"the cluster runs in process {self._process}, not in this forked child"
            )

    @property
    def _is_forked(self) -> bool:
        return self._process != os.getpid()

    def _end_thread(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None
