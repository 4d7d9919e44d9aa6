"""A cluster in this process, on the caller's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from os import PathLike
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyk.runtime.checked_arguments import (
    checked_count,
    checked_flag,
    checked_int,
    checked_text,
)
from pyk.runtime.clock import Clock
from pyk.runtime.current_host import current_host
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.network import Network
from pyk.runtime.network.host_name import reachable_host
from pyk.runtime.wrong_twin import AwaitedTwin

from .address import WILDCARDS, format_address
from .broker import Broker
from .cluster_arguments import (
    check_brokers,
    check_criteria,
    check_environment,
    check_node,
    check_skew,
    checked_configs,
)
from .cluster_environment import check_clock, environment_of, paths_of
from .config import BrokerConfigLayers
from .data_folders import METADATA_LOG_DIR, data_folders
from .failed_nodes import FailedNodes
from .fault_injector import FaultInjector, ReceivedRequest, RequestLog
from .faults import FaultRules
from .listener_arguments import (
    access_configs,
    checked_tls,
    checked_users,
    client_options,
    listener_configs,
    tls_configs,
    user_configs,
)
from .listeners import SecurityProtocol, listeners_of
from .quick_start import quick_start
from .security.certificates import Certificates

if TYPE_CHECKING:
    from pyk.protocol.records import ConsumerRecord
    from pyk.runtime.filesystem.faulty import FaultyFileSystem

    from .client_metrics.latest_pushes import ClientMetrics
    from .controller.image import MetadataImage
    from .expectations import ExpectedRecord
    from .handlers.dispatcher import Dispatcher
    from .partition import Partition
    from .record_notation import WrittenRecord
    from .security.client_files import ClientFolder
    from .services import BrokerServices
    from .storage import StorageError

DataDir = str | PathLike[str] | Iterable[str | PathLike[str]]
"""A folder, or several: each node then has a log directory in each of them."""

OPEN_IT = "enter it with a `with` statement, or call open()"
ENTER_IT = "enter it with `async with`, or await open()"


class AsyncCluster(AwaitedTwin):
    """A cluster on the running event loop, on free loopback ports.

    Without ``data_dir`` all data is in memory, and outlives stopping and killing nodes, but not the
    cluster. With several folders, or with ``log_dirs``, a node spreads its logs over as many
    directories (:meth:`log_dirs`). ``config`` takes Kafka's broker and topic configuration names.
    ``advertise``, a host or ``host:port``, is where clients are told to connect; by default that is
    where the broker listens, and with ``host="0.0.0.0"`` the address at which each client reached
    it.

    A broker has one listener, ``PLAINTEXT``, on ``host`` (127.0.0.1) and ``port`` (a free one),
    unless ``config`` has ``listeners``. There port 0 is a free one, too, which a node keeps when it
    is started again.

    ``sasl``, passwords by user, makes clients log in: by SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN.
    With ``super_users``, some of these users, the others may do only what ACLs allow them. With
    ``tls`` and no ``sasl``, users are then those in the certificates of clients.
    ``tls`` encrypts connections, by certificates that the cluster makes for itself (extra ``tls``).
    The listener is then ``SASL_PLAINTEXT``, ``SSL`` or ``SASL_SSL``. :meth:`client_options` has
    what a client needs.
    """

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
        network: Network | None = None,
        filesystem: FileSystem | None = None,
        random: Random | None = None,
    ) -> None:
        check_brokers(brokers)
        given = quick_start(config or {})
        self._folders = data_folders(paths_of(data_dir), log_dirs, given)
        check_environment(clock, network, filesystem, random)
        has_folder = data_dir is not None or bool(self._folders.log_dirs)
        is_in_memory = not has_folder or current_host() is not None
        self._has_own_disk = filesystem is None and is_in_memory
        environment = environment_of(clock, network, filesystem, random, in_memory=is_in_memory)
        self._environment = environment
        self.clock = environment.clock
        self._skewed_seconds = 0.0
        self._users = checked_users(sasl)
        self._certificates = Certificates() if checked_tls(tls) else None
        given = self._restricted(given, super_users)
        self._config = self._secured(given, host, port, advertise, environment.random)
        self._listeners = [listeners_of(BrokerConfigLayers.of(self._config).broker_config())]
        self._client_folder: ClientFolder | None = None
        self._brokers: dict[int, Broker] = {}
        self._injectors: dict[int, FaultInjector] = {}
        self._request_log = RequestLog()
        self._failed_nodes = FailedNodes()
        self._how_to_open = ENTER_IT
        self._loop: asyncio.AbstractEventLoop | None = None
        self.faults = FaultRules(environment.random.random, self._metadata, brokers)
        """Rules that make requests go wrong."""

    def _restricted(
        self, config: dict[str, object], super_users: Iterable[str] | None
    ) -> dict[str, object]:
        """Return the configuration with an authorizer, if there are super users."""
        if super_users is None:
            return config
        has_certificates = self._certificates is not None
        return access_configs(config, self._users, super_users, has_certificates=has_certificates)

    def _secured(
        self,
        config: dict[str, object],
        host: str | None,
        port: int | None,
        advertise: str | None,
        random: Random,
    ) -> dict[str, object]:
        """Return the configuration with the listener, certificates and users of the cluster."""
        protocol = SecurityProtocol.of(
            has_tls=self._certificates is not None, has_sasl=bool(self._users)
        )
        config |= listener_configs(config, host, port, advertise, protocol)
        if self._certificates is not None:
            config = tls_configs(config, self._certificates, reachable_host())
        if self._users:
            config = user_configs(config, self._users, f"{random.getrandbits(128):032x}")
        return config

    @property
    def bootstrap(self) -> str:
        """The addresses for ``bootstrap_servers``; raises ``RuntimeError`` before :meth:`open`."""
        return self.bootstrap_of(None)

    def bootstrap_of(self, listener: str | None) -> str:
        """Return the addresses of a listener by its name; None is the first that is advertised."""
        check_criteria({"listener": listener}, {})
        addresses = []
        for node in self._listeners:
            named = {each.listener: each for each in node.advertised}
            endpoint = named.get(listener or node.advertised[0].listener)
            if endpoint is None:
                raise ValueError(f"no listener {listener!r} is advertised, only {', '.join(named)}")
            if not endpoint.port:
                raise RuntimeError(f"the cluster has no port yet: {self._how_to_open}")
            host = reachable_host() if endpoint.host in WILDCARDS else endpoint.host
            addresses.append(format_address(host, endpoint.port))
        return ",".join(addresses)

    def client_options(
        self, user: str | None = None, *, listener: str | None = None
    ) -> dict[str, Any]:
        """Return the keyword arguments with which a client connects.

        ``user`` is one of ``sasl``, by default the first; with ``tls`` and no ``sasl`` it is the
        name in the client's certificate. ``listener`` is by default the first that is advertised.
        Raises ``ValueError`` for an unknown one.
        """
        bootstrap = self.bootstrap_of(listener)
        (node,) = self._listeners
        protocol = node.protocol_of(listener or node.advertised[0].listener)
        options = client_options(bootstrap, protocol, self._users, user)
        if protocol.has_tls and self._certificates is not None:
            options["ssl_truststore_certificates"] = self._certificates.trust
            if protocol is SecurityProtocol.SSL:
                identity = self._certificates.of_user(user or "client")
                options["ssl_keystore_certificate_chain"] = identity.chain
                options["ssl_keystore_key"] = identity.key
        return options

    def client_properties(
        self, user: str | None = None, *, listener: str | None = None, librdkafka: bool = False
    ) -> dict[str, str]:
        """Return what :meth:`client_options` does under the names of Java's clients.

        With ``librdkafka`` they are the names of librdkafka, for confluent-kafka. Certificates and
        keys are in files that only this user can read, which :meth:`close` removes.
        """
        from .security.client_files import ClientFolder, java_properties, librdkafka_properties

        checked_flag(librdkafka, "librdkafka")
        if self._client_folder is None:
            self._client_folder = ClientFolder()
        options = self.client_options(user, listener=listener)
        files = self._client_folder.write(options)
        return (librdkafka_properties if librdkafka else java_properties)(options, files)

    def __repr__(self) -> str:
        return f"<AsyncCluster {whereabouts(self)}>"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Start all nodes."""
        check_clock(self.clock, asyncio.get_running_loop().time())
        for node in range(len(self._listeners)):
            await self.start(node)

    def _check_loop(self) -> None:
        """Raise if another event loop runs the nodes: nothing of them would go on in this one."""
        if self._brokers and self._loop is not asyncio.get_running_loop():
            raise RuntimeError(
                "another event loop opened this cluster: enter it in the loop that uses it, such "
                "as with a fixture of the same loop_scope as its tests"
            )

    async def close(self) -> None:
        """Stop all nodes."""
        if self._client_folder is not None:
            self._client_folder.remove()
        if self._has_own_disk:
            self.disk.heal()  # what a test has left must not fail what ends it
        for node in list(self._brokers):
            await self.stop(node)
        await self._failed_nodes.ended()

    async def start(self, node: int = 0) -> None:
        """Start a node, on the port it had before."""
        self._check_node(node)
        if node in self._brokers:
            raise RuntimeError(f"node {node} is already running")
        await self._failed_nodes.ended()
        config = {**self._config, "node.id": str(node)}
        if METADATA_LOG_DIR in config:
            configured = config[METADATA_LOG_DIR]
            config[METADATA_LOG_DIR] = self._folders.metadata_log_dir(node, configured)
        broker = Broker(
            BrokerConfigLayers.of(config),
            self.log_dirs(node),
            self._environment,
            partial(self._with_faults, node),
        )
        self._check_loop()
        await broker.start(self._listeners[node], self._users)
        self._loop = asyncio.get_running_loop()
        assert broker.listeners is not None
        self._listeners[node] = broker.listeners
        self._brokers[node] = broker
        broker.failed_directories.when_lost = partial(self._end_failed, node, broker)
        self._failed_nodes.started(node)

    def _end_failed(self, node: int, broker: Broker, error: StorageError) -> None:
        if self._brokers.get(node) is broker:
            self._failed_nodes.end(node, self._take(node), error)

    def log_dirs(self, node: int = 0) -> tuple[str, ...]:
        """Return the directories that a node has its logs in: ``disk.fail(path)`` breaks one."""
        self._check_node(node)
        return self._folders.of_node(node)

    def _check_node(self, node: int) -> None:
        check_node(node, len(self._listeners))

    def _with_faults(self, node: int, inner: Dispatcher, services: BrokerServices) -> FaultInjector:
        injector = FaultInjector(inner, services, self.faults, self._request_log)
        self._injectors[node] = injector
        return injector

    async def stop(self, node: int = 0) -> None:
        """Stop a node cleanly."""
        await self._take(node).stop()

    async def kill(self, node: int = 0) -> None:
        """Kill a node as ``kill -9`` does: nothing more is written, connections are cut."""
        await self._take(node).kill()

    async def heal(self) -> None:
        """End all faults, of requests and of the disk, set the clock right, start what is down."""
        from pyk.runtime.filesystem.faulty import FaultyFileSystem

        self._check_loop()
        self.faults.clear()
        if isinstance(self._environment.filesystem, FaultyFileSystem):
            self._environment.filesystem.heal()
        if self._skewed_seconds:
            self.skew_clock(-self._skewed_seconds)
        for node in range(len(self._listeners)):
            if node not in self._brokers:
                await self.start(node)

    def skew_clock(self, seconds: float) -> None:
        """Set the wall clock of the node forward, or backward, until :meth:`heal`."""
        step = getattr(self.clock, "step", None)
        if step is None:
            raise RuntimeError(f"clock={self.clock!r} cannot be wrong: it has no method step()")
        check_skew(seconds, self.clock.time_ms())
        step(seconds)
        self._skewed_seconds += seconds

    @property
    def disk(self) -> FaultyFileSystem:
        """The disk of a cluster in memory, which fails on demand: ``disk.full()``."""
        from pyk.runtime.filesystem.faulty import FaultyFileSystem

        filesystem = self._environment.filesystem
        if not isinstance(filesystem, FaultyFileSystem):
            raise RuntimeError(
                f"{type(filesystem).__name__} does not fail on demand: leave out data_dir=, or use "
                "filesystem=FaultyFileSystem(OsFileSystem())"
            )
        return filesystem

    async def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        """Create a topic; raise :class:`ApiError` with Kafka's error code if that fails."""
        from pyk.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig

        self._check_loop()
        checked_text(name, "the name of a topic")
        checked_count(partitions, "partitions", lowest=-1)  # -1: as many as num.partitions says
        replicas = -1 if replication_factor is None else replication_factor
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=checked_int(replicas, "replication_factor"),
            configs=[
                CreatableTopicConfig(name=key, value=str(value))
                for key, value in checked_configs(configs or {}, "configs").items()
            ],
        )
        await self._controller().create_topic(topic)

    # -- records ---------------------------------------------------------------------------------

    async def seed(self, records: Mapping[str, Iterable[WrittenRecord]]) -> None:
        """Append records to topics, which are created with one partition where there are none.

        A record is ``b"value"``, ``("key", "value")``, or has names: ``{"value": …, "headers": …,
        "partition": 2, "timestamp_ms": …}``. Returns once all are stored; raises the broker's error
        for what it does not take.
        """
        from .record_notation import check_list
        from .record_waits import until_safe
        from .seeding import batches_of

        self._check_loop()
        if not isinstance(records, Mapping):
            raise TypeError(f"seed() takes {{topic: records}}, not {type(records).__name__}")
        for topic, written in records.items():
            broker = self._controller()
            check_list(checked_text(topic, "topic"), written)
            if topic in broker.services.internal_topics:
                raise ValueError(f"{topic!r} is written by the broker only")
            if not self._partitions_of(topic):
                await self.create_topic(topic)
            partitions = self._partitions_of(topic)
            now_ms = self._environment.clock.time_ms()
            for number, batch in batches_of(topic, written, len(partitions), now_ms):
                partitions[number].append(batch, needs_all_replicas=True)
            for partition in partitions:
                await until_safe(partition, partial(self._is_running, broker))

    async def records(self, topic: str, *, committed: bool = True) -> list[ConsumerRecord]:
        """Return all records of a topic, by partition and offset.

        Records of open and aborted transactions are left out; ``committed=False`` includes them.
        Raises :class:`ApiError` if there is no such topic.
        """
        from .topic_contents import existing_partitions_of, read_records

        self._check_loop()
        checked_flag(committed, "committed")
        return [
            record
            for partition in existing_partitions_of(self._controller().services, topic)
            for record in read_records(partition, committed=committed)
        ]

    async def expect(
        self,
        topic: str,
        *expected: ExpectedRecord,
        timeout: float = 5.0,
        exactly: bool = True,
    ) -> list[ConsumerRecord]:
        """Wait until a topic has these records, and return them; raise ``AssertionError`` if not.

        Records are written as for :meth:`seed`, and only what is named is compared; a function of
        a record may stand for one. A topic with one partition has them in this order, one with
        several in any. With ``exactly=False`` it may have others, too.
        """
        from .expectations import Expectation
        from .record_waits import until_met

        self._check_loop()
        checked_flag(exactly, "exactly")
        return await until_met(
            Expectation(checked_text(topic, "topic"), expected),
            lambda: self._partitions_of(topic),
            timeout,
            exactly=exactly,
        )

    def _metadata(self) -> MetadataImage | None:
        """Return a copy of the metadata of now, by any thread; None if no node is running."""
        return self._controller().services.image.frozen() if self._brokers else None

    def _partitions_of(self, topic: str) -> list[Partition]:
        """Return the partitions of a topic, none if there is no such topic or no node."""
        from .topic_contents import partitions_of

        return partitions_of(self._controller().services, topic) if self._brokers else []

    def requests(
        self, api: str | None = None, *, client_id: str | None = None, node: int | None = None
    ) -> list[ReceivedRequest]:
        """Return the latest requests that match all given arguments, oldest first."""
        if node is not None:
            self._check_node(node)
        return self._request_log.select(api, client_id, node)

    def client_metrics(self) -> list[ClientMetrics]:
        """Return what clients have pushed of their metrics (KIP-714), the last push of each.

        They push what a resource of type ``CLIENT_METRICS`` asks for in its configuration.
        """
        return self._controller().services.telemetry.pushes.all()

    def _controller(self) -> Broker:
        if not self._brokers:
            reason = f"no node is running: {self._how_to_open}, or start a node"
            raise RuntimeError(self._failed_nodes.why(0) or reason)
        return next(iter(self._brokers.values()))

    def _is_running(self, broker: Broker) -> bool:
        return broker in self._brokers.values()

    def _take(self, node: int) -> Broker:
        if node not in list(self._brokers):  # a dict would not take a node that is no number
            running = ", ".join(map(str, self._brokers)) or "none"
            reason = f"node {node!r} is not running; running nodes: {running}"
            raise RuntimeError(self._failed_nodes.why(node) or reason)
        self._injectors.pop(node).end()
        return self._brokers.pop(node)


async def until_failed(cluster: AsyncCluster) -> StorageError:
    """Wait until a node has stopped because its disks have failed, and return why."""
    return await cluster._failed_nodes.first()


def whereabouts(cluster: AsyncCluster) -> str:
    is_open = all(endpoint.port for node in cluster._listeners for endpoint in node.bound)
    return f"at {cluster.bootstrap}" if is_open else "not open"
