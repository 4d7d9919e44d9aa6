"""Ask the leaders of partitions for offsets."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pyk.clients.consumer.positions.reset_policy import ResetTarget, TimeBack, time_to_ask
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import leaderless
from pyk.clients.engine.responses import result_for_each
from pyk.clients.errors import KafkaError, MalformedResponseError
from pyk.clients.offsets import (
    FIRST_LIST_VERSION,
    ListedOffset,
    OffsetSpec,
    list_offsets_request,
    listed_offsets,
)
from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.clients.offsets import EpochQuestion

Q = TypeVar("Q")  # what is asked about a partition
A = TypeVar("A")  # what is answered
AskNode = Callable[
    [int, Mapping[TopicPartition, Q]], Awaitable[Mapping[TopicPartition, A | KafkaError]]
]


class OffsetLookup:
    """Finds offsets by time, at the ends of logs, and at the ends of leader epochs."""

    def __init__(self, client: Client, *, read_committed: bool) -> None:
        self._client = client
        self._read_committed = read_committed

    async def find_times(
        self, times: Mapping[TopicPartition, int], deadline: float
    ) -> dict[TopicPartition, ListedOffset | None]:
        """Return the first offset at or after a time; None if no record is that new."""
        return await self._find(self.ask_times, times, deadline)

    async def find_ends(
        self, ends: Mapping[TopicPartition, ResetTarget], deadline: float
    ) -> dict[TopicPartition, ListedOffset]:
        """Return the offset at an end of each log."""
        return await self._find(self.ask_ends, ends, deadline)

    async def _find(
        self,
        ask: Callable[
            [Mapping[TopicPartition, Q]], Awaitable[Mapping[TopicPartition, A | KafkaError]]
        ],
        questions: Mapping[TopicPartition, Q],
        deadline: float,
    ) -> dict[TopicPartition, A]:
        """Ask until each partition has an answer.

        Raises errors that are not retriable, and :class:`KafkaTimeoutError`.
        """
        found: dict[TopicPartition, A] = {}

        async def ask_for_the_rest() -> dict[TopicPartition, A]:
            for topic in topics:
                await self._client.topics.find(topic, deadline)
            answers = await ask({p: q for p, q in questions.items() if p not in found})
            found.update({p: a for p, a in answers.items() if not isinstance(a, KafkaError)})
            errors = [error for error in answers.values() if isinstance(error, KafkaError)]
            if errors:
                raise next((error for error in errors if not error.retriable), errors[0])
            return found

        topics = sorted({partition.topic for partition in questions})
        what = f"look up offsets of {', '.join(topics)}"
        with self._client.topics.using(topics):
            return await self._client.retry(ask_for_the_rest, deadline, what)

    async def ask_times(
        self, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, ListedOffset | KafkaError | None]:
        """Return an offset or an error for each partition, asking each leader once."""
        image = self._client.metadata
        epochs = {
            partition: epoch
            for partition in times
            if (epoch := image.leader_epoch(partition)) is not None
        }

        async def ask_node(
            node_id: int, asked: Mapping[TopicPartition, int]
        ) -> dict[TopicPartition, ListedOffset | KafkaError | None]:
            request = list_offsets_request(
                asked,
                epochs,
                read_committed=self._read_committed,
                timeout_ms=self._client.config.request_timeout_ms,
            )
            response = await self._client.send(node_id, request, min_version=FIRST_LIST_VERSION)
            return result_for_each(asked, listed_offsets(response), node_id)

        return await self._ask_leaders(times, ask_node)

    async def ask_ends(
        self, ends: Mapping[TopicPartition, ResetTarget]
    ) -> dict[TopicPartition, ListedOffset | KafkaError]:
        """Return an offset or an error for each partition, asking each leader once.

        Leaders that have no record since a :class:`TimeBack` are asked for their end as well.
        """
        now_ms = self._client.clock.time_ms()
        answers = await self.ask_times({p: time_to_ask(end, now_ms) for p, end in ends.items()})
        old = {p for p, end in ends.items() if answers[p] is None and isinstance(end, TimeBack)}
        if old:
            answers.update(await self.ask_times(dict.fromkeys(old, OffsetSpec.LATEST)))
        return {
            partition: MalformedResponseError(f"the leader of {partition} named no end of its log")
            if answer is None
            else answer
            for partition, answer in answers.items()
        }

    async def ask_epoch_ends(
        self, questions: Mapping[TopicPartition, EpochQuestion]
    ) -> dict[TopicPartition, int | KafkaError]:
        """Return the end of an epoch or an error for each partition, asking each leader once."""
        from pyk.clients.offsets import FIRST_VERSION_OF_EPOCH_ENDS, epoch_ends, epoch_ends_request

        async def ask_node(
            node_id: int, asked: Mapping[TopicPartition, EpochQuestion]
        ) -> dict[TopicPartition, int | KafkaError]:
            response = await self._client.send(
                node_id, epoch_ends_request(asked), min_version=FIRST_VERSION_OF_EPOCH_ENDS
            )
            return result_for_each(asked, epoch_ends(response), node_id)

        return await self._ask_leaders(questions, ask_node)

    async def _ask_leaders(
        self,
        questions: Mapping[TopicPartition, Q],
        ask_node: AskNode[Q, A],
    ) -> dict[TopicPartition, A | KafkaError]:
        image = self._client.metadata
        by_leader: dict[int, dict[TopicPartition, Q]] = defaultdict(dict)
        answers: dict[TopicPartition, A | KafkaError] = {}
        for partition, question in questions.items():
            leader = image.leader(partition)
            if leader is None:
                answers[partition] = leaderless(partition)
            else:
                by_leader[leader][partition] = question
        tasks = (_answers_of(node, asked, ask_node) for node, asked in by_leader.items())
        for answered in await asyncio.gather(*tasks):
            answers.update(answered)
        if any(_wants_metadata(answer) for answer in answers.values()):
            self._client.metadata_keeper.request_update()
        return answers


async def _answers_of(
    node: int, asked: Mapping[TopicPartition, Q], ask_node: AskNode[Q, A]
) -> Mapping[TopicPartition, A | KafkaError]:
    """Ask one node; its failure must not spoil the answers of the others.

    The question is asked in here: a task that is cancelled before it begins runs nothing.
    """
    try:
        return await ask_node(node, asked)
    except KafkaError as error:
        return dict.fromkeys(asked, error)


def _wants_metadata(answer: object) -> bool:
    return isinstance(answer, KafkaError) and answer.retriable
