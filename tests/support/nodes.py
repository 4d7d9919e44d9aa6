"""One node without a network, on any file system, in virtual time."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from random import Random
from typing import Any

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pyk.reference_broker.broker import Broker, Environment
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.reference_broker.coordinator.group.records import UNKNOWN_TOPIC_ID
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.shard_kind import ShardKind
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.handlers.ask_group import find_group
from pyk.reference_broker.handlers.group_offsets import offset_fetch
from pyk.reference_broker.listeners import listeners_of
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.shard_kinds import SHARD_KINDS
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock
from support.controllers import topic
from support.logs import batch, values
from support.running_brokers import context

DATA = "/srv/kafka/data"
GROUP = "readers"


class Node:
    """A broker, with the requests of its clients as methods."""

    def __init__(
        self,
        filesystem: FileSystem,
        *,
        random: Random | None = None,
        shard_kinds: Iterable[ShardKind] = SHARD_KINDS,
        data_paths: Sequence[str] = (DATA,),
        **config: Any,
    ) -> None:
        """``random`` makes the ids of topics: a node that lives on needs the one it had."""
        names = {name.replace("_", "."): value for name, value in config.items()}
        layers = BrokerConfigLayers.of(
            {
                "node.id": "0",
                "listeners": "PLAINTEXT://broker:9092",
                "offsets.topic.replication.factor": "1",
                "offsets.topic.num.partitions": "2",
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.min.isr": "1",
                "transaction.state.log.num.partitions": "2",
                "share.coordinator.state.topic.replication.factor": "1",
                "share.coordinator.state.topic.min.isr": "1",
                "share.coordinator.state.topic.num.partitions": "2",
                **names,
            }
        )
        environment = Environment(
            clock=current_clock(),
            random=random or Random(5),
            network=MemoryNetwork(),
            filesystem=filesystem,
        )
        self.broker = Broker(layers, data_paths, environment, shard_kinds=shard_kinds)

    @property
    def image(self) -> MetadataImage:
        """The image that clients are shown."""
        return self.broker.image

    async def start(self) -> Node:
        await self.broker.start(listeners_of(self.broker.configs.broker))
        return self

    async def create(self, name: str, partitions: int = 1, **configs: str) -> ErrorCode:
        """Create a topic; return NONE, or why not."""
        try:
            await self.broker.create_topic(topic(name, partitions, **configs))
        except ApiError as error:
            return error.code
        return ErrorCode.NONE

    async def create_groups_topic(self) -> None:
        """Create ``__consumer_offsets``, as the first FindCoordinator does."""
        self.broker.services.topics.auto_create(GROUP_METADATA_TOPIC)

    def partition(self, name: str, number: int = 0) -> Partition:
        return self.broker.services.replicas.get(name, number)

    def group(self, group: str = GROUP) -> ShardRuntime[GroupShard]:
        """Return the shard of a group; raise ``ApiError`` if the broker runs none for it."""
        return find_group(self.broker.services, group)

    @property
    def decided_image(self) -> MetadataImage:
        """The image that the controller decides by."""
        return self.broker.controller._shard.image

    @property
    def has_lost_metadata_log(self) -> bool:
        """Whether the metadata log takes no more changes until the broker restarts."""
        return self.broker.controller._log.failure is not None

    def delete(self, name: str) -> ErrorCode:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
        response = now(self.broker.services.controller.send(request))
        return ErrorCode(response.responses[0].error_code)

    def add_partitions(self, name: str, count: int) -> ErrorCode:
        more = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[more])
        response = now(self.broker.services.controller.send(request))
        return ErrorCode(response.results[0].error_code)

    def append(self, name: str, value: bytes, partition: int = 0) -> bool:
        """Append a record; return whether it is acknowledged."""
        held = self.partition(name, partition)
        result = held.append(batch(value))
        return held.high_watermark > result.last_offset

    def values(self, name: str, partition: int = 0) -> list[bytes]:
        return values(self.partition(name, partition).log)

    def commit(self, offsets: list[OffsetToCommit], group: str = GROUP) -> ErrorCode:
        topic_ids = {name: each.topic_id for name, each in self.image.topics.items()}
        offsets = [
            attrs.evolve(each, topic_id=topic_ids.get(each.topic, UNKNOWN_TOPIC_ID))
            for each in offsets
        ]
        results = now(
            self.group(group).ask(
                lambda shard, moment: shard.offset_requests.commit(
                    group, ("", None, -1), offsets, version=8, moment=moment
                ),
                lambda code: code,
            )
        )
        if isinstance(results, ErrorCode):
            return results
        return max(results.values())

    def committed(self, name: str, partition: int = 0, group: str = GROUP) -> int | None:
        """Return what OffsetFetch answers, None for no offset."""
        asked = OffsetFetchRequestGroup(
            group_id=group,
            topics=[OffsetFetchRequestTopics(name=name, partition_indexes=[partition])],
        )
        request = OffsetFetchRequest(groups=[asked])
        (found,) = now(offset_fetch(self.broker.services, request, context(8))).groups
        if found.error_code:
            raise ApiError(ErrorCode(found.error_code))
        offset = found.topics[0].partitions[0].committed_offset
        return None if offset < 0 else offset


class NotAnsweredYetError(Exception):
    """The answer is still to come: its records wait for a flush that could not begin."""


def now(deferred: Deferred[Any]) -> Any:
    """Return a value that is there already; raise ``NotAnsweredYetError``."""
    got: list[Any] = []
    deferred.when_done(got.append)
    if not got:
        raise NotAnsweredYetError
    return got[0]


@contextlib.asynccontextmanager
async def running(filesystem: FileSystem, **config: Any) -> AsyncIterator[Node]:
    """Start a node and kill it at the end."""
    node = await Node(filesystem, **config).start()
    try:
        yield node
    finally:
        await node.broker.kill()
