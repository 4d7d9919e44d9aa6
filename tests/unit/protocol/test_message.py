from __future__ import annotations

import copy
import linecache
import pickle
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from pyk.protocol import (
    EncodeError,
    MalformedMessageError,
    Message,
    Struct,
    UnsupportedVersionError,
    known_messages,
    message_class,
)
from pyk.protocol.codec import decoder, decoder_source, encoder_source
from pyk.protocol.codec.decoder import compile_decoder
from pyk.protocol.codec.shape import Shape
from pyk.protocol.fields import ArrayKind, StructKind
from pyk.protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from pyk.protocol.messages.fetch import FetchableTopicResponse, LeaderIdAndEpoch, PartitionData
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.incremental_alter_configs import AlterableConfig
from pyk.protocol.messages.join_group import JoinGroupRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.metadata_records import PartitionRecord, RegisterBrokerRecord
from pyk.protocol.messages.offset_commit import OffsetCommitRequest
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest


class SizedThing:
    """Something that only a transport can send, such as a range of a file."""

    def __len__(self) -> int:
        return 5


def wrong(value: object) -> Any:
    """Hide from the type checker what must not be passed."""
    return value


def structs_of(cls: type[Struct]) -> Iterator[type[Struct]]:
    yield cls
    for field in cls.fields:
        kind = field.kind.of if isinstance(field.kind, ArrayKind) else field.kind
        if isinstance(kind, StructKind):
            yield from structs_of(kind.struct)


def produce_request(records: Any) -> ProduceRequest:
    data = PartitionProduceData(index=1, records=records)
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def test_every_field_has_a_default_of_its_own() -> None:
    one, other = FetchableTopicResponse(), FetchableTopicResponse()

    one.partitions.append(PartitionData())

    assert other.partitions == []
    assert other.topic_id == UUID(int=0)


def test_messages_are_equal_by_value() -> None:
    assert HeartbeatRequest(group_id="g") == HeartbeatRequest(group_id="g")
    assert HeartbeatRequest(group_id="g") != HeartbeatRequest(group_id="h")
    assert HeartbeatRequest() != MetadataRequest()


def test_fields_absent_from_a_version_decode_to_their_default() -> None:
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=7, member_id="m")

    decoded = OffsetCommitRequest.decode(request.encode(0), 0)

    assert (decoded.generation_id_or_member_epoch, decoded.member_id) == (-1, "")


@pytest.mark.parametrize("partition", [PartitionData(), copy.copy(PartitionData())])
def test_a_default_struct_is_shared_and_cannot_be_changed(partition: PartitionData) -> None:
    with pytest.raises(AttributeError, match="LeaderIdAndEpoch is the default that all messages"):
        partition.current_leader.leader_id = 5

    assert PartitionData().current_leader == LeaderIdAndEpoch()
    assert repr(partition.current_leader) == "LeaderIdAndEpoch()"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_deep_copy_can_be_changed(duplicate: Callable[[PartitionData], PartitionData]) -> None:
    copied = duplicate(PartitionData())

    copied.current_leader.leader_id = 5

    assert copied != PartitionData()
    assert PartitionData().current_leader.leader_id == -1


def test_unknown_tagged_fields_are_kept_and_written_back() -> None:
    request = HeartbeatRequest(unknown_tagged_fields={200: b"new", 7: b""})

    decoded = HeartbeatRequest.decode(request.encode(4), 4)

    assert decoded.unknown_tagged_fields == {7: b"", 200: b"new"}
    assert decoded == request


def test_the_tagged_fields_of_a_message_without_any_are_shared_and_read_only() -> None:
    with pytest.raises(TypeError):
        HeartbeatRequest().unknown_tagged_fields[1] = b""  # type: ignore[index]


@pytest.mark.parametrize(
    ("metadata", "tagged_section"),
    [
        (ClassicMemberMetadata(), "00"),
        (None, "01 00 01 00"),
        (ClassicMemberMetadata(session_timeout_ms=7), "01 00 07 01 00000007 01 00"),
    ],
)
def test_a_tagged_struct_may_be_left_out_null_or_present(
    metadata: ClassicMemberMetadata | None, tagged_section: str
) -> None:
    member = ConsumerGroupMemberMetadataValue(classic_member_metadata=metadata)

    data = member.encode(0)

    rest = bytes.fromhex("01 01 01 01 01 01 ffffffff 01")
    assert data == rest + bytes.fromhex(tagged_section)
    assert ConsumerGroupMemberMetadataValue.decode(data, 0) == member


def test_record_data_is_decoded_without_a_copy() -> None:
    frame = bytearray(produce_request(b"batch").encode(9))

    [topic] = ProduceRequest.decode(frame, 9).topic_data
    frame[frame.index(b"batch")] = ord("B")

    assert bytes(topic.partition_data[0].records) == b"Batch"


@pytest.mark.parametrize("records", [b"batch", bytearray(b"batch"), memoryview(b"batch")])
def test_record_data_stays_a_part_of_its_own(records: Any) -> None:
    parts = produce_request(records).encode_parts(9)

    assert len(parts) == 3
    assert parts[1] is records


def test_a_list_of_record_data_becomes_as_many_parts() -> None:
    parts = produce_request([b"ba", b"tch"]).encode_parts(9)

    assert parts[1:3] == [b"ba", b"tch"]
    assert b"".join(parts) == produce_request(b"batch").encode(9)


def test_record_data_may_be_anything_with_a_size() -> None:
    thing = SizedThing()

    parts = produce_request(thing).encode_parts(9)

    assert parts[1] is thing
    assert parts[0] == produce_request(b"batch").encode_parts(9)[0]


def test_record_data_that_only_a_transport_can_send_cannot_be_joined() -> None:
    with pytest.raises(TypeError, match="SizedThing"):
        produce_request(SizedThing()).encode(9)


def test_encoding_goes_on_after_a_header() -> None:
    out = bytearray(b"header")

    parts = HeartbeatRequest(group_id="g").encode_parts(0, out)

    assert parts == [b"header" + HeartbeatRequest(group_id="g").encode(0)]
    assert parts[0] is out


def test_a_message_can_be_decoded_from_the_middle_of_data() -> None:
    data = b"before" + HeartbeatRequest(group_id="g").encode(4) + b"behind"

    message, end = HeartbeatRequest.decode_prefix(data, 4, 6)

    assert message == HeartbeatRequest(group_id="g")
    assert data[end:] == b"behind"


@pytest.mark.parametrize(
    ("message", "version", "words"),
    [
        (
            HeartbeatRequest(group_instance_id="i"),
            2,
            "HeartbeatRequest v2: group_instance_id is set",
        ),
        (HeartbeatRequest(unknown_tagged_fields={1: b""}), 3, "unknown_tagged_fields is set"),
        (MetadataRequest(topics=None), 0, "topics is None, which version 0 cannot carry"),
        (PartitionRecord(directories=[UUID(int=1)]), 0, "directories is set"),
        (
            HeartbeatRequest(generation_id=2**31),
            0,
            "generation_id: a value of type int does not fit int32",
        ),
        (
            HeartbeatRequest(generation_id=wrong("1")),
            0,
            "generation_id: a value of type str does not fit int32",
        ),
        (HeartbeatRequest(group_id=wrong(b"g")), 0, "group_id: a value of type bytes does not fit"),
        (HeartbeatRequest(group_id="g" * 32768), 0, "longer than 32767 bytes"),
        (HeartbeatRequest(group_id="g" * 32768), 4, "longer than 32767 bytes"),
        (
            HeartbeatRequest(group_id="\ud800"),
            4,
            "group_id: a value of type str does not fit string",
        ),
        (
            MetadataRequest(topics=[MetadataRequestTopic(topic_id=wrong(None))]),
            12,
            r"topics\[0\].topic_id",
        ),
        (
            MetadataRequest(topics=wrong(["t"])),
            12,
            r"topics\[0\] is of type str, not MetadataRequestTopic",
        ),
        (
            CreateTopicsRequest(topics=wrong(CreatableTopic())),
            2,
            "topics is of type CreatableTopic, not list",
        ),
        (DescribeTopicPartitionsRequest(cursor=wrong(3)), 0, "cursor is of type int, not Cursor"),
        (
            DescribeTopicPartitionsRequest(cursor=Cursor(partition_index=2**40)),
            0,
            "cursor.partition_index",
        ),
        (SaslAuthenticateRequest(auth_bytes=wrong("text")), 0, "auth_bytes: a value of type str"),
        (
            produce_request(7),
            9,
            r"topic_data\[0\].partition_data\[0\].records: a value of type int",
        ),
        (RegisterBrokerRecord(log_dirs=wrong(["x"])), 3, r"log_dirs\[0\]: a value of type str"),
        (
            RegisterBrokerRecord(unknown_tagged_fields={0: b""}, log_dirs=[UUID(int=1)]),
            3,
            "tags of",
        ),
    ],
)
def test_a_field_that_a_version_lacks_is_refused_by_name(
    message: Message, version: int, words: str
) -> None:
    with pytest.raises(EncodeError, match=words):
        message.encode(version)


def test_a_refusal_does_not_show_the_value() -> None:
    with pytest.raises(EncodeError) as caught:
        SaslAuthenticateRequest(auth_bytes=wrong("hunter2")).encode(0)

    assert "hunter2" not in str(caught.value)


def test_an_ignorable_field_is_dropped() -> None:
    request = OffsetCommitRequest(group_id="g", member_id="m")

    assert request.encode(0) == OffsetCommitRequest(group_id="g").encode(0)


@pytest.mark.parametrize("version", [-1, 5, 32767])
def test_an_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match="HeartbeatRequest has versions 0-4"):
        HeartbeatRequest().encode(version)
    with pytest.raises(UnsupportedVersionError):
        HeartbeatRequest.decode(b"", version)
    with pytest.raises(UnsupportedVersionError):
        HeartbeatRequest.from_json({}, version)


def test_repr_shows_fields_that_were_set() -> None:
    assert repr(HeartbeatRequest()) == "HeartbeatRequest()"
    assert repr(HeartbeatRequest(group_id="g", generation_id=3, group_instance_id="")) == (
        "HeartbeatRequest(group_id='g', generation_id=3, group_instance_id='')"
    )
    assert repr(MetadataRequest(topics=None)) == "MetadataRequest(topics=None)"


def test_repr_of_a_short_message_makes_it_again() -> None:
    request = produce_request(b"batch")

    assert eval(repr(request)) == request


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (produce_request(bytes(100)), "records=<100 bytes>"),
        (produce_request(memoryview(b"batch")), "records=b'batch'"),
        (produce_request([memoryview(b"ba"), bytes(99)]), "records=[b'ba', <99 bytes>]"),
        (HeartbeatRequest(group_id="g" * 999), "ggg'… 999 in all>"),
        (MetadataRequest(topics=[MetadataRequestTopic()] * 999), "Topic(), … 999 in all]"),
        (HeartbeatRequest(unknown_tagged_fields={7: b"new"}), "fields={7: <3 bytes>})"),
    ],
)
def test_repr_cuts_long_values(message: Message, shown: str) -> None:
    assert shown in repr(message)
    assert len(repr(message)) < 500


@pytest.mark.parametrize(
    "message",
    [
        SaslAuthenticateRequest(auth_bytes=b"hunter2"),
        AlterableConfig(name="ssl.key.password", value="hunter2"),
        SaslAuthenticateRequest(unknown_tagged_fields={7: b"hunter2"}),
    ],
)
def test_repr_hides_secrets(message: Message) -> None:
    assert "hunter2" not in repr(message)


def test_fields_that_can_only_hold_credentials_are_secret() -> None:
    names = re.compile("hmac|salt|password|auth_bytes|(stored|server)_key")

    found = {
        f"{struct.__name__}.{field.name}": field.secret
        for name in known_messages()
        for struct in structs_of(message_class(name))
        for field in struct.fields
        if names.search(field.name) and field.kind.name in {"bytes", "string"}
    }

    assert len(found) > 10
    assert [name for name, is_secret in found.items() if not is_secret] == []


def test_json_with_a_field_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="HeartbeatRequest v0 has no groupInstanceId"):
        HeartbeatRequest.from_json({"groupInstanceId": "i"}, 0)


def test_json_may_leave_out_fields() -> None:
    assert HeartbeatRequest.from_json({"groupId": "g"}, 4) == HeartbeatRequest(group_id="g")


def test_generated_source_can_be_printed() -> None:
    assert "message.generation_id, length = unpack_from_ih" in decoder_source(HeartbeatRequest, 0)
    assert "pack_ih(message.generation_id, len(raw))" in encoder_source(HeartbeatRequest, 0)


@pytest.mark.parametrize(
    ("cls", "version", "reason"),
    [
        (HeartbeatRequest, 3, "unpacked and not read"),
        (JoinGroupRequest, 5, "is not"),  # protocol_type is read where the other was unpacked
    ],
)
def test_a_decoder_that_would_drop_unpacked_values_is_not_generated(
    monkeypatch: pytest.MonkeyPatch, cls: type[Message], version: int, reason: str
) -> None:
    def ahead(shape: Shape, rest: object) -> list[tuple[str, str]]:
        return [("i", "message.elsewhere")] if shape.is_nullable else []

    monkeypatch.setattr(decoder, "_run_ahead", ahead)

    with pytest.raises(AssertionError, match=reason):
        decoder_source(cls, version)


def test_tracebacks_show_the_generated_source() -> None:
    with pytest.raises(MalformedMessageError) as caught:
        compile_decoder(HeartbeatRequest, 0)(b"", 0)

    linecache.checkcache()
    lines = "".join(traceback.format_exception(caught.value))
    assert "<pyk decoder of HeartbeatRequest v0>" in lines
    assert "length = data[position + 1]" in lines
