"""One node: broker and controller in one, and its life from start to end.

A start replays: the metadata log gives the image, the image says which logs there are, the logs of
internal topics give the shards. After a clean shutdown the other logs are opened on first use. Then
the port is opened and the broker registers, which lets clients see it. From then on all records
committed to the metadata log are followed, see :mod:`.metadata_follower`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.connection import ServerConnection
from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.interface import FileSystem
from pyk.runtime.network import ClientTls, Network
from pyk.runtime.timer_driver import TimerDriver
from pyk.runtime.timers import Moment

from .address import reachable_on_this_machine
from .awaiting import value_of
from .broker_configs import BrokerConfigs
from .config import BrokerConfig, BrokerConfigLayers
from .config.log_dirs_config import check_cordoned
from .controller.client_quotas import CONNECTION_CREATION_RATE
from .controller.image import MetadataImage
from .controller.metadata_versions import CORDONED_DIRECTORIES
from .controller_channel import LocalControllerChannel
from .coordinator.shard_kind import BrokerEnvironment, ShardKind
from .coordinator.shards import Shards
from .deferred import Deferred
from .directory_reports import DirectoryReports
from .disk import disk_for
from .errors import ApiError
from .failed_directories import FailedDirectories
from .handlers.dispatcher import Dispatcher
from .handlers.table import SERVED
from .listeners import Endpoint, Listeners
from .local_controller import METADATA_PARTITION, begin_leader_epochs, open_controller
from .log_maintenance import LogMaintenance
from .metadata_follower import MetadataFollower
from .network.configured_limits import listener_limits
from .network.connection import RequestHandler
from .network.listener import BrokerListener
from .network.listener_settings import ListenerSettings
from .quotas.precedence import address_limit
from .registration import register
from .replicas import Replicas
from .services import BrokerServices
from .shard_kinds import SHARD_KINDS
from .storage import LogManager, StorageError
from .tcp_channels import TcpChannels
from .waiting_requests import WaitingRequests

if TYPE_CHECKING:
    from pyk.protocol.messages.create_topics import CreatableTopic

    from .security.authorizer import Authorizer
    from .security.broker_login import BrokerLogin
    from .share_persister import SharePersister
    from .token_expiry import TokenExpiry

log = logging.getLogger(__name__)


@slotted.frozen(kw_only=True)
class Environment:
    """Clock, randomness, network and file system: what tests replace."""

    clock: Clock
    random: Random
    network: Network
    filesystem: FileSystem


class Broker:
    """One node. Belongs to the event loop it is started on.

    Its logs are in the directories ``data_paths``. ``wrap_handler`` puts a request handler around
    the broker's own. ``shard_kinds`` says which internal topics there are.
    """

    services: BrokerServices
    """The services of handlers; there from the start on."""

    def __init__(
        self,
        layers: BrokerConfigLayers,
        data_paths: Sequence[str],
        environment: Environment,
        wrap_handler: Callable[[Dispatcher, BrokerServices], RequestHandler] = lambda inner, _: (
            inner
        ),
        shard_kinds: Iterable[ShardKind] = SHARD_KINDS,
    ) -> None:
        self.image = MetadataImage()
        """The cluster as clients see it."""
        self.configs = BrokerConfigs(layers, self.image)
        self.configs.set_static(broker_id=self.node_id, log_dirs=tuple(data_paths))
        check_cordoned(self.configs.broker.cordoned_log_dirs, data_paths)
        self._environment = environment
        self._data_paths = tuple(data_paths)
        self._wrap_handler = wrap_handler
        self._disk = disk_for(environment.filesystem)
        self._timers = TimerDriver(environment.clock)
        self._listener: BrokerListener | None = None
        self.listeners: Listeners | None = None
        """Where it listens, and what it tells clients; None while it does not listen."""
        self._channels = self._new_channels(f"broker-{self.node_id}")
        # Of their own: a marker that waits for replicas must not hold back other requests.
        self._action_channels = self._new_channels(f"broker-{self.node_id}-actions")
        self._share_channels = self._new_channels(f"broker-{self.node_id}-share")
        self._share_persister: SharePersister | None = None
        self.shards = self._new_shards(shard_kinds)
        self._waiting = WaitingRequests(
            self._timers.queue,
            lambda check: asyncio.get_running_loop().call_soon(check),
            self.shards,
        )

    @property
    def node_id(self) -> int:
        return self.configs.broker.node_id

    def _new_shards(self, kinds: Iterable[ShardKind]) -> Shards:
        environment = BrokerEnvironment(
            channels=self._action_channels,
            image=self.image,
            timers=self._timers.queue,
            moment=self.moment,
            share_persister=self._persister,
        )
        return Shards(kinds, lambda: self.configs.broker, self._new_uuid, environment)

    def _persister(self) -> SharePersister:
        """Return the way to share coordinators, made when it is first used."""
        from .share_persister import SharePersister

        if self._share_persister is None:
            self._share_persister = SharePersister(
                self._share_channels, self.image, self._timers.queue, self.moment
            )
        return self._share_persister

    def _new_channels(self, client_id: str) -> TcpChannels:
        environment = self._environment
        return TcpChannels(
            environment.network,
            environment.clock,
            self._address_of,
            client_id,
            new_login=self._new_login,
            new_tls=self._new_tls,
        )

    def _address_of(self, node_id: int) -> tuple[str, int] | None:
        """Return where to connect to a broker; to this one, whatever clients are told."""
        listeners, node = self.listeners, self.image.brokers.get(node_id)
        if listeners is None:
            return None  # until it listens: the registered addresses are of its last run
        if node_id == self.node_id:
            bound = {endpoint.listener: endpoint for endpoint in listeners.bound}
            endpoint = bound[listeners.inter_broker]
        elif node is None or listeners.inter_broker not in node.endpoints:
            return None
        else:
            endpoint = node.endpoints[listeners.inter_broker]
        return reachable_on_this_machine(endpoint.host), endpoint.port

    def moment(self) -> Moment:
        """Return now, on both clocks."""
        return Moment(self._environment.clock.now(), self._environment.clock.time_ms())

    async def create_topic(self, topic: CreatableTopic) -> None:
        """Create a topic as CreateTopics does, and return when all of its partitions are open.

        Raises :class:`ApiError` if it cannot be created, or if the broker ends before it is known
        to be.
        """
        code, message = await value_of(self.services.topics.create(topic))
        if code:
            raise ApiError(ErrorCode(code), message)
        await value_of(self.follower.caught_up())

    # -- life ------------------------------------------------------------------------------------

    async def start(
        self, listeners: Listeners, users: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Load everything and serve. ``users`` have these passwords for SCRAM.

        Raises ``StorageError`` if the data directory cannot be used, and ``OSError`` if a port
        cannot be opened. The directory is then unlocked again, as clean as it was.
        """
        self._logs = self._open_logs()
        try:
            await self._load()
            await self._add_users(users)
            self.listeners = await self._open_ports(listeners)
            # Raise if brokers cannot connect to each other.
            self._new_tls("")
            self._new_login()
            self.configs.set_static(
                listeners=tuple(map(str, self.listeners.bound)),
                advertised_listeners=tuple(map(str, self.listeners.advertised)),
            )
            await self._register(self.listeners.advertised)
            if self._logs.lost is not None:
                raise self._logs.lost
        except BaseException:
            await self._close_connections()
            await self._close_logs()
            raise

    async def stop(self) -> None:
        """Close all connections and write everything to the disk.

        Raises ``StorageError`` at the end if something could not be written.
        """
        await self._close_connections()
        error = await self._close_logs()
        self._answer_waiting()
        self.services.close()
        if error is not None:
            raise error

    async def kill(self) -> None:
        """Close everything and write nothing, as if the process had died."""
        await self._close_connections()
        self._answer_waiting()
        self.services.close()
        self._logs.abandon()
        await self._disk.close()

    # -- the steps of a start --------------------------------------------------------------------

    def _open_logs(self) -> LogManager:
        config = self.configs.broker
        return LogManager.open(
            self._environment.filesystem,
            config.metadata_log_dir or self._data_paths[0],
            config,
            log_dirs=self._data_paths,
            clock=self._environment.clock,
            random=self._environment.random,
            disk=self._disk,
        )

    async def _load(self) -> None:
        logs, configs, timers = self._logs, self.configs, self._timers.queue
        self._directory_reports = DirectoryReports(self.node_id, timers, self.moment)
        replicas = Replicas(
            self.node_id,
            logs,
            configs,
            self.image,
            on_moved=lambda partition: self._waiting.moved.add(partition.topic_partition),
            on_located=self._directory_reports.located,
        )
        configs.when_changed(self._configs_changed)
        configs.when_changed(lambda _: replicas.update_config())
        self.follower = MetadataFollower(
            self.image,
            replicas=replicas,
            shards=self.shards,
            configs=configs,
            timers=timers,
            moment=self.moment,
        )
        self.controller = await open_controller(
            logs,
            configs,
            image=self.image,
            disk=self._disk,
            timers=timers,
            moment=self.moment,
            new_uuid=self._new_uuid,
            publish=self.follower.commit,
        )
        # From here on the start waits for flushes, and the maintenance repeats those that fail.
        LogMaintenance(logs, self.follower, timers).schedule()
        if configs.broker.delegation_token_secret_key:
            self._new_token_expiry().schedule()
        if not logs.was_shut_down_cleanly:
            await begin_leader_epochs(self.controller, self.node_id)
        self.services = self._new_services(replicas)
        self.failed_directories = FailedDirectories(logs, self.follower, self._directory_reports)
        logs.set_strays_aside(self._is_known)
        for _ in self.follower.follow_all(is_clean=logs.was_shut_down_cleanly):
            await asyncio.sleep(0)

    def _new_token_expiry(self) -> TokenExpiry:
        from .token_expiry import TokenExpiry

        interval_ms = self.configs.broker.delegation_token_expiry_check_interval_ms
        return TokenExpiry(self.controller, self._timers.queue, self.moment, interval_ms)

    def _new_services(self, replicas: Replicas) -> BrokerServices:
        return BrokerServices(
            node_id=self.node_id,
            cluster_id=self._logs.cluster_id,
            clock=self._environment.clock,
            moment=self.moment,
            new_session_id=lambda: self._environment.random.getrandbits(31),
            new_uuid=self._new_uuid,
            image=self.image,
            configs=self.configs,
            replicas=replicas,
            shards=self.shards,
            controller=LocalControllerChannel(self.controller),
            waiting=self._waiting,
            channels=self._channels,
            share_persister=self._persister,
            authorizer=self._new_authorizer(),
        )

    def _new_authorizer(self) -> Authorizer | None:
        """Return what decides who may do what; raise ``InvalidConfigError`` if it cannot."""
        config = self.configs.broker
        if not config.authorizer_class_name:
            return None
        from .security.authorizer import Authorizer, super_users

        return Authorizer(
            self.image.acls,
            super_users(config.super_users),
            allows_without_acl=config.allow_everyone_if_no_acl_found,
        )

    def _is_known(self, name: TopicPartition, topic_id: UUID | None) -> bool:
        return name == METADATA_PARTITION or self.follower.is_in_image(name, topic_id)

    def _new_listener(self, listeners: Listeners) -> BrokerListener:
        self._listener = BrokerListener(
            self._environment.clock,
            self._wrap_handler(Dispatcher(self.services), self.services),
            lambda: ServerConnection(SERVED),
            listener_limits(self.configs, listeners),
            self._connection_rate_of_ip,
        )
        return self._listener

    def _connection_rate_of_ip(self, host: str) -> float | None:
        quotas = self.image.client_quotas
        return address_limit(quotas, CONNECTION_CREATION_RATE, host) if quotas.limits else None

    async def _add_users(self, users: Mapping[str, str]) -> None:
        if not users:
            return
        from pyk.protocol.sasl import ScramMechanism

        from .security.users import scram_credentials

        random = self._environment.random
        for mechanism in ScramMechanism:
            request = scram_credentials(self.image, users, mechanism, lambda: random.randbytes(16))
            response = await value_of(self.services.controller.send(request))
            for result in response.results:
                if result.error_code:
                    raise ApiError(ErrorCode(result.error_code), result.error_message)
        await value_of(self.follower.caught_up())

    def _new_login(self) -> BrokerLogin | None:
        """Return the login for a connection to another broker, None if there is none."""
        assert self.listeners is not None
        name = self.listeners.inter_broker
        if not self.listeners.protocol_of(name).has_sasl:
            return None
        from .security.broker_login import broker_login

        return broker_login(self.configs, name, self._new_nonce())

    def _new_tls(self, host: str) -> ClientTls | None:
        """Return the encryption of a connection to another broker, None if there is none."""
        assert self.listeners is not None
        name = self.listeners.inter_broker
        if not self.listeners.protocol_of(name).has_tls:
            return None
        from .security.tls import client_context

        context = client_context(self.configs.listener(name))
        return ClientTls(context, host, lambda: None)

    def _new_nonce(self) -> str:
        return f"{self._environment.random.getrandbits(128):032x}"

    async def _open_ports(self, listeners: Listeners) -> Listeners:
        """Open all ports; return the listeners with them."""
        opened, ports = self._new_listener(listeners), {}
        for each in listeners.bound:
            ports[each.listener] = await opened.open(
                self._environment.network, each.host, each.port, await self._settings_of(each)
            )
        return listeners.with_ports(ports)

    async def _settings_of(self, endpoint: Endpoint) -> ListenerSettings:
        """Return how a listener authenticates; raise ``InvalidConfigError`` if it cannot."""
        config = self.configs.listener(endpoint.listener)
        tls = new_sasl = principal_of = None
        if endpoint.protocol.has_tls:
            from .security.distinguished_names import certificate_principals
            from .security.tls import ServerContexts

            tls = ServerContexts(lambda: self.configs.tls(endpoint)).current
            principal_of = certificate_principals(config.ssl_principal_mapping_rules)
        if endpoint.protocol.has_sasl:
            from .security.mechanisms import authentication_of, has_signed_tokens

            keys, clock = None, self._environment.clock
            if has_signed_tokens(endpoint.listener, self.configs):
                from .security.key_source import open_keys

                timers = self._timers.queue
                keys = await open_keys(endpoint.listener, self.configs, clock, timers)
            new_sasl = authentication_of(
                endpoint.listener,
                self.configs,
                self.image,
                new_nonce=self._new_nonce,
                time_ms=clock.time_ms,
                keys=keys,
            )
        return ListenerSettings(
            name=endpoint.listener,
            tls=tls,
            principal_of=principal_of if new_sasl is None else None,
            new_sasl=new_sasl,
            max_login_bytes=config.sasl_server_max_receive_size,
            failed_login_delay=config.connection_failed_authentication_delay_ms / 1000,
        )

    async def _register(self, endpoints: Iterable[Endpoint]) -> None:
        broker_epoch = await register(
            self.services.controller,
            cluster_id=self._logs.cluster_id,
            node_id=self.node_id,
            incarnation_id=self._new_uuid(),
            endpoints=endpoints,
            rack=self.configs.broker.broker_rack,
            log_dirs=self._logs.homes.directory_ids,
        )
        self.services.producer_ids.broker_epoch = broker_epoch
        self._directory_reports.begin(self.services.controller, broker_epoch)

    def _cordon(self) -> None:
        """Let the directories of ``cordoned.log.dirs`` take no new partitions (KIP-1066)."""
        is_supported = self.image.metadata_version >= CORDONED_DIRECTORIES
        homes = self._logs.homes
        homes.cordon(self.configs.broker.cordoned_log_dirs if is_supported else ())
        self._directory_reports.cordoned(homes.cordoned_ids)

    def _configs_changed(self, config: BrokerConfig) -> None:
        self._logs.config = config
        self._cordon()
        self._logs.compactor.arm(self._environment.clock.now())  # the backoff may have changed
        if self._listener is not None and self.listeners is not None:
            self._listener.limits = listener_limits(self.configs, self.listeners)

    # -- the steps of an end ---------------------------------------------------------------------

    async def _close_connections(self) -> None:
        if self._listener is not None:
            await self._listener.close()
        await self._channels.close()
        await self._action_channels.close()
        await self._share_channels.close()
        self._timers.close()

    def _answer_waiting(self) -> None:
        """Complete everything in this process that waits for work that this broker will not do any
        more."""
        self.shards.unload_all()
        self.controller.unload()
        self.follower.stop()

    async def _close_logs(self) -> StorageError | None:
        """Write everything to the disk and close it; return the error, None for success."""
        await self._disk.wait()
        closed: Deferred[StorageError | None] = Deferred()
        self._logs.close(when_closed=closed.complete)
        error = await value_of(closed)
        await self._disk.close()
        return error

    def _new_uuid(self) -> UUID:
        return UUID(int=self._environment.random.getrandbits(128), version=4)
