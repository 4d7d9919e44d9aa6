"""The share groups at one broker: their sessions, and the share partitions that it leads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol
from uuid import UUID

from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime.timers import Moment, TimerQueue

from .led_partition import LedSharePartition, Persister
from .sessions import SessionName, ShareSessions
from .settings import ShareGroupSettings, settings_of


class ClientConnection(Protocol):
    """The connection on which a session begins."""

    @property
    def connection_id(self) -> int: ...
    def when_lost(self, listener: Callable[[], object]) -> None: ...


class ShareService:
    """What the handlers of share groups work with. Belongs to the loop of its broker."""

    def __init__(
        self,
        *,
        image: MetadataImage,
        configs: BrokerConfigs,
        replicas: Replicas,
        waiting: WaitingRequests,
        persister: Persister,
        moment: Callable[[], Moment],
    ) -> None:
        self.sessions = ShareSessions(configs.broker.group_share_max_share_sessions)
        self.persister = persister
        self.moment = moment
        self._image = image
        self._configs = configs
        self._replicas = replicas
        self._waiting = waiting
        self._partitions: dict[SharePartitionKey, LedSharePartition] = {}
        self._groups: dict[int, set[str]] = {}
        """The groups of which sessions began on each connection."""

    @property
    def timers(self) -> TimerQueue:
        return self._waiting.timers

    def settings_of(self, group_id: str) -> ShareGroupSettings:
        """Return the configuration of a group as it is now."""
        own = self._image.config(GROUP_RESOURCE, group_id)
        return settings_of(self._configs.broker, own)

    def moved(self, partition: Partition) -> None:
        """Try the share fetches that wait for a partition again."""
        self._waiting.moved.add(partition.topic_partition)

    # -- share partitions ------------------------------------------------------------------------

    def get(self, group_id: str, topic_id: UUID, number: int) -> LedSharePartition:
        """Return a share partition of a topic that exists; it may have to be loaded first.

        Raises :class:`ApiError` or ``LogError`` if this broker does not lead the partition.
        """
        partition = self._replicas.get(self._image.topics_by_id[topic_id].name, number)
        partition.leadership.check()
        key = SharePartitionKey(group_id, topic_id, number)
        led = self._partitions.get(key)
        if led is None:
            led = LedSharePartition(key, partition, self, self._dropped)
            if led.failure is None:
                self._partitions[key] = led
        return led

    def find(self, group_id: str, topic_id: UUID, number: int) -> LedSharePartition | None:
        """Return a share partition that is served already."""
        return self._partitions.get(SharePartitionKey(group_id, topic_id, number))

    def _dropped(self, led: LedSharePartition) -> None:
        if self._partitions.get(led.key) is led:
            del self._partitions[led.key]

    def _of_group(self, group_id: str) -> list[LedSharePartition]:
        return [led for key, led in self._partitions.items() if key.group_id == group_id]

    # -- sessions --------------------------------------------------------------------------------

    def watch(self, connection: ClientConnection | None, group_id: str) -> None:
        """End the sessions of a group that began on a connection together with it."""
        if connection is None:
            return
        groups = self._groups.get(connection.connection_id)
        if groups is None:
            groups = self._groups[connection.connection_id] = set()
            connection.when_lost(partial(self._connection_lost, connection.connection_id))
        groups.add(group_id)

    def close_session(self, name: SessionName) -> None:
        """End a session, and release everything that its member has acquired."""
        if self.sessions.close(name):
            for led in self._of_group(name.group_id):
                led.release(name.member_id)

    def _connection_lost(self, connection_id: int) -> None:
        for name in self.sessions.of_connection(connection_id):
            self.close_session(name)
        for group_id in self._groups.pop(connection_id):
            for led in self._of_group(group_id):
                # A group without members may get other offsets, so nothing of it is remembered.
                led.when_stored().when_done(partial(self._drop_unused, led))

    def _drop_unused(self, led: LedSharePartition, _: None) -> None:
        if not self.sessions.has_group(led.key.group_id):
            led.drop()
