"""Members of consumer groups of one shard over a log in memory, in virtual time (KIP-848)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import DescribedGroup
from pyk.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pyk.protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from pyk.reference_broker.controller.image import GROUP_RESOURCE
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.consumer.group_config import ConsumerGroupConfig
from pyk.reference_broker.coordinator.group.consumer.heartbeat import Heartbeat
from pyk.reference_broker.coordinator.group.shard import GroupShard
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment
from support.groups import GROUP, Groups, Waiting

Partitions = dict[str, list[int]]


class ConsumerGroups(Groups):
    """What members of consumer groups do to a coordinator; topics exist from :meth:`create` on.

    Targets are assigned at once unless ``assignment_interval_ms`` says otherwise.
    """

    def __init__(
        self,
        log: Any = None,
        *,
        retention_ms: int = 1 << 40,
        max_size_of_classic_groups: int = 1 << 30,
        **config: Any,
    ) -> None:
        super().__init__(log, retention_ms=retention_ms, max_size=max_size_of_classic_groups)
        self.consumer_config = ConsumerGroupConfig(**{"assignment_interval_ms": 0, **config})
        self._topics: dict[str, UUID] = {}

    # -- topics ----------------------------------------------------------------------------------

    def create(self, topic: str, partitions: int) -> UUID:
        """Create a topic, or add partitions to one."""
        topic_id = self._topics.get(topic)
        if topic_id is None:
            topic_id = self._topics[topic] = UUID(int=1000 + len(self._topics))
            self.image.replay(TopicRecord(name=topic, topic_id=topic_id))
        for number in range(len(self.image.topics[topic].partitions), partitions):
            self.image.replay(PartitionRecord(partition_id=number, topic_id=topic_id, leader=0))
        return topic_id

    def delete_topic(self, topic: str) -> None:
        self.image.replay(RemoveTopicRecord(topic_id=self._topics.pop(topic)))

    def configure(self, name: str, value: int) -> None:
        """Set a configuration of the group."""
        self.image.replay(
            ConfigRecord(
                resource_type=GROUP_RESOURCE, resource_name=GROUP, name=name, value=str(value)
            )
        )

    # -- members ---------------------------------------------------------------------------------

    def beat(
        self, member_id: str, epoch: int, owned: Partitions | None = None, **more: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat with what the member has, and return the response."""
        may_see = more.pop("may_see", lambda _: True)
        version = more.pop("version", 1)
        request = ConsumerGroupHeartbeatRequest(
            group_id=more.pop("group", GROUP),
            member_id=member_id,
            member_epoch=epoch,
            topic_partitions=None if owned is None else self._with_ids(owned),
            **more,
        )

        def handle(
            shard: GroupShard, moment: Moment
        ) -> tuple[ConsumerGroupHeartbeatResponse, Decision]:
            beat = Heartbeat(
                request=request,
                version=version,
                client_id="app",
                client_host="/127.0.0.1",
                moment=moment,
                may_see=may_see,
            )
            try:
                return shard.consumers.heartbeat(beat)
            except ApiError as error:
                refused = ConsumerGroupHeartbeatResponse(
                    error_code=error.code, error_message=error.message
                )
                return refused, NOTHING

        answer = self.runtime.ask(
            handle, lambda code: ConsumerGroupHeartbeatResponse(error_code=code)
        )
        response: ConsumerGroupHeartbeatResponse = Waiting(answer).response
        return response

    def join_as(
        self, member_id: str, *topics: str, rebalance_s: float = 60, **more: Any
    ) -> ConsumerGroupHeartbeatResponse:
        return self.beat(
            member_id,
            0,
            {},
            rebalance_timeout_ms=int(rebalance_s * 1000),
            subscribed_topic_names=list(topics) if topics else None,
            **more,
        )

    def leave_as(self, member_id: str, epoch: int = -1, **more: Any) -> Any:
        return self.beat(member_id, epoch, **more)

    def reconcile(self, *member_ids: str) -> None:
        """Let members send heartbeats, with what they were told to have, until all is stable."""
        for _ in range(10):
            for member_id in member_ids:
                member = self.group.members[member_id]
                self.beat(member_id, member.epoch, self.assigned(member_id))
            if self.group.state.value == "Stable":
                return
        raise AssertionError(f"the group is {self.group.state}")

    # -- what there is ---------------------------------------------------------------------------

    @property
    def group(self) -> Any:
        return self.shard.groups[GROUP]

    def assigned(self, member_id: str) -> Partitions:
        assigned = self.group.members[member_id].assigned
        return self._named({topic_id: list(epochs) for topic_id, epochs in assigned.items()})

    def told(self, response: ConsumerGroupHeartbeatResponse) -> Partitions | None:
        """Return the assignment in a response, None if there is none."""
        if response.assignment is None:
            return None
        return self._named(
            {each.topic_id: each.partitions for each in response.assignment.topic_partitions}
        )

    def describe(self) -> DescribedGroup:
        return self.shard.consumer_groups.describe(GROUP)

    def _with_ids(self, partitions: Partitions) -> list[TopicPartitions]:
        return [
            TopicPartitions(topic_id=self._topics[topic], partitions=numbers)
            for topic, numbers in partitions.items()
        ]

    def _named(self, partitions: dict[UUID, list[int]]) -> Partitions:
        names = {topic_id: topic for topic, topic_id in self._topics.items()}
        return {names[topic_id]: sorted(numbers) for topic_id, numbers in partitions.items()}


def configured(groups: ConsumerGroups, **changes: Any) -> None:
    """Change the configuration of the broker while it runs."""
    groups.consumer_config = slotted.evolve(groups.consumer_config, **changes)


def error_of(response: Any) -> ErrorCode:
    return ErrorCode(response.error_code)
