"""One node: broker and controller in one, and its life from start to end.

A start replays: the metadata log gives the image, the image says which logs there are, the logs of
``__consumer_offsets`` give the groups. Then the port is opened and the broker registers, which lets
clients see it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterable
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from pyk.protocol.connection import ServerConnection
from pyk.protocol.errors import ErrorCode
from pyk.protocol.io import Clock, Network
from pyk.protocol.records import Compression

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
    Change,
    MetadataImage,
    PartitionCreated,
    TopicDeleted,
)
from .controller.names import CLUSTER_METADATA_TOPIC, GROUP_METADATA_TOPIC
from .controller.shard import BrokerRegistration, ControllerShard
from .controller.topics import TopicDefaults
from .coordinator.runtime import ShardRuntime
from .delayed import Purgatory
from .disk import disk_for
from .errors import ApiError
from .filesystem import FileSystem
from .handlers.dispatcher import Dispatcher
from .handlers.table import SERVED
from .network.connection import RequestHandler
from .network.listener import BrokerListener, ListenerLimits
from .partition import Partition
from .producer_ids import ProducerIds
from .replicas import Replicas
from .shard_log import PartitionLog
from .storage import LogManager, StorageError
from .timer_driver import TimerDriver
from .timers import Moment
from .topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.protocol.messages.create_topics import CreatableTopic

    from .coordinator.group.coordinator import GroupCoordinator, GroupRuntime
    from .handlers.fetch_session import FetchSessions

log = logging.getLogger(__name__)

METADATA_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC, 0)
METADATA_TOPIC_ID = UUID(int=1)  # Kafka's own for this topic
METADATA_LOG_CONFIG = LogConfig(retention_ms=-1, retention_bytes=-1)
"""Nothing of it may go: there are no snapshots."""


@attrs.frozen(kw_only=True)
class Seams:
    """What a broker needs of the world."""

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
        seams: Seams,
        wrap_handler: Callable[[Dispatcher, Broker], RequestHandler] = lambda inner, _: inner,
    ) -> None:
        self.layers = layers
        self.config: BrokerConfig = layers.broker_config()
        self.node_id = self.config.node_id
        self._warn_of_ineffective()
        layers.static |= {"broker.id": self.node_id, "log.dirs": (data_path,)}
        self._seams = seams
        self._timers = TimerDriver(seams.clock)
        self.delayed_produces = Purgatory("produce", self._timers.queue)
        self.delayed_fetches = Purgatory("fetch", self._timers.queue)
        self._moved: set[TopicPartition] = set()
        self._is_loaded = False
        self._disk = disk_for(seams.filesystem)
        self._logs = LogManager.open(
            seams.filesystem,
            data_path,
            self.config,
            clock=seams.clock,
            random=seams.random,
            disk=self._disk,
        )
        self.controller = self._new_controller()
        self.image: MetadataImage = self.controller.shard.image
        self.replicas = Replicas(
            self.node_id, self._logs, layers, self.image, self._partition_moved
        )
        self.producer_ids = ProducerIds(self.controller, self.node_id, -1)
        self._listener = BrokerListener(
            seams.clock,
            wrap_handler(Dispatcher(self), self),
            lambda: ServerConnection(SERVED),
            _listener_limits(self.config),
        )

    # Made, and imported, when first asked for: a broker shall start fast.

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        from .handlers.fetch_session import FetchSessions

        return FetchSessions(
            self.config.max_incremental_fetch_session_cache_slots,
            lambda: self._seams.random.getrandbits(31),
        )

    @cached_property
    def groups(self) -> GroupCoordinator:
        from .coordinator.group.coordinator import GroupCoordinator

        return GroupCoordinator(self.config, self._timers.queue, self.moment, self._new_uuid)

    # -- what handlers ask -----------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        return self._logs.cluster_id

    @property
    def port(self) -> int:
        return self._listener.port

    def moment(self) -> Moment:
        return Moment(self._seams.clock.now(), self._seams.clock.time_ms())

    def partition(self, topic: str, number: int) -> Partition:
        """Return a partition that this broker holds; raise :class:`ApiError` if it is none."""
        return self.replicas.get(topic, number)

    def topic_name(self, topic_id: UUID) -> str:
        """Return the name of a topic; raise :class:`ApiError` if there is none with that id."""
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        return topic.name

    def group(self, group_id: str) -> GroupRuntime:
        """Return the shard that coordinates a group; raise :class:`ApiError` if it is not here."""
        topic = self.image.topics.get(GROUP_METADATA_TOPIC)
        return self.groups.runtime_for(group_id, len(topic.partitions) if topic else 0)

    def auto_create_topic(self, name: str) -> None:
        """Create a topic that a client asks for, with the broker's defaults; or do nothing."""
        from .topic_creation import auto_created_topic, create_topic

        created = create_topic(self.controller, auto_created_topic(name, self.config))
        created.when_done(lambda result: log.debug("Created %r: %s", name, result))

    def describe_topic_config(self, topic: str) -> list[ConfigEntry]:
        own = parse_topic_configs(self.image.config(TOPIC_RESOURCE, topic))
        return self.layers.describe_topic(own)

    def describe_broker_config(self, *, only_cluster_wide: bool) -> list[ConfigEntry]:
        if only_cluster_wide:
            return self.layers.describe_all_brokers()
        return self.layers.describe_broker()

    async def create_topic(self, topic: CreatableTopic) -> None:
        """Create a topic as CreateTopics does; raise :class:`ApiError` if it cannot be."""
        from .topic_creation import create_topic

        done: asyncio.Future[tuple[ErrorCode, str | None]] = asyncio.Future()
        create_topic(self.controller, topic).when_done(done.set_result)
        code, message = await done
        if code:
            raise ApiError(code, message)

    # -- life ------------------------------------------------------------------------------------

    async def start(
        self,
        host: str,
        port: int,
        advertised_host: str | None = None,
        advertised_port: int | None = None,
    ) -> None:
        """Load everything and serve; raise ``OSError`` if the port cannot be had.

        Clients are told the advertised host and port, by default those that are listened on.
        """
        for _ in self.controller.load():
            await asyncio.sleep(0)
        self._update_broker_config()
        for topic in list(self.image.topics.values()):
            for number, partition in topic.partitions.items():
                name = TopicPartition(topic.name, number)
                self.replicas.open(PartitionCreated(name, topic.topic_id, partition))
        await self._load_groups(self.replicas.of_topic(GROUP_METADATA_TOPIC))
        self._is_loaded = True
        await self._listener.open(self._seams.network, host, port)
        told_host, told_port = advertised_host or host, advertised_port or self.port
        self._register(told_host, told_port)
        self.layers.static |= {
            "listeners": (f"PLAINTEXT://{format_address(host, self.port)}",),
            "advertised.listeners": (f"PLAINTEXT://{format_address(told_host, told_port)}",),
        }
        self._schedule_maintenance()
        self._schedule_offset_expiry()

    async def stop(self) -> None:
        """Close all connections and write everything down.

        Raises ``StorageError`` if not everything could be written, when all is let go of.
        """
        await self._listener.close()
        self._timers.close()
        await self._disk.wait()
        closed: asyncio.Future[StorageError | None] = asyncio.Future()
        self._logs.close(when_closed=closed.set_result)
        error = await closed
        await self._disk.close()
        if error is not None:
            raise error

    async def kill(self) -> None:
        """Let go of everything as if the process had died."""
        await self._listener.close()
        self._timers.close()
        self._logs.abandon()
        await self._disk.close()

    def _register(self, host: str, port: int) -> None:
        registration = BrokerRegistration(
            node_id=self.node_id,
            incarnation_id=self._new_uuid(),
            host=host,
            port=port,
            rack=self.config.broker_rack,
        )

        def registered(epoch: int) -> None:
            self.producer_ids = ProducerIds(self.controller, self.node_id, epoch)

        self.controller.ask(
            lambda shard, _: shard.register_broker(registration), lambda _: -1
        ).when_done(registered)

    async def _load_groups(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            number = partition.topic_partition.partition
            for _ in self.groups.add_shard(number, self._offsets_log(partition)):
                await asyncio.sleep(0)

    def _offsets_log(self, partition: Partition) -> PartitionLog:
        codec = self.config.offsets_topic_compression_codec
        return PartitionLog(partition, Compression.of_codec(codec))

    # -- changes ---------------------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        """Follow what a record of the metadata log changed, once the broker is loaded."""
        if not self._is_loaded:
            return
        if isinstance(change, PartitionCreated):
            self._partition_created(change)
        elif isinstance(change, TopicDeleted):
            self.replicas.delete(change.topic)
            if change.topic.name == GROUP_METADATA_TOPIC:
                self.groups.remove_shards()
            elif GROUP_METADATA_TOPIC in self.image.topics:
                self.groups.topics_deleted([change.topic.name])
        elif change.resource_type == TOPIC_RESOURCE:
            self.replicas.update_config(change.resource_name)
        elif change.resource_type == BROKER_RESOURCE:
            self._update_broker_config()

    def _partition_created(self, created: PartitionCreated) -> None:
        partition = self.replicas.open(created)
        if partition is not None and created.topic_partition.topic == GROUP_METADATA_TOPIC:
            number = created.topic_partition.partition
            for _ in self.groups.add_shard(number, self._offsets_log(partition)):
                pass  # it is empty

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
        """Have those answered that wait for a partition, once whoever moved it is done."""
        if not self._moved:
            asyncio.get_running_loop().call_soon(self._check_moved)
        self._moved.add(partition.topic_partition)

    def _check_moved(self) -> None:
        moved, self._moved = self._moved, set()
        for name in moved:
            if name.topic == GROUP_METADATA_TOPIC:
                self.groups.high_watermark_moved(name.partition)
            self.delayed_produces.check(name)
            self.delayed_fetches.check(name)

    # -- maintenance -----------------------------------------------------------------------------

    def _schedule_maintenance(self) -> None:
        moment = self.moment()
        wait_ms = max(0, self._logs.next_due_ms() - moment.time_ms)
        self._timers.queue.schedule("maintenance", moment.after(wait_ms), self._run_maintenance)

    def _run_maintenance(self, _: float) -> None:
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
        return UUID(int=self._seams.random.getrandbits(128), version=4)

    def _new_controller(self) -> ShardRuntime[ControllerShard]:
        opened = self._logs.get_or_create(
            METADATA_PARTITION, METADATA_LOG_CONFIG, METADATA_TOPIC_ID
        )
        partition = Partition(METADATA_PARTITION, METADATA_TOPIC_ID, self.node_id, opened)
        node = (self.node_id,)
        partition.become_leader(opened.leader_epochs.latest_epoch + 1, node, node)
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
                self._changed,
            ),
        )


def _listener_limits(config: BrokerConfig) -> ListenerLimits:
    return ListenerLimits(
        max_request_bytes=config.socket_request_max_bytes,
        max_idle=config.connections_max_idle_ms / 1000,
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
    )
