"""Share groups of one shard over a log in memory, in virtual time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage, TopicImage
from pyk.reference_broker.coordinator.decision import NOTHING
from pyk.reference_broker.coordinator.group.consumer.group_config import ConsumerGroupConfig
from pyk.reference_broker.coordinator.group.offsets import OffsetConfig
from pyk.reference_broker.coordinator.group.rebalance import GroupConfig
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.share.group_config import ShareGroupConfig
from pyk.reference_broker.coordinator.group.share.heartbeat import ShareHeartbeat
from pyk.reference_broker.coordinator.group.share.initialization import (
    InitializedStates,
    InitializeStates,
)
from pyk.reference_broker.coordinator.group.share.share_group import ShareGroup
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from support.groups import MemoryShardLog
from support.shard_time import ShardTime

GROUP = "workers"
TOPICS = {"orders": UUID(int=1), "bills": UUID(int=2)}


class ShareGroupsOfShard(ShardTime):
    """What members do to a coordinator; ``asked`` is what it wants initialized."""

    def __init__(
        self,
        log: MemoryShardLog | None = None,
        image: MetadataImage | None = None,
        **config: int,
    ) -> None:
        super().__init__()
        self.log = log or MemoryShardLog()
        self.image = image or MetadataImage()
        self._config = config
        self.asked: list[tuple[InitializeStates, Deferred[InitializedStates]]] = []
        self.answers_at_once = True
        if image is None:
            for name in TOPICS:
                self.add_topic(name, 3)
        self.runtime = ShardRuntime(
            "__consumer_offsets-0",
            self.log,
            self.timers,
            self.moment,
            self._new_shard,
            act=self._act,
        )
        list(self.runtime.load())

    def _new_shard(self, timers: Any) -> GroupShard:
        return GroupShard(
            GroupConfig(),
            OffsetConfig(),
            timers,
            lambda: UUID(int=99),
            consumer_config=ConsumerGroupConfig,
            share_config=lambda: ShareGroupConfig(**{"assignment_interval_ms": 0, **self._config}),
            image=self.image,
        )

    def _act(self, request: InitializeStates) -> Deferred[InitializedStates]:
        result: Deferred[InitializedStates] = Deferred()
        self.asked.append((request, result))
        if self.answers_at_once:
            self.initialized()
        return result

    def initialized(self, *, fails: bool = False) -> None:
        """Let share coordinators answer the oldest request."""
        request, result = self.asked.pop(0)
        partitions = {
            topic_id: frozenset(numbers) for topic_id, numbers in request.start_offsets.items()
        }
        nothing: dict[UUID, frozenset[int]] = {}
        result.complete(
            InitializedStates(
                done=nothing if fails else partitions, failed=partitions if fails else nothing
            )
        )

    def add_topic(self, name: str, partitions: int) -> None:
        topic = TopicImage(name=name, topic_id=TOPICS[name])
        topic.partitions = dict.fromkeys(range(partitions))  # type: ignore[arg-type]
        self.image.topics[name] = self.image.topics_by_id[topic.topic_id] = topic
        self.image.record_count += 1

    def delete_topic(self, name: str) -> None:
        del self.image.topics[name]
        del self.image.topics_by_id[TOPICS[name]]
        self.image.record_count += 1
        self.runtime.tell(lambda shard, _: shard.forget_deleted_topics(self.image.topic_id))

    def configure(self, name: str, value: str) -> None:
        self.image.configs.setdefault((GROUP_RESOURCE, GROUP), {})[name] = value

    @property
    def shard(self) -> GroupShard:
        return self.runtime._shard

    @property
    def group(self) -> ShareGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ShareGroup)
        return group

    def beat(self, member_id: str, epoch: int, **more: Any) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(
            **{"group_id": GROUP, "member_id": member_id, "member_epoch": epoch, **more}
        )

        def decide(shard: GroupShard, moment: Any) -> Any:
            beat = ShareHeartbeat(
                request=request, client_id="app", client_host="/127.0.0.1", moment=moment
            )
            try:
                return shard.shares.heartbeat(beat)
            except ApiError as error:
                return ShareGroupHeartbeatResponse(error_code=error.code), NOTHING

        answers: list[Any] = []
        self.runtime.ask(decide, lambda code: code).when_done(answers.append)
        (answer,) = answers
        assert isinstance(answer, ShareGroupHeartbeatResponse), answer
        return answer

    def join(self, member_id: str, *topics: str, **more: Any) -> ShareGroupHeartbeatResponse:
        names = list(topics or ["orders"])
        return self.beat(member_id, 0, subscribed_topic_names=names, **more)

    def settle(self, *member_ids: str) -> None:
        """Let members send heartbeats until nothing changes."""
        for _ in range(4):
            for member_id in member_ids:
                assert not self.beat(member_id, self.group.members[member_id].epoch).error_code

    def held(self, member_id: str) -> dict[str, list[int]]:
        """Return the partitions of a member by topic."""
        names = {topic_id: name for name, topic_id in TOPICS.items()}
        assigned = self.group.members[member_id].assigned
        return {names[topic_id]: sorted(numbers) for topic_id, numbers in assigned.items()}

    def ask(self, event: Any) -> Any:
        """Return what a request method answers, or the error it raises."""
        answers: list[Any] = []
        self.runtime.ask(lambda shard, _: event(shard), lambda code: code).when_done(answers.append)
        return answers[0]

    def restarted(self) -> ShareGroupsOfShard:
        """Return a coordinator that has loaded the same log."""
        return ShareGroupsOfShard(self.log, self.image, **self._config)


def code_of(response: ShareGroupHeartbeatResponse) -> ErrorCode:
    return ErrorCode(response.error_code)


def emptied(groups: ShareGroupsOfShard) -> None:
    """Let a member join until it has its partitions, and leave."""
    groups.join("a", "orders", "bills")
    groups.settle("a")
    groups.beat("a", -1)
