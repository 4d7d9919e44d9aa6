"""Streams groups of one shard over a log in memory, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pyk.protocol.messages.streams_group_describe import DescribedGroup
from pyk.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from pyk.reference_broker.controller.image import GROUP_RESOURCE, MetadataImage, TopicImage
from pyk.reference_broker.coordinator.decision import NOTHING
from pyk.reference_broker.coordinator.group.consumer.group_config import ConsumerGroupConfig
from pyk.reference_broker.coordinator.group.offsets import OffsetConfig
from pyk.reference_broker.coordinator.group.rebalance import GroupConfig
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.coordinator.group.streams.group_config import StreamsGroupConfig
from pyk.reference_broker.coordinator.group.streams.heartbeat import StreamsHeartbeat
from pyk.reference_broker.coordinator.group.streams.membership import HeartbeatAnswer
from pyk.reference_broker.coordinator.group.streams.streams_group import StreamsGroup
from pyk.reference_broker.coordinator.group.streams.tasks import by_subtopology
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.errors import ApiError
from support.groups import MemoryShardLog
from support.shard_time import ShardTime

GROUP = "counters"
COUNTING = Topology(
    epoch=0,
    subtopologies=[
        Subtopology(
            subtopology_id="0",
            source_topics=["text"],
            state_changelog_topics=[TopicInfo(name="counts")],
        )
    ],
)
"""One subtopology with a store: a task for each partition of ``text``."""
NO_DELAYS = {"assignment_interval_ms": 0, "initial_rebalance_delay_ms": 0}

Partitions = list[int]


class StreamsGroupsOfShard(ShardTime):
    """What members do to a coordinator; ``missing`` is what the last answer wants created."""

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
        self.missing: list[str] = []
        if image is None:
            self.add_topic("text", 4)
            self.add_topic("counts", 4)
        self.runtime = ShardRuntime(
            "__consumer_offsets-0", self.log, self.timers, self.moment, self._new_shard
        )
        list(self.runtime.load())

    def _new_shard(self, timers: Any) -> GroupShard:
        return GroupShard(
            GroupConfig(),
            OffsetConfig(),
            timers,
            lambda: UUID(int=99),
            consumer_config=ConsumerGroupConfig,
            streams_config=lambda: StreamsGroupConfig(**{**NO_DELAYS, **self._config}),
            image=self.image,
        )

    def add_topic(self, name: str, partitions: int) -> None:
        topic = TopicImage(name=name, topic_id=UUID(bytes=name.ljust(16)[:16].encode()))
        topic.partitions = dict.fromkeys(range(partitions))  # type: ignore[arg-type]
        self.image.topics[name] = self.image.topics_by_id[topic.topic_id] = topic
        self.image.record_count += 1

    def delete_topic(self, name: str) -> None:
        topic = self.image.topics.pop(name)
        del self.image.topics_by_id[topic.topic_id]
        self.image.record_count += 1

    def configure(self, name: str, value: str) -> None:
        self.image.configs.setdefault((GROUP_RESOURCE, GROUP), {})[name] = value

    @property
    def shard(self) -> GroupShard:
        return self.runtime._shard

    @property
    def group(self) -> StreamsGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, StreamsGroup)
        return group

    def beat(self, member: str, epoch: int, **more: Any) -> StreamsGroupHeartbeatResponse:
        request = StreamsGroupHeartbeatRequest(
            **{"group_id": GROUP, "member_id": member, "member_epoch": epoch, **more}
        )

        def decide(shard: GroupShard, moment: Any) -> Any:
            beat = StreamsHeartbeat(
                request=request, client_id="app", client_host="/127.0.0.1", moment=moment
            )
            try:
                return shard.streams.heartbeat(beat)
            except ApiError as error:
                refused = StreamsGroupHeartbeatResponse(
                    error_code=error.code, error_message=error.message
                )
                return HeartbeatAnswer(refused), NOTHING

        answers: list[Any] = []
        self.runtime.ask(decide, lambda code: code).when_done(answers.append)
        (answer,) = answers
        assert isinstance(answer, HeartbeatAnswer), answer
        self.missing = [each.name for each in answer.missing_topics]
        return answer.response

    def join(self, member: str, **more: Any) -> StreamsGroupHeartbeatResponse:
        """Let a member join, with a process of its own unless said otherwise."""
        values = {
            "topology": COUNTING,
            "process_id": f"process of {member}",
            "rebalance_timeout_ms": 60_000,
            **owning([]),
            **more,
        }
        return self.beat(member, 0, **values)

    def settle(self, *member_ids: str) -> None:
        """Let members do as they are told until nothing changes."""
        for _ in range(6):
            for member_id in member_ids:
                member = self.group.members[member_id]
                held = member.assigned
                owned = {
                    "active_tasks": listed(held.active),
                    "standby_tasks": listed(held.standby),
                    "warmup_tasks": [],
                }
                assert not self.beat(member_id, member.epoch, **owned).error_code

    def held(self, member_id: str) -> Partitions:
        """Return the active tasks of a member, as the partitions of the only subtopology."""
        return sorted(task.partition for task in self.group.members[member_id].assigned.active)

    def standby(self, member_id: str) -> Partitions:
        return sorted(task.partition for task in self.group.members[member_id].assigned.standby)

    def describe(self) -> DescribedGroup:
        return self.shard.streams_groups.describe(GROUP)

    def ask(self, event: Any) -> Any:
        """Return what a request method answers, or the error it raises."""
        answers: list[Any] = []
        self.runtime.ask(event, lambda code: code).when_done(answers.append)
        return answers[0]

    def restarted(self) -> StreamsGroupsOfShard:
        """Return a coordinator that has loaded the same log."""
        return StreamsGroupsOfShard(self.log, self.image, **self._config)


def owning(active: Partitions, standby: Sequence[int] = ()) -> dict[str, list[TaskIds]]:
    """Return what a heartbeat says of the tasks of its member."""
    return {
        "active_tasks": _tasks(active),
        "standby_tasks": _tasks(standby),
        "warmup_tasks": [],
    }


def _tasks(partitions: Sequence[int]) -> list[TaskIds]:
    return [TaskIds(subtopology_id="0", partitions=list(partitions))] if partitions else []


def listed(tasks: Any) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def told(response: StreamsGroupHeartbeatResponse) -> Partitions | None:
    """Return the active tasks in a response, None if it has none to tell."""
    if response.active_tasks is None:
        return None
    return [number for each in response.active_tasks for number in each.partitions]


def statuses(response: StreamsGroupHeartbeatResponse) -> list[int]:
    return [each.status_code for each in response.status or ()]
