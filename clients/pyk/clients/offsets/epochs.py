"""Ask leaders for the ends of epochs (KIP-320). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients.errors import KafkaError
from pyk.clients.offsets.partition_results import value_or_error
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pyk.runtime import slotted

FIRST_VERSION_OF_EPOCH_ENDS = 3
"""Before it, OffsetForLeaderEpoch is for brokers, who have the right CLUSTER_ACTION."""
NO_REPLICA = -1


@slotted.frozen
class EpochQuestion:
    """The epoch of the last batch that was read, and the leader's epoch as it is known."""

    epoch: int
    leader_epoch: int


def epoch_ends_request(
    questions: Mapping[TopicPartition, EpochQuestion],
) -> OffsetForLeaderEpochRequest:
    """Return the request for the ends of the epochs in ``questions``."""
    return OffsetForLeaderEpochRequest(
        replica_id=NO_REPLICA,
        topics=[
            OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderPartition(
                        partition=place.partition,
                        current_leader_epoch=questions[place].leader_epoch,
                        leader_epoch=questions[place].epoch,
                    )
                    for place in places
                ],
            )
            for topic, places in by_topic(questions).items()
        ],
    )


def epoch_ends(response: OffsetForLeaderEpochResponse) -> dict[TopicPartition, int | KafkaError]:
    """Return the offset where the epoch of each partition ends, -1 if the leader does not know
    it."""
    return {
        (place := TopicPartition(topic.topic, answer.partition)): value_or_error(
            place,
            answer,
            lambda found: found.end_offset if found.leader_epoch >= 0 else -1,
            response.api_key,
        )
        for topic in response.topics
        for answer in topic.partitions
    }
