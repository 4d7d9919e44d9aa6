"""Eligible leader replicas (KIP-966), as the metadata log tells of them."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)
from pyk.protocol.messages.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from pyk.reference_broker.controller.directory_requests import assign_replicas
from pyk.reference_broker.controller.image import MetadataImage, PartitionChanged

TOPICS = {"orders": UUID(int=1), "payments": UUID(int=2)}


@pytest.fixture
def image() -> MetadataImage:
    """Return an image of two topics, each with a partition that has an eligible leader."""
    image = MetadataImage()
    for name, topic_id in TOPICS.items():
        image.replay(TopicRecord(name=name, topic_id=topic_id))
        for number in (0, 1):
            image.replay(
                PartitionRecord(
                    partition_id=number, topic_id=topic_id, replicas=[0], isr=[0], leader=0
                )
            )
        lost = PartitionChangeRecord(
            partition_id=0,
            topic_id=topic_id,
            leader=-1,
            isr=[],
            eligible_leader_replicas=[0],
            last_known_elr=[0],
        )
        image.replay(lost)
    return image


def eligible(image: MetadataImage) -> dict[str, tuple[int, ...]]:
    return {
        topic.name: (
            *topic.partitions[0].eligible_leader_replicas,
            *topic.partitions[0].last_known_elr,
        )
        for topic in image.topics.values()
    }


def test_the_eligible_leaders_of_one_topic_are_forgotten(image: MetadataImage) -> None:
    before = image.topics["orders"].partitions[0]

    (change,) = image.replay(ClearElrRecord(topic_name="orders"))

    assert eligible(image) == {"orders": (), "payments": (0, 0)}
    assert isinstance(change, PartitionChanged)
    after = change.partition
    assert (after.leader, after.leader_epoch) == (-1, before.leader_epoch)
    assert after.partition_epoch == before.partition_epoch + 1


def test_the_eligible_leaders_of_all_topics_are_forgotten(image: MetadataImage) -> None:
    changes = image.replay(ClearElrRecord(topic_name=""))

    assert eligible(image) == {"orders": (), "payments": ()}
    assert len(changes) == 2


def test_a_replica_that_turns_out_to_be_in_a_directory_that_works_leads_and_is_in_sync(
    image: MetadataImage,
) -> None:
    working = UUID(int=8)
    image.features["metadata.version"] = 30
    image.replay(RegisterBrokerRecord(broker_id=0, broker_epoch=5, log_dirs=[working]))
    topic = RequestTopicData(
        topic_id=TOPICS["orders"], partitions=[RequestPartitionData(partition_index=0)]
    )
    request = AssignReplicasToDirsRequest(
        broker_id=0,
        broker_epoch=5,
        directories=[RequestDirectoryData(id=working, topics=[topic])],
    )

    _, (record,) = assign_replicas(image, request)
    image.replay(record)

    partition = image.topics["orders"].partitions[0]
    assert (partition.leader, partition.isr, partition.directories) == (0, (0,), (working,))
    assert eligible(image)["orders"] == ()
