"""The content of metadata snapshots, and when they are written and deleted."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.protocol.messages.access_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    EntityData,
    UserScramCredentialRecord,
)
from pyk.protocol.messages.metadata_records import (
    BrokerEndpoint,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from pyk.protocol.messages.raft_records import KRaftVersionRecord, Voter, VotersRecord
from pyk.protocol.records import read_batches
from pyk.protocol.schema import Message
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.image_records import (
    frozen_copy,
    image_records,
    quorum_records,
)
from pyk.reference_broker.controller.records import MetadataRecord
from pyk.reference_broker.controller.snapshot_format import (
    BATCH_BYTES,
    DamagedSnapshotError,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
)
from pyk.reference_broker.controller.snapshot_schedule import (
    SnapshotFacts,
    SnapshotSchedule,
    count_old,
)

ORDERS, GONE = UUID(int=7), UUID(int=8)
ID = SnapshotId(21, 3)
ONE, TWO, THREE = (SnapshotId(offset, 0) for offset in (10, 20, 30))

VOTERS = VotersRecord(voters=[Voter(voter_id=1, voter_directory_id=UUID(int=6))])

HISTORY: list[Message] = [
    FeatureLevelRecord(name="group.version", feature_level=1),
    FeatureLevelRecord(name="metadata.version", feature_level=25),
    RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=UUID(int=99),
        broker_epoch=2,
        end_points=[BrokerEndpoint(name="PLAINTEXT", host="one", port=9092, security_protocol=0)],
        rack="a",
        fenced=False,
    ),
    TopicRecord(name="gone", topic_id=GONE),
    TopicRecord(name="orders", topic_id=ORDERS),
    *(
        PartitionRecord(
            partition_id=number,
            topic_id=ORDERS,
            replicas=[1, 2],
            isr=[1],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
        )
        for number in range(3)
    ),
    PartitionChangeRecord(partition_id=1, topic_id=ORDERS, leader=2, isr=[2]),
    ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5"),
    RemoveTopicRecord(topic_id=GONE),
    ClientQuotaRecord(
        entity=[
            EntityData(entity_type="user", entity_name="alice"),
            EntityData(entity_type="client-id", entity_name=None),
        ],
        key="producer_byte_rate",
        value=12.5,
        remove=False,
    ),
    ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=2000),
    AccessControlEntryRecord(
        id=UUID(int=4),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    ),
    UserScramCredentialRecord(
        name="alice",
        mechanism=1,
        salt=b"salt",
        stored_key=b"stored",
        server_key=b"server",
        iterations=4096,
    ),
    DelegationTokenRecord(
        owner="User:alice",
        requester="User:alice",
        renewers=["User:bob"],
        issue_timestamp=1,
        max_timestamp=9,
        expiration_timestamp=5,
        token_id="token",
    ),
]


def image_of(records: list[Message]) -> MetadataImage:
    image = MetadataImage()
    for record in records:
        image.replay(record)
    return image


def contents(image: MetadataImage) -> tuple[object, ...]:
    """Return all that an image says, without the offset it says it at."""
    quotas, acls = image.client_quotas.limits, image.acls.by_id
    return (
        *(image.topics, image.topics_by_id, image.unified_names, image.brokers, image.configs),
        *(image.features, image.scram_credentials, image.delegation_tokens),
        *(image.next_producer_id, quotas, acls, image.voters),
    )


def encoded(image: MetadataImage) -> bytes:
    return encode_snapshot(image_records(image), ID.epoch, 1234, 5678)


def test_image_read_from_its_snapshot_is_the_same() -> None:
    image = image_of(HISTORY)

    snapshot = decode_snapshot(ID, encoded(image))

    again = image_of([MetadataRecord.decode(key, value).message for key, value in snapshot.records])
    assert contents(again) == contents(image)
    assert (snapshot.id, snapshot.last_contained_time_ms) == (ID, 1234)


def test_snapshot_says_who_votes_once_the_log_does() -> None:
    image = image_of([*HISTORY, KRaftVersionRecord(k_raft_version=1), VOTERS])

    content = encode_snapshot(image_records(image), 3, 0, 0, quorum_records(image))

    snapshot = decode_snapshot(ID, content)
    read = [MetadataRecord.decode(key, value).message for key, value in snapshot.records]
    assert read[:2] == [KRaftVersionRecord(k_raft_version=1), VOTERS]
    assert contents(image_of(read)) == contents(image)
    assert [each.base_offset for each in read_batches(content)] == [0, 3, 3 + len(read) - 2]
    assert list(quorum_records(image_of(HISTORY))) == []


def test_copy_for_a_thread_does_not_follow_later_changes() -> None:
    image = image_of(HISTORY)
    before = encoded(image)

    copied = frozen_copy(image)
    for record in (
        TopicRecord(name="new", topic_id=UUID(int=11)),
        PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=2),
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="6"),
        ClientQuotaRecord(
            entity=[EntityData(entity_type="user", entity_name="bob")],
            key="producer_byte_rate",
            value=1.0,
            remove=False,
        ),
    ):
        image.replay(record)

    assert encoded(copied) == before
    assert encoded(image) != before


def test_metadata_version_is_the_first_record() -> None:
    first = next(image_records(image_of(HISTORY)))

    assert isinstance(first, FeatureLevelRecord)
    assert first.name == "metadata.version"


def test_offsets_of_a_snapshot_of_many_batches_follow_each_other() -> None:
    records = [
        ConfigRecord(resource_type=2, resource_name="t", name=f"name-{number}", value="x" * 9000)
        for number in range(500)
    ]

    content = encode_snapshot(records, 3, 0, 0)

    batches = list(read_batches(content))
    assert len(batches) > 5
    assert max(each.size_in_bytes for each in batches) <= BATCH_BYTES
    assert [each.base_offset for each in batches[1:]] == [each.next_offset for each in batches[:-1]]
    assert {each.partition_leader_epoch for each in batches} == {3}
    assert [each.is_control for each in batches] == [True, *[False] * (len(batches) - 2), True]
    assert len(decode_snapshot(ID, content).records) == len(records)


@given(length=st.integers(0, len(encoded(image_of(HISTORY))) - 1))
def test_snapshot_that_ends_early_is_damaged(length: int) -> None:
    with pytest.raises(DamagedSnapshotError):
        decode_snapshot(ID, encoded(image_of(HISTORY))[:length])


@given(position=st.integers(20, len(encoded(image_of(HISTORY))) - 1), bit=st.integers(0, 7))
def test_flipped_bit_is_never_read_as_other_metadata(position: int, bit: int) -> None:
    whole = encoded(image_of(HISTORY))
    content = bytearray(whole)
    content[position] ^= 1 << bit

    try:
        records = decode_snapshot(ID, bytes(content)).records
    except DamagedSnapshotError:
        return

    assert records == decode_snapshot(ID, whole).records  # an offset or epoch, outside of the CRC


def test_bytes_after_the_footer_are_damage() -> None:
    content = encoded(image_of(HISTORY))

    with pytest.raises(DamagedSnapshotError, match="follows its footer"):
        decode_snapshot(ID, content * 2)
    with pytest.raises(DamagedSnapshotError):
        decode_snapshot(ID, content + b"\0")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000021-0000000003.checkpoint", ID),
        ("00000000000000000021-0000000003.checkpoint.part", None),
        ("00000000000000000021-0000000003.checkpoint.damaged", None),
        ("leader-epoch-checkpoint", None),
    ],
)
def test_file_name_of_a_snapshot_is_offset_and_epoch(name: str, expected: SnapshotId) -> None:
    assert SnapshotId.of_file(name) == expected
    assert ID.file_name == "00000000000000000021-0000000003.checkpoint"


def test_snapshot_is_due_after_so_many_bytes_or_after_the_interval_with_a_change() -> None:
    schedule = SnapshotSchedule(max_bytes=100, max_interval=60.0, began_at=0.0, offset=5)

    assert not schedule.is_due(6, now=59.0)
    assert schedule.is_due(6, now=60.0)
    assert not schedule.is_due(5, now=60.0)  # no change

    schedule.bytes_since = 100
    assert schedule.is_due(6, now=0.0)
    schedule.began(6, 1.0)
    assert not schedule.is_due(7, now=2.0)


def test_interval_of_zero_is_no_interval() -> None:
    schedule = SnapshotSchedule(max_bytes=100, max_interval=0.0, began_at=0.0)

    assert not schedule.is_due(6, now=1e9)


@pytest.mark.parametrize(
    ("max_bytes", "max_ms", "count"),
    [
        (1000, 1000, 0),
        (129, 1000, 1),
        (119, 1000, 2),
        (1, 1000, 2),
        (0, 1000, 2),
        (-1, 1000, 0),
        (1000, 85, 1),
        (1000, 0, 2),
        (1000, -1, 0),
    ],
)
def test_oldest_snapshots_go_by_size_and_age_and_the_newest_stays(
    max_bytes: int, max_ms: int, count: int
) -> None:
    config = BrokerConfig(metadata_max_retention_bytes=max_bytes, metadata_max_retention_ms=max_ms)
    facts = {
        each: SnapshotFacts(10, time_ms) for each, time_ms in ((ONE, 10), (TWO, 20), (THREE, 30))
    }

    assert count_old([ONE, TWO, THREE], facts, config, log_size=100, now_ms=100) == count
