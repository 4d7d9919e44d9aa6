"""Choose the node for each part of an administrative call, and correct a wrong choice."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.engine.metadata import leaderless
from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    error_for,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted

# A new topic is not known to every broker at once. One that is still unknown after this many
# seconds does not exist.
PATIENCE_WITH_NEW_TOPICS = 2.0
# How long to wait for newer metadata before trying again with what is known.
PATIENCE_WITH_METADATA = 1.0


@slotted.define
class Placement:
    """The nodes that the items of a call go to, and errors of items that go nowhere."""

    by_node: dict[int, list[Any]] = slotted.field(factory=dict)
    errors: dict[Any, KafkaError] = slotted.field(factory=dict)

    def put(self, item: Any, where: int | KafkaError) -> None:
        if isinstance(where, KafkaError):
            self.errors[item] = where
        else:
            self.by_node.setdefault(where, []).append(item)


class Route(Protocol):
    """Finds the node that each item of a call goes to."""

    def using(self, items: Sequence[Any]) -> AbstractContextManager[None]:
        """Keep metadata of what the items are about, for as long as the call lasts."""

    async def place(self, items: Sequence[Any], deadline: float) -> Placement:
        """Return the node of each item."""

    def may_pass(self, error: KafkaError) -> bool:
        """Return whether to retry after this error."""

    async def went_wrong(self, deadline: float) -> None:
        """Prepare to send some items again: find out where to."""


class ToAnyNode:
    """To the node that is the best choice at the moment.

    ``lasting`` are errors that other calls retry, but that this call raises at once.
    """

    def __init__(self, client: Client, *, lasting: tuple[type[KafkaError], ...] = ()) -> None:
        self._client = client
        # Retriable for producers, which may write before the topic exists; not for a call about it.
        self._lasting: tuple[type[KafkaError], ...] = (
            UnknownTopicOrPartitionError,
            UnknownTopicIdError,
            *lasting,
        )

    def using(self, items: Sequence[Any]) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    async def place(self, items: Sequence[Any], deadline: float) -> Placement:
        return Placement({self._client.any_node(): list(items)})

    def may_pass(self, error: KafkaError) -> bool:
        return error.retriable and not isinstance(error, self._lasting)

    async def went_wrong(self, deadline: float) -> None:
        await _newer_metadata(self._client, deadline)


class ToController(ToAnyNode):
    """To the controller that the metadata names."""

    async def place(self, items: Sequence[Any], deadline: float) -> Placement:
        controller_id = self._client.metadata.controller_id
        if controller_id is None:
            raise LeaderNotAvailableError("the cluster has no controller right now")
        return Placement({controller_id: list(items)})


class ToNodes(ToAnyNode):
    """To the node that each item names, otherwise to any."""

    def __init__(
        self,
        client: Client,
        node_ids: Mapping[Any, int | None],
        *,
        lasting: tuple[type[KafkaError], ...] = (),
    ) -> None:
        super().__init__(client, lasting=lasting)
        self._node_ids = node_ids

    async def place(self, items: Sequence[Any], deadline: float) -> Placement:
        placement, any_node = Placement(), self._client.any_node()
        for item in items:
            node_id = self._node_ids[item]
            placement.put(item, any_node if node_id is None else node_id)
        return placement


class ToCoordinators(ToAnyNode):
    """To the coordinator of each item, a group id or a transactional id; or to that of one ``key``
    for all items."""

    def __init__(
        self,
        client: Client,
        key: str | None = None,
        *,
        kind: CoordinatorType = CoordinatorType.GROUP,
    ) -> None:
        super().__init__(client)
        self._key = key
        self._kind = kind
        self._asked: dict[str, None] = {}

    async def place(self, items: Sequence[Any], deadline: float) -> Placement:
        placement = Placement()
        for item in items:
            key = self._key if self._key is not None else str(item)
            self._asked[key] = None
            placement.put(item, await self._coordinator(key, deadline))
        return placement

    async def went_wrong(self, deadline: float) -> None:
        for key in self._asked:
            self._client.coordinators.forget(self._kind, key)

    async def _coordinator(self, key: str, deadline: float) -> int | KafkaError:
        try:
            return await self._client.coordinators.find(self._kind, key, deadline)
        except KafkaError as error:
            return error


class ToLeaders:
    """To the leader of each partition; items are :class:`TopicPartition`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._gives_up_at = client.clock.now() + PATIENCE_WITH_NEW_TOPICS
        self._has_asked = False

    def using(self, items: Sequence[TopicPartition]) -> AbstractContextManager[None]:
        return self._client.topics.using({item.topic for item in items})

    async def place(self, items: Sequence[TopicPartition], deadline: float) -> Placement:
        if not self._has_asked and any(self._has_error(item.topic) for item in items):
            # The error is the response to an earlier call: what was denied may be granted by now.
            await _newer_metadata(self._client, deadline)
        self._has_asked = True
        while any(self._client.metadata.topic(item.topic) is None for item in items):
            await self._client.metadata_keeper.updated(self._client.metadata.version, deadline)
        placement = Placement()
        for item in items:
            placement.put(item, self._leader(item))
        return placement

    def may_pass(self, error: KafkaError) -> bool:
        is_hopeless = _is_unknown_topic(error) and self._client.clock.now() >= self._gives_up_at
        return error.retriable and not is_hopeless

    async def went_wrong(self, deadline: float) -> None:
        await _newer_metadata(self._client, deadline)

    def _has_error(self, topic: str) -> bool:
        known = self._client.metadata.topic(topic)
        return known is not None and known.error_code != ErrorCode.NONE

    def _leader(self, item: TopicPartition) -> int | KafkaError:
        topic = self._client.metadata.topic(item.topic)
        partition = self._client.metadata.partition(item)
        if topic is not None and topic.error_code != ErrorCode.NONE:
            return error_for(topic.error_code, topic=item.topic, api_key=ApiKey.METADATA)
        if partition is None:
            return UnknownTopicOrPartitionError(
                f"topic {item.topic!r} has no partition {item.partition}",
                topic=item.topic,
                partition=item.partition,
            )
        if partition.leader_id is None:
            return leaderless(item)
        return partition.leader_id


async def _newer_metadata(client: Client, deadline: float) -> None:
    version = client.metadata.version
    client.metadata_keeper.request_update()
    with contextlib.suppress(KafkaTimeoutError):
        await client.metadata_keeper.updated(
            version, min(deadline, client.clock.now() + PATIENCE_WITH_METADATA)
        )


def _is_unknown_topic(error: KafkaError) -> bool:
    return isinstance(error, UnknownTopicOrPartitionError | UnknownTopicIdError)
