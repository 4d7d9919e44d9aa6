"""One node: broker and controller in one, and its life from start to end.

A start replays: the metadata log gives the image, the image says which logs there are, the logs of
``__consumer_offsets`` give the groups. After a clean shutdown the other logs are opened when
somebody uses them. Then the port is opened and the broker registers, which lets clients see it.
From then on whatever is committed to the metadata log is published, see :mod:`.publishing`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterable
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.connection import ServerConnection
from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import Compression
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import FileSystem
from pyk.runtime.network import Network
from pyk.runtime.timer_driver import TimerDriver
from pyk.runtime.timers import Moment

from .address import format_address
from .config import (
    BrokerConfig,
    BrokerConfigLayers,
    ConfigEntry,
    LogConfig,
    parse_topic_configs,
    stored_broker_configs,
)
from .controller.configs import ALL_BROKERS
from .controller.image import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from .controller.names import CLUSTER_METADATA_TOPIC, GROUP_METADATA_TOPIC
from .controller.records import MetadataRecord
from .controller.shard import BrokerRegistration, ControllerShard
from .controller.topics import TopicDefaults
from .coordinator.runtime import ShardRuntime
from .deferred import Deferred
from .delayed import Purgatory
from .disk import disk_for
from .errors import ApiError
from .handlers.dispatcher import Dispatcher
from .handlers.table import SERVED
from .moved import MovedPartitions
from .network.connection import RequestHandler
from .network.limits import LogLimiter
from .network.listener import BrokerListener, ListenerLimits
from .partition import Partition
from .producer_ids import ProducerIds
from .publishing import MetadataPublisher
from .replicas import Replicas
from .retried_steps import RetriedSteps
from .shard_log import PartitionLog
from .storage import LogManager, StorageError
from .topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.protocol.messages.create_topics import CreatableTopic

    from .coordinator.group.coordinator import GroupCoordinator, GroupRuntime
    from .handlers.fetch_session import FetchSessions

log = logging.getLogger(__name__)

PARTITIONS_IN_A_TURN = 64
"""How many partitions of a topic are opened in one turn of the event loop."""

METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)
METADATA_TOPIC_ID = UUID(int=1)  # Kafka's own for this topic
METADATA_LOG_CONFIG = LogConfig(
    retention_ms=-1, retention_bytes=-1, flush_messages=1, max_message_bytes=64 << 20
)
"""Nothing is ever deleted: there are no snapshots. A change is committed when it is on the disk. It
is one batch, however large: all of it or nothing."""


@slotted.frozen(kw_only=True)
class Environment:
    """Clock, randomness, network and file system: what tests replace."""

    clock: Clock
    random: Random
    network: Network
    filesystem: FileSystem


class Broker:
    """One node. Belongs to the event loop it is started on."""

    def __init__(
        self,
        layers: BrokerConfigLayers,
        data_path: str,
        environment: Environment,
        wrap_handler: Callable[[Dispatcher, Broker], RequestHandler] = lambda inner, _: inner,
    ) -> None:
        self.layers = layers
        self.config: BrokerConfig = layers.broker_config()
        self.node_id = self.config.node_id
        self._warn_of_ineffective()
        layers.static |= {"broker.id": self.node_id, "log.dirs": (data_path,)}
        self._environment = environment
        self._timers = TimerDriver(environment.clock)
        self.delayed_produces = Purgatory("produce", self._timers.queue)
        self.delayed_fetches = Purgatory("fetch", self._timers.queue)
        self.moved = MovedPartitions(
            self._check_moved, lambda check: asyncio.get_running_loop().call_soon(check)
        )
        self._data_path = data_path
        self._disk = disk_for(environment.filesystem)
        self._disk_errors = LogLimiter(log, environment.clock.now)
        self._publisher: MetadataPublisher | None = None
        self.image = MetadataImage()
        self._listener = BrokerListener(
            environment.clock,
            wrap_handler(Dispatcher(self), self),
            lambda: ServerConnection(SERVED),
            _listener_limits(self.config),
        )

    # Imported and made when first used: a broker must start fast.

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        from .handlers.fetch_session import FetchSessions

        return FetchSessions(
            self.config.max_incremental_fetch_session_cache_slots,
            lambda: self._environment.random.getrandbits(31),
        )

    @cached_property
    def groups(self) -> GroupCoordinator:
        from .coordinator.group.coordinator import GroupCoordinator

        return GroupCoordinator(self.config, self._timers.queue, self.moment, self._new_uuid)

    # -- what handlers ask -----------------------------------------------------------------------

    def note_error(self, error: Exception) -> None:
        """Log that a partition could not be read or written, if the disk is to blame."""
        if isinstance(error, StorageError):
            self._disk_errors.warning("%s", error.message)

    @property
    def cluster_id(self) -> str:
        return self._logs.cluster_id

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def metadata_failure(self) -> StorageError | None:
        """Why the metadata log takes no changes until the broker restarts, None if it does."""
        opened = self._logs.get(METADATA_PARTITION)
        return None if opened is None else opened.failure

    def time_ms(self) -> int:
        return self._environment.clock.time_ms()

    def moment(self) -> Moment:
        return Moment(self._environment.clock.now(), self._environment.clock.time_ms())

    def partition(self, topic: str, number: int) -> Partition:
        """Return a partition that this broker holds; raise :class:`ApiError` if it holds none."""
        return self.replicas.get(topic, number)

    def topic_name(self, topic_id: UUID) -> str:
        """Return the name of a topic; raise :class:`ApiError` if there is none with that id."""
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        return topic.name

    def group(self, group_id: str) -> GroupRuntime:
        """Return the shard that coordinates a group; raise :class:`ApiError` if none does here."""
        topic = self.image.topics.get(GROUP_METADATA_TOPIC)
        return self.groups.runtime_for(group_id, len(topic.partitions) if topic else 0)

    def auto_create_topic(self, name: str) -> Deferred[tuple[ErrorCode, str | None]]:
        """Create a topic that a client asks for, with the broker's defaults; tell how it went."""
        from .topic_creation import auto_created_topic, create_topic

        created = create_topic(self.controller, auto_created_topic(name, self.config))
        created.when_done(lambda result: log.debug("Created %r: %s", name, result))
        return created

    def describe_topic_config(self, topic: str) -> list[ConfigEntry]:
        own = parse_topic_configs(self.image.config(TOPIC_RESOURCE, topic))
        return self.layers.describe_topic(own)

    def describe_broker_config(self, *, only_cluster_wide: bool) -> list[ConfigEntry]:
        if only_cluster_wide:
            return self.layers.describe_all_brokers()
        return self.layers.describe_broker()

    async def create_topic(self, topic: CreatableTopic) -> None:
        """Create a topic as CreateTopics does, and return when all of its partitions are open.

        Raises :class:`ApiError` if it cannot be created.
        """
        from .topic_creation import create_topic

        done: asyncio.Future[tuple[ErrorCode, str | None]] = asyncio.Future()
        create_topic(self.controller, topic).when_done(done.set_result)
        code, message = await done
        if code:
            raise ApiError(code, message)
        assert self._publisher is not None
        is_open: asyncio.Future[None] = asyncio.Future()
        self._publisher.when_caught_up(is_open.set_result)
        await is_open

    # -- life ------------------------------------------------------------------------------------

    async def start(
        self,
        host: str,
        port: int,
        advertised_host: str | None = None,
        advertised_port: int | None = None,
    ) -> None:
        """Load everything and serve.

        Clients are told the advertised host and port, by default those that are listened on.
        Raises ``StorageError`` if the data directory cannot be used, and ``OSError`` if the port
        cannot be opened. The directory is then unlocked again, as clean as it was.
        """
        self._logs = self._open_logs()
        try:
            await self._load()
            await self._listener.open(self._environment.network, host, port)
            told_host, told_port = advertised_host or host, advertised_port or self.port
            self.layers.static |= {
                "listeners": (f"PLAINTEXT://{format_address(host, self.port)}",),
                "advertised.listeners": (f"PLAINTEXT://{format_address(told_host, told_port)}",),
            }
            await self._register(told_host, told_port)
        except BaseException:
            await self._listener.close()
            self._timers.close()
            await self._close_logs()
            raise
        self._schedule_maintenance()
        self._schedule_offset_expiry()

    async def stop(self) -> None:
        """Close all connections and write everything to the disk.

        Raises ``StorageError`` at the end if something could not be written.
        """
        await self._listener.close()
        self._timers.close()
        error = await self._close_logs()
        if error is not None:
            raise error

    async def kill(self) -> None:
        """Close everything and write nothing, as if the process had died."""
        await self._listener.close()
        self._timers.close()
        self._logs.abandon()
        await self._disk.close()

    def _open_logs(self) -> LogManager:
        return LogManager.open(
            self._environment.filesystem,
            self._data_path,
            self.config,
            clock=self._environment.clock,
            random=self._environment.random,
            disk=self._disk,
        )

    async def _close_logs(self) -> StorageError | None:
        """Write everything to the disk and close it; return the error, None for success."""
        await self._disk.wait()
        closed: asyncio.Future[StorageError | None] = asyncio.Future()
        self._logs.close(when_closed=closed.set_result)
        error = await closed
        await self._disk.close()
        return error

    async def _load(self) -> None:
        self.controller = await self._open_controller()
        for _ in self.controller.load():
            await asyncio.sleep(0)
        if not self._logs.was_shut_down_cleanly:
            await self._begin_leader_epochs()
        self.producer_ids = ProducerIds(self.controller, self.node_id, -1)
        self.replicas = Replicas(
            self.node_id, self._logs, self.layers, self.image, self._partition_moved
        )
        self._update_broker_config()
        self._logs.set_strays_aside(self._is_in_image)
        self._publisher = MetadataPublisher(
            self.image,
            self.replicas,
            RetriedSteps(self._timers.queue, self.moment),
            groups=lambda: self.groups,
            shard_log=self._offsets_log,
            update_broker_config=self._update_broker_config,
            timers=self._timers.queue,
            moment=self.moment,
        )
        for topic in self.image.topics.values():
            names = [TopicPartition(topic.name, number) for number in topic.partitions]
            if self._logs.was_shut_down_cleanly and topic.name != GROUP_METADATA_TOPIC:
                self._publisher.follow_when_used(names)
            else:
                await self._follow_in_turns(names)

    async def _follow_in_turns(self, names: Iterable[TopicPartition]) -> None:
        assert self._publisher is not None
        for name in names:
            self._publisher.follow(name)
            if name.partition % PARTITIONS_IN_A_TURN == 0:
                await asyncio.sleep(0)

    def _is_in_image(self, name: TopicPartition, topic_id: UUID | None) -> bool:
        topic = self.image.topics.get(name.topic)
        if name == METADATA_PARTITION or topic is None or name.partition not in topic.partitions:
            return name == METADATA_PARTITION
        return topic_id in (None, topic.topic_id)

    async def _begin_leader_epochs(self) -> None:
        written: asyncio.Future[bool] = asyncio.Future()
        self.controller.ask(
            lambda shard, _: shard.begin_leader_epochs(self.node_id), lambda _: False
        ).when_done(lambda result: written.set_result(result is None))
        if not await written:
            raise StorageError(
                f"cannot begin leader epochs: {METADATA_PARTITION} cannot be written"
            )

    async def _register(self, host: str, port: int) -> None:
        registration = BrokerRegistration(
            node_id=self.node_id,
            incarnation_id=self._new_uuid(),
            host=host,
            port=port,
            rack=self.config.broker_rack,
        )
        registered: asyncio.Future[int] = asyncio.Future()
        self.controller.ask(
            lambda shard, _: shard.register_broker(registration), lambda _: -1
        ).when_done(registered.set_result)
        epoch = await registered
        if epoch < 0:
            raise StorageError(f"cannot register: {METADATA_PARTITION} could not be written")
        self.producer_ids = ProducerIds(self.controller, self.node_id, epoch)

    def _offsets_log(self, partition: Partition) -> PartitionLog:
        codec = self.config.offsets_topic_compression_codec
        return PartitionLog(partition, Compression.of_codec(codec))

    # -- changes ---------------------------------------------------------------------------------

    def _commit(self, records: Iterable[MetadataRecord]) -> None:
        """Replay committed records of the metadata log and, once loaded, publish the changes."""
        for record in records:
            for change in self.image.replay(record.message):
                if self._publisher is not None:
                    self._publisher.publish(change)

    def _update_broker_config(self) -> None:
        known = set(self.layers.ineffective())
        self.layers.dynamic_default = stored_broker_configs(
            self.image.config(BROKER_RESOURCE, ALL_BROKERS)
        )
        self.layers.dynamic = stored_broker_configs(
            self.image.config(BROKER_RESOURCE, str(self.node_id))
        )
        self._warn_of_ineffective(known)
        self.config = self._logs.config = self.layers.broker_config()
        self._listener.limits = _listener_limits(self.config)
        self.replicas.update_config()

    def _warn_of_ineffective(self, known: Container[str] = ()) -> None:
        for name in self.layers.ineffective():
            if name not in known:
                log.warning("Configuration %s has no effect in the reference broker", name)

    def _partition_moved(self, partition: Partition) -> None:
        self.moved.add(partition.topic_partition)

    def _check_moved(self, names: list[TopicPartition]) -> None:
        for name in names:
            try:
                if name.topic == GROUP_METADATA_TOPIC:
                    self.groups.high_watermark_moved(name.partition)
                self.delayed_produces.check(name)
                self.delayed_fetches.check(name)
            except Exception:  # affects neither other partitions nor the cause of this move
                log.exception("Could not check the requests that wait for %s", name)

    # -- maintenance -----------------------------------------------------------------------------

    def _schedule_maintenance(self) -> None:
        self._timers.queue.schedule("maintenance", self._logs.next_due(), self._run_maintenance)

    def _run_maintenance(self, _: float) -> None:
        assert self._publisher is not None
        self._publisher.follow_unused(then=self._maintain_logs)

    def _maintain_logs(self) -> None:
        try:
            for task in self._logs.due():
                self._logs.perform(task)
        finally:
            self._schedule_maintenance()

    def _schedule_offset_expiry(self) -> None:
        deadline = self.moment().after(self.config.offsets_retention_check_interval_ms)
        self._timers.queue.schedule("offset expiry", deadline, self._expire_offsets)

    def _expire_offsets(self, _: float) -> None:
        try:
            if GROUP_METADATA_TOPIC in self.image.topics:
                self.groups.expire_offsets()
        finally:
            self._schedule_offset_expiry()

    # -- parts -----------------------------------------------------------------------------------

    def _new_uuid(self) -> UUID:
        return UUID(int=self._environment.random.getrandbits(128), version=4)

    async def _open_controller(self) -> ShardRuntime[ControllerShard]:
        opened = self._logs.get_or_create(
            METADATA_PARTITION, METADATA_LOG_CONFIG, METADATA_TOPIC_ID
        )
        # What the last run left may not be on the disk yet: flush it before building on it.
        flushed: asyncio.Future[None] = asyncio.Future()
        opened.flusher.flush_all(lambda: flushed.set_result(None))
        await flushed
        opened.flusher.check()
        partition = Partition(METADATA_PARTITION, METADATA_TOPIC_ID, self.node_id, opened)
        node = (self.node_id,)
        partition.become_leader(opened.leader_epochs.latest_epoch + 1, node, node)
        partition.add_listener(lambda _: self.controller.high_watermark_moved())
        defaults = TopicDefaults(
            partitions=self.config.num_partitions,
            replication_factor=self.config.default_replication_factor,
            min_insync_replicas=self.config.min_insync_replicas,
        )
        return ShardRuntime(
            METADATA_PARTITION,
            PartitionLog(partition),
            self._timers.queue,
            self.moment,
            lambda _: ControllerShard(
                self._new_uuid,
                defaults,
                lambda own: self.layers.describe_topic(parse_topic_configs(own)),
            ),
            publish=self._commit,
        )


def _listener_limits(config: BrokerConfig) -> ListenerLimits:
    max_idle_ms = config.connections_max_idle_ms
    return ListenerLimits(
        max_request_bytes=config.socket_request_max_bytes,
        max_idle=max_idle_ms / 1000 if max_idle_ms >= 0 else float("inf"),
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
    )
