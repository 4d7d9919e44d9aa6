"""The state of share groups in one shard over a log in memory, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pyk.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pyk.reference_broker.controller.image import TopicImage
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.share.records import ShareStateRecord
from pyk.reference_broker.coordinator.share.shard import ShareStateConfig, ShareStateShard
from pyk.reference_broker.coordinator.share.share_partition import (
    SharePartitionKey,
)
from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from support.groups import MemoryShardLog
from support.shard_time import ShardTime

ORDERS = UUID(int=7)
KEY = SharePartitionKey("workers", ORDERS, 0)
OTHER = SharePartitionKey("workers", ORDERS, 1)


class States(ShardTime):
    """A share coordinator over a log, and those who ask it."""

    def __init__(self, log: MemoryShardLog | None = None, **config: int) -> None:
        super().__init__()
        self.log = log or MemoryShardLog()
        self.topics: dict[UUID, Any] = {}
        self.add_topic()
        self.runtime: ShardRuntime[ShareStateShard] = ShardRuntime(
            "__share_group_state-0",
            self.log,
            self.timers,
            self.moment,
            lambda timers: ShareStateShard(ShareStateConfig(**config), timers, self.topics),
        )
        list(self.runtime.load())

    def add_topic(self) -> None:
        topic = TopicImage(name="orders", topic_id=ORDERS)
        topic.partitions = dict.fromkeys(range(2))  # type: ignore[assignment]
        self.topics[ORDERS] = topic

    def ask(self, event: Callable[..., Any], key: SharePartitionKey, asked: Any) -> Any:
        answers: list[Any] = []

        def decide(shard: ShareStateShard, moment: Any) -> Any:
            return event(shard, key, asked, moment)

        self.runtime.ask(decide, lambda code: code).when_done(answers.append)
        (answer,) = answers
        return answer

    def initialize(self, key: SharePartitionKey = KEY, *, epoch: int = 1, start: int = 0) -> Any:
        asked = initialize_share_group_state.PartitionData(state_epoch=epoch, start_offset=start)
        return self.ask(ShareStateShard.initialize, key, asked)

    def write(
        self,
        *batches: StateBatch,
        key: SharePartitionKey = KEY,
        start: int = -1,
        complete: int = 0,
        **epochs: int,
    ) -> Any:
        asked = write_share_group_state.PartitionData(
            start_offset=start,
            delivery_complete_count=complete,
            state_batches=[
                write_share_group_state.StateBatch(
                    first_offset=each.first_offset,
                    last_offset=each.last_offset,
                    delivery_count=each.delivery_count,
                    delivery_state=each.delivery_state,
                )
                for each in batches
            ],
            **{"state_epoch": 1, "leader_epoch": 0, **epochs},
        )
        return self.ask(ShareStateShard.write, key, asked)

    def read(self, key: SharePartitionKey = KEY, leader_epoch: int = 0) -> Any:
        asked = read_share_group_state.PartitionData(leader_epoch=leader_epoch)
        return self.ask(ShareStateShard.read, key, asked)

    def delete(self, key: SharePartitionKey = KEY) -> Any:
        return self.ask(ShareStateShard.delete, key, delete_share_group_state.PartitionData())

    def summarize(self, key: SharePartitionKey = KEY) -> Any:
        asked = read_share_group_state_summary.PartitionData(leader_epoch=0)
        return self.ask(ShareStateShard.summarize, key, asked)

    def restarted(self) -> States:
        """Return a coordinator that has loaded the same log."""
        return States(self.log)

    @property
    def records(self) -> list[ShareStateRecord]:
        return [
            ShareStateRecord.decode(key or b"", value)
            for batch in self.log.batches
            for key, value in batch
        ]

    @property
    def kinds(self) -> list[str]:
        return [type(record.value).__name__ for record in self.records]


def batches(answer: Any) -> list[tuple[int, int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_count, each.delivery_state)
        for each in answer.state_batches
    ]
