from __future__ import annotations

from pyk.command_line.readable import Style
from pyk.command_line.text import printable
from pyk.protocol import Message
from pyk.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from pyk.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from pyk.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.persisted import encode_versioned
from pyk.protocol.records import Compression
from support.record_batches import sealed


def text(message: Message, version: int, **style: bool) -> list[str]:
    return list(Style(**style).lines(message, version))


def produce(records: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=1, records=memoryview(records))
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def test_the_fields_of_the_version_are_shown() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=3, unknown_tagged_fields={7: b"new"})

    assert text(request, 2) == [
        "group_id: 'g'", "generation_id: 3", "member_id: ''", "unknown tagged field 7: b'new'",
    ]  # fmt: skip
    assert "group_instance_id: null" in text(request, 4)


def test_tagged_fields_at_their_default_are_not_shown() -> None:
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData()])])

    lines = "\n".join(text(response, 16))

    assert "high_watermark" in lines
    assert "diverging_epoch" not in lines
    assert "node_endpoints" not in lines
    form = Style().json_form(response, 16)
    assert "nodeEndpoints" not in form
    assert "divergingEpoch" not in form["responses"][0]["partitions"][0]
    assert FetchResponse.from_json(form, 16) == response


def test_structs_are_indented_and_short_ones_share_a_line() -> None:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=1, max_version=18)])

    assert text(response, 0) == [
        "error_code: 0",
        "api_keys:",
        "  - api_key: 1 Fetch, min_version: 0, max_version: 18",
    ]


def test_a_struct_in_a_field_is_shown_in_braces_or_on_its_own_lines() -> None:
    partition = PartitionData(current_leader=LeaderIdAndEpoch(leader_id=3, leader_epoch=4))
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])

    assert "        current_leader: {leader_id: 3, leader_epoch: 4}" in text(response, 16)


def test_consumer_protocol_bytes_are_decoded() -> None:
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=["orders"]), 0)
    consumer = JoinGroupRequestProtocol(name="range", metadata=subscription)
    other = JoinGroupRequestProtocol(name="sessioned", metadata=b"\0\1of connect")

    lines = text(JoinGroupRequest(protocols=[consumer, other]), 5)

    assert "  - name: 'range', metadata: {topics: ['orders'], user_data: null}" in lines
    assert "  - name: 'sessioned', metadata: b'\\x00\\x01of connect'" in lines


def test_error_codes_have_their_names() -> None:
    assert "error_code: 27 REBALANCE_IN_PROGRESS" in text(HeartbeatResponse(error_code=27), 4)
    assert "error_code: 0" in text(HeartbeatResponse(), 4)


def test_record_batches_are_decoded() -> None:
    records = sealed(b"one", None, base_offset=5, compression=Compression.GZIP, producer_id=9,
                     producer_epoch=1, base_sequence=0)  # fmt: skip

    facts = f"offsets 5 to 6, 2 records, {len(records)} bytes, leader epoch 0"
    assert text(produce(records), 9)[-4:] == [
        f"        records: {len(records)} bytes",
        f"          - batch: {facts}, producer 9 epoch 1 sequence 0, gzip",
        "            5: b'k' → b'one', timestamp 1700000000000",
        "            6: b'k' → null, timestamp 1700000000001",
    ]


def test_only_the_first_of_many_records_are_shown() -> None:
    request = produce(sealed(*[b"v"] * 12))

    assert text(request, 9)[-1] == "            … 2 more; --full shows all"
    assert "            11: b'k' → b'v'" in text(request, 9, is_full=True)[-1]


def test_damaged_and_truncated_batches_are_reported() -> None:
    damaged = bytearray(sealed(b"value"))
    damaged[-1] ^= 1

    assert "cannot be read: its stored CRC is" in text(produce(bytes(damaged)), 9)[-1]
    cut = sealed(b"whole") + sealed(b"cut short")[:70]
    assert "- 70 bytes of an incomplete batch" in text(produce(cut), 9)[-1]
    assert "cannot be read from byte 0 on" in text(produce(bytes(80)), 9)[-1]


def test_long_bytes_are_shortened_unless_all_are_requested() -> None:
    request = SaslAuthenticateRequest(auth_bytes=b"x" * 100)

    assert text(request, 2, shows_secrets=True) == [f"auth_bytes: {b'x' * 64!r}… 100 bytes"]
    assert text(request, 2, shows_secrets=True, is_full=True) == [f"auth_bytes: {b'x' * 100!r}"]


def test_secrets_are_hidden_in_both_forms() -> None:
    config = AlterableConfig(name="ssl.key.password", value="hunter2")
    request = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(configs=[config])])

    assert "hunter2" not in "".join(text(request, 1))
    assert "hunter2" not in str(Style().json_form(request, 1))
    assert "hunter2" in "".join(text(request, 1, shows_secrets=True))
    assert "hunter2" in str(Style(shows_secrets=True).json_form(request, 1))


def test_control_characters_are_escaped() -> None:
    assert printable("a\x1b[31mb\x9bc\né") == "a\\x1b[31mb\\x9bc\\né"
    assert "\x1b" not in "".join(text(HeartbeatRequest(group_id="\x1b[2J"), 4))
