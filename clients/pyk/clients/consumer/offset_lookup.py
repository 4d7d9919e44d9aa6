"""Ask the leaders of partitions for offsets."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from pyk.clients.consumer.offset_requests import (
    EpochQuestion,
    FoundOffset,
    epoch_ends_request,
    list_offsets_request,
    read_epoch_ends,
    read_list_offsets,
)
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, LeaderNotAvailableError
from pyk.clients.topic_partition import TopicPartition

T = TypeVar("T")
Answers = dict[TopicPartition, FoundOffset | KafkaError]


class OffsetLookup:
    """Finds offsets by time, at the ends of logs, and at the ends of leader epochs."""

    def __init__(self, client: Client, isolation_level: str) -> None:
        self._client = client
        self._isolation_level = isolation_level

    async def find(
        self, timestamps: Mapping[TopicPartition, int], deadline: float
    ) -> dict[TopicPartition, FoundOffset]:
        """Return the offset of each partition, asking until the deadline.

        Raises what does not pass, and :class:`KafkaTimeoutError`.
        """
        found: dict[TopicPartition, FoundOffset] = {}

        async def ask_for_the_rest() -> dict[TopicPartition, FoundOffset]:
            rest = {p: t for p, t in timestamps.items() if p not in found}
            answers = await self.ask(rest)
            errors = [e for e in answers.values() if isinstance(e, KafkaError)]
            found.update({p: o for p, o in answers.items() if isinstance(o, FoundOffset)})
            if errors:
                raise next((error for error in errors if not error.retriable), errors[0])
            return found

        self._client.track_topics({partition.topic for partition in timestamps})
        names = ", ".join(sorted({partition.topic for partition in timestamps}))
        return await self._client.retry(ask_for_the_rest, deadline, f"look up offsets of {names}")

    async def ask(self, timestamps: Mapping[TopicPartition, int]) -> Answers:
        """Return an offset or an error for each partition, asking each leader once."""
        image = self._client.metadata
        epochs = {partition: _or_unknown(image.leader_epoch(partition)) for partition in timestamps}

        async def ask_node(node_id: int, asked: Mapping[TopicPartition, int]) -> Answers:
            request = list_offsets_request(
                asked, epochs, self._isolation_level, self._client.config.request_timeout_ms
            )
            return read_list_offsets(
                asked, await self._client.send(node_id, request, min_version=1)
            )

        return await self._ask_leaders(timestamps, ask_node)

    async def ask_epoch_ends(self, questions: Mapping[TopicPartition, EpochQuestion]) -> Answers:
        """Return the end of an epoch or an error for each partition, asking each leader once."""

        async def ask_node(node_id: int, asked: Mapping[TopicPartition, Any]) -> Answers:
            response = await self._client.send(node_id, epoch_ends_request(asked), min_version=2)
            return read_epoch_ends(asked, response)

        return await self._ask_leaders(questions, ask_node)

    async def _ask_leaders(
        self,
        questions: Mapping[TopicPartition, T],
        ask_node: Callable[[int, Mapping[TopicPartition, T]], Awaitable[Answers]],
    ) -> Answers:
        image = self._client.metadata
        by_leader: dict[int, dict[TopicPartition, T]] = defaultdict(dict)
        answers: Answers = {}
        for partition, question in questions.items():
            leader = image.leader(partition)
            if leader is None:
                answers[partition] = LeaderNotAvailableError(
                    f"{partition} has no leader that is known",
                    topic=partition.topic,
                    partition=partition.partition,
                )
            else:
                by_leader[leader][partition] = question
        tasks = [
            _errors_as_answers(ask_node(node, asked), asked) for node, asked in by_leader.items()
        ]
        for answered in await asyncio.gather(*tasks):
            answers.update(answered)
        if any(_wants_metadata(answer) for answer in answers.values()):
            self._client.request_metadata_update()
        return answers


async def _errors_as_answers(
    asking: Awaitable[Answers], asked: Mapping[TopicPartition, object]
) -> Answers:
    """Let one node that fails not spoil the answers of the others."""
    try:
        return await asking
    except KafkaError as error:
        return dict.fromkeys(asked, error)


def _wants_metadata(answer: FoundOffset | KafkaError) -> bool:
    return isinstance(answer, KafkaError) and answer.retriable


def _or_unknown(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
