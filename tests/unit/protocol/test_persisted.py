from __future__ import annotations

import pytest

from pyk.protocol import (
    MalformedMessageError,
    Message,
    UnknownMessageError,
    UnsupportedVersionError,
    known_messages,
    message_class,
)
from pyk.protocol.messages.access_records import ClientQuotaRecord
from pyk.protocol.messages.consumer_group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    StickyAssignorUserData,
    TopicAssignment,
)
from pyk.protocol.messages.control_records import ControlRecordTypeSchema, EndTxnMarker
from pyk.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from pyk.protocol.messages.metadata_change_records import NoOpRecord
from pyk.protocol.messages.metadata_records import TopicRecord
from pyk.protocol.messages.remote_log_records import RemotePartitionDeleteMetadataRecord
from pyk.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from pyk.protocol.persisted import (
    decode_coordinator_key,
    decode_coordinator_value,
    decode_metadata_record,
    decode_sticky_user_data,
    decode_versioned,
    encode_coordinator_key,
    encode_metadata_record,
    encode_versioned,
)
from pyk.protocol.schema import MessageKind

COORDINATOR_KEYS = [
    name for name in known_messages() if message_class(name).kind is MessageKind.COORDINATOR_KEY
]
TOPICS = {
    "ShareSnapshotKey": "__share_group_state",
    "ShareUpdateKey": "__share_group_state",
    "TransactionLogKey": "__transaction_state",
}
SUBSCRIPTION = ConsumerProtocolSubscription(topics=["t"], rack_id="r")


def test_a_versioned_message_follows_its_version() -> None:
    data = encode_versioned(SUBSCRIPTION, 3)

    assert data[:2] == b"\0\3"
    assert decode_versioned(ConsumerProtocolSubscription, data) == SUBSCRIPTION


def test_a_newer_version_is_read_as_the_newest_known_one() -> None:
    data = b"\0\x09" + SUBSCRIPTION.encode(3) + b"what version 9 adds"

    assert decode_versioned(ConsumerProtocolSubscription, data, accept_newer=True) == SUBSCRIPTION


def test_a_newer_version_is_refused_if_its_meaning_may_differ() -> None:
    with pytest.raises(UnsupportedVersionError):
        decode_versioned(OffsetCommitValue, b"\0\x09" + OffsetCommitValue().encode(4))


@pytest.mark.parametrize("accept_newer", [True, False])
def test_a_negative_version_is_refused(accept_newer: bool) -> None:
    with pytest.raises(UnsupportedVersionError):
        decode_versioned(ConsumerProtocolSubscription, b"\xff\xff", accept_newer=accept_newer)


@pytest.mark.parametrize("data", [b"", b"\0"])
def test_bytes_too_short_for_their_version_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessageError, match="too short"):
        decode_versioned(ConsumerProtocolSubscription, data)
    with pytest.raises(MalformedMessageError, match="too short"):
        decode_coordinator_key(data)


@pytest.mark.parametrize(
    "key",
    [
        OffsetCommitKey(group="g", topic="t", partition=1),
        LegacyOffsetCommitKey(group="g", topic="t", partition=1),
        GroupMetadataKey(group="g"),
        ConsumerGroupMetadataKey(group_id="g"),
    ],
)
def test_a_coordinator_key_follows_its_type(key: Message) -> None:
    data = encode_coordinator_key(key)

    assert int.from_bytes(data[:2]) == key.api_key
    assert decode_coordinator_key(memoryview(data)) == key


def test_a_coordinator_key_of_unknown_type_is_named() -> None:
    with pytest.raises(UnknownMessageError, match="type 99"):
        decode_coordinator_key(b"\0\x63")


def test_a_coordinator_key_of_a_topic_that_no_coordinator_has_is_refused() -> None:
    with pytest.raises(UnknownMessageError, match="type 2 in orders"):
        decode_coordinator_key(encode_coordinator_key(GroupMetadataKey()), "orders")


@pytest.mark.parametrize(
    ("key", "value", "version"),
    [
        (GroupMetadataKey(group="g"), GroupMetadataValue(generation=3), 4),
        (ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=3), 0),
    ],
)
def test_a_coordinator_value_is_read_as_its_key_says(
    key: Message, value: Message, version: int
) -> None:
    data = encode_versioned(value, version)

    assert decode_coordinator_value(key, data) == value


def test_a_coordinator_record_without_value_is_a_deletion() -> None:
    assert decode_coordinator_value(GroupMetadataKey(group="g"), None) is None


def test_each_internal_topic_counts_record_types_for_itself() -> None:
    key, value = TransactionLogKey(transactional_id="t"), TransactionLogValue(producer_id=7)

    data = encode_coordinator_key(key)

    assert data[:2] == encode_coordinator_key(LegacyOffsetCommitKey())[:2]
    assert decode_coordinator_key(data, "__transaction_state") == key
    assert decode_coordinator_value(key, encode_versioned(value, 1)) == value


@pytest.mark.parametrize("key_name", COORDINATOR_KEYS)
def test_every_coordinator_record_is_found_by_its_topic_and_type(key_name: str) -> None:
    key = message_class(key_name)()
    value = message_class(f"{key_name.removesuffix('Key')}Value")()
    topic = TOPICS.get(key_name, "__consumer_offsets")

    assert decode_coordinator_key(encode_coordinator_key(key), topic) == key
    assert decode_coordinator_value(key, encode_versioned(value, 0)) == value


@pytest.mark.parametrize("record", [TopicRecord(name="t"), NoOpRecord(), ClientQuotaRecord()])
def test_a_metadata_record_follows_its_frame(record: Message) -> None:
    data = encode_metadata_record(record, 0)

    assert data[:3] == bytes([1, record.api_key, 0])
    assert decode_metadata_record(data) == record


def test_records_of_remote_storage_count_their_types_for_themselves() -> None:
    record = RemotePartitionDeleteMetadataRecord(broker_id=7)

    data = encode_metadata_record(record, 0)

    assert data[1] == TopicRecord.api_key == record.api_key
    assert decode_metadata_record(data, "__remote_log_metadata") == record


def test_a_metadata_record_of_unknown_type_is_named_with_its_topic() -> None:
    with pytest.raises(UnknownMessageError, match="type 9 in __remote_log_metadata"):
        decode_metadata_record(b"\x01\x09\x00", "__remote_log_metadata")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", MalformedMessageError),
        (b"\x01\x02", MalformedMessageError),
        (b"\x01\x02\x80\x00", MalformedMessageError),
        (b"\x02\x02\x00", UnsupportedVersionError),
        (b"\x01\x02\x09", UnsupportedVersionError),
        (b"\x01\xff\x7f\x00", UnknownMessageError),
    ],
)
def test_a_bad_metadata_frame_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_metadata_record(data)


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01\x02", b"\x01\xff"])
def test_a_cut_metadata_frame_is_said_to_be_cut(data: bytes) -> None:
    with pytest.raises(MalformedMessageError, match=f"it ends early, after {len(data)} bytes"):
        decode_metadata_record(data)


def test_user_data_of_the_sticky_assignor_is_read_in_either_version() -> None:
    before = [TopicAssignment(topic="t", partitions=[0, 2])]
    new = StickyAssignorUserData(previous_assignment=before, generation=4)
    old = StickyAssignorUserData(previous_assignment=before)

    assert decode_sticky_user_data(new.encode(1)) == new
    assert decode_sticky_user_data(old.encode(0)) == old
    assert decode_sticky_user_data(b"rubbish") == StickyAssignorUserData()


def test_control_records_are_versioned() -> None:
    commit = encode_versioned(ControlRecordTypeSchema(type=1), 0)

    assert commit == b"\0\0\0\1"
    assert encode_versioned(EndTxnMarker(coordinator_epoch=5), 0) == b"\0\0\0\0\0\5"
    assert decode_versioned(ControlRecordTypeSchema, commit, accept_newer=True).type == 1
