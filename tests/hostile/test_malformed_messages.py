"""Malformed bytes that real peers could send, one by one.

Kafka 4.3.1 misreads several of these, or crashes; pyk refuses them.
"""

from __future__ import annotations

import pytest

from pyk.protocol import MalformedMessageError, VersionRange, message_class
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import (
    ClientConnection,
    CorrelationError,
    InvalidRequestError,
    ServerConnection,
    UnsupportedRequestError,
)
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.produce import ProduceRequest

# Message, version, bytes in hex, a word of the error.
REFUSED = {
    "classic count -2 where null is allowed": ("MetadataRequest", 1, "fffffffe", "-2 elements"),
    "null array where it is not allowed": ("MetadataRequest", 0, "ffffffff", "topics is null"),
    "count 2147483647, 4 bytes left": ("MetadataRequest", 1, "7fffffff00000000", "elements"),
    "null string where it is not allowed": ("SaslHandshakeRequest", 0, "ffff", "is null"),
    "string length -5": ("SaslHandshakeRequest", 0, "fffb", "length -5"),
    "string length 32767, 2 bytes left": (
        "SaslHandshakeRequest",
        0,
        "7fff6162",
        "2 bytes are left",
    ),
    "bytes length 2147483647": ("SaslAuthenticateRequest", 0, "7fffffff00", "1 bytes are left"),
    "compact string of 32768 bytes": (
        "FindCoordinatorRequest",
        3,
        "818002" + "6b" * 32768 + "0000",
        "32768 bytes",
    ),
    "cut inside an int32": ("ProduceResponse", 1, "00000000" + "0000", "ends early"),
    "empty body": ("MetadataRequest", 0, "", "ends early"),
    "varint cut": ("MetadataRequest", 9, "ff", "ends early"),
    "varint of 6 bytes": ("MetadataRequest", 9, "808080808000", "5 bytes"),
    "overlong varint": ("MetadataRequest", 9, "808000" + "00000000", "longer than its value"),
    "varint above 32 bits": ("MetadataRequest", 9, "8080808010", "32 bits"),
    "compact count of 2**32 - 1": ("MetadataRequest", 9, "ffffffff0f", "elements"),
    "trailing bytes": ("SaslHandshakeRequest", 0, "000161" + "00", "1 bytes follow"),
    "trailing bytes of a response": ("HeartbeatResponse", 0, "0000" + "00", "1 bytes follow"),
    "unknown tag twice": ("MetadataRequest", 9, "00000000" + "02" + "c80100" * 2, "rise"),
    "falling tags": ("MetadataRequest", 9, "00000000" + "02" + "c90100" + "c80100", "rise"),
    "known tag twice": (
        "CreateTopicsResponse",
        5,
        "00000000" + "02" + "0261" + "0000" + "00" + "00000001" + "0001" + "01"
        "02" + "00020001" * 2 + "00",
        "rise",
    ),
    "known tag of size 0": (
        "CreateTopicsResponse",
        5,
        "00000000" + "02" + "0261" + "0000" + "00" + "00000001" + "0001" + "01"
        "01" + "00000001" + "00",
        "after its declared size",
    ),
    "known tag of size 5": (
        "CreateTopicsResponse",
        5,
        "00000000" + "02" + "0261" + "0000" + "00" + "00000001" + "0001" + "01"
        "01" + "0005" + "0001000000" + "00",
        "before its declared size",
    ),
    "unknown tag of 100 bytes, 1 left": ("MetadataRequest", 9, "0000000001c8016400", "100 bytes"),
    "unknown tag of 2**32 - 1 bytes": ("MetadataRequest", 9, "0000000001c801ffffffff0f", "bytes"),
    "2**32 - 1 tags": ("MetadataRequest", 9, "00000000ffffffff0f", "ends early"),
    "2147483647 tags": ("MetadataRequest", 9, "00000000ffffffff07", "ends early"),
    "invalid UTF-8": ("SaslHandshakeRequest", 0, "0002c328", "not UTF-8"),
    "lone surrogate": ("SaslHandshakeRequest", 0, "0003eda080", "not UTF-8"),
    "nullable struct with marker 0": (
        "DescribeTopicPartitionsRequest",
        0,
        "01" + "000007d0" + "00" + "00",
        "marker 0",
    ),
    "nullable struct with marker -2": (
        "DescribeTopicPartitionsRequest",
        0,
        "01" + "000007d0" + "fe" + "00",
        "marker -2",
    ),
    "tagged nullable struct with marker 2": (
        "ConsumerGroupMemberMetadataValue",
        0,
        "010101010101" + "ffffffff" + "01" + "01" + "0001" + "02",
        "marker 2",
    ),
    "tagged nullable struct with marker -1": (
        "ConsumerGroupMemberMetadataValue",
        0,
        "010101010101" + "ffffffff" + "01" + "01" + "0001" + "ff",
        "marker 255",
    ),
    "null tagged struct with more after it": (
        "ConsumerGroupMemberMetadataValue",
        0,
        "010101010101" + "ffffffff" + "01" + "01" + "0002" + "0000",
        "before its declared size",
    ),
    "records length 200, 5 bytes left": (
        "ProduceRequest",
        3,
        "ffff" + "0001" + "00000000" + "00000001" + "000174" + "00000001" + "00000000"
        "000000c8" + "0000000000",
        "length 200",
    ),
}


@pytest.mark.parametrize(("name", "version", "data", "words"), REFUSED.values(), ids=REFUSED)
def test_malformed_message_is_refused(name: str, version: int, data: str, words: str) -> None:
    with pytest.raises(MalformedMessageError, match=words) as caught:
        message_class(name).decode(bytes.fromhex(data), version)

    assert f"{name} v{version}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "version", "start", "element"),
    [
        ("DescribeGroupsRequest", 0, b"", b"\0\0"),
        ("OffsetFetchRequest", 0, b"\0\1g" + b"\0\0\0\1" + b"\0\1t", b"\0\0\0\7"),
    ],
    ids=["texts", "numbers"],
)
def test_an_array_above_the_limit_is_refused_even_if_it_is_complete(
    name: str, version: int, start: bytes, element: bytes
) -> None:
    most = 1 << 20
    at_most = start + most.to_bytes(4) + element * most
    too_many = start + (most + 1).to_bytes(4) + element * (most + 1)

    message_class(name).decode(at_most, version)
    with pytest.raises(MalformedMessageError, match=r"1048577 (elements|numbers)"):
        message_class(name).decode(too_many, version)


def test_any_nonzero_byte_is_true() -> None:
    data = bytes.fromhex("00000000" + "02")

    assert DescribeGroupsRequest.decode(data, 3).include_authorized_operations is True


def test_elements_with_the_same_key_are_all_kept() -> None:
    twice = CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="a")])

    assert CreateTopicsRequest.decode(twice.encode(2), 2) == twice


def test_null_records_are_decoded_for_the_broker_to_refuse() -> None:
    data = bytes.fromhex(
        "00" + "0001" + "00000000" + "02" + "0274" + "02" + "00000000" + "00000000"
    )

    [topic] = ProduceRequest.decode(data, 9).topic_data

    assert topic.partition_data[0].records is None


@pytest.fixture
def server() -> ServerConnection:
    return ServerConnection(
        {
            ApiKey.HEARTBEAT: VersionRange(0, 4),
            ApiKey.API_VERSIONS: VersionRange(0, 4),
        }
    )


@pytest.mark.parametrize(
    "frame", ["", "000c", "000c0004000000", "000c000400000001", "000c00040000000100"]
)
def test_a_truncated_header_is_refused(server: ServerConnection, frame: str) -> None:
    with pytest.raises(MalformedMessageError, match="RequestHeader"):
        server.receive(bytes.fromhex(frame))


@pytest.mark.parametrize("api_key", ["03e7", "ffff"])
def test_an_unknown_api_key_is_refused_with_its_header(
    server: ServerConnection, api_key: str
) -> None:
    with pytest.raises(UnsupportedRequestError, match="unknown API key") as caught:
        server.receive(bytes.fromhex(api_key + "0000" + "00000007" + "ffff"))

    assert caught.value.header.correlation_id == 7
    assert caught.value.request is None


@pytest.mark.parametrize("version", ["ffff", "0005", "7fff"])
def test_a_version_out_of_range_is_refused_with_its_header(
    server: ServerConnection, version: str
) -> None:
    with pytest.raises(UnsupportedRequestError, match="Heartbeat version") as caught:
        server.receive(bytes.fromhex("000c" + version + "00000007" + "0002" + "6d65" + "00"))

    assert caught.value.header.client_id == "me"


def test_an_api_that_the_server_lacks_is_refused(server: ServerConnection) -> None:
    leader_and_isr = "0004" + "0007" + "00000001" + "ffff" + "00"

    with pytest.raises(UnsupportedRequestError, match="LeaderAndIsr version 7") as caught:
        server.receive(bytes.fromhex(leader_and_isr))

    assert caught.value.request is None


def test_the_body_of_an_unsupported_api_versions_is_not_read(server: ServerConnection) -> None:
    with pytest.raises(UnsupportedRequestError) as caught:
        server.receive(bytes.fromhex("0012" + "0063" + "00000001" + "ffff" + "00" + "feedbeef"))

    assert caught.value.request is not None
    assert caught.value.request.response_version == 0


@pytest.mark.parametrize("name", ["", "-x", "x_"])
def test_an_invalid_software_name_is_decoded_for_the_broker_to_refuse(
    server: ServerConnection, name: str
) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    _, parts = ClientConnection("me").send(request, 3)

    assert server.receive(b"".join(parts)[4:]).body == request


def test_a_client_id_of_length_minus_two_is_refused(server: ServerConnection) -> None:
    with pytest.raises(MalformedMessageError, match="client_id has length -2"):
        server.receive(bytes.fromhex("000c" + "0000" + "00000001" + "fffe"))


def test_a_malformed_body_is_refused_with_its_header(
    server: ServerConnection,
) -> None:
    with pytest.raises(InvalidRequestError, match="HeartbeatRequest v0") as caught:
        server.receive(bytes.fromhex("000c" + "0000" + "00000009" + "ffff" + "0005" + "61"))

    assert caught.value.header.correlation_id == 9


def test_a_response_to_another_request_is_refused() -> None:
    client = ClientConnection("me")
    client.send(HeartbeatRequest(), 0)

    with pytest.raises(CorrelationError, match="request 5, but Heartbeat 0"):
        client.receive(bytes.fromhex("00000005" + "0000"))

    assert client.in_flight_count == 1


def test_bytes_after_a_response_are_refused() -> None:
    client = ClientConnection("me")
    client.send(HeartbeatRequest(), 0)

    with pytest.raises(MalformedMessageError, match=r"HeartbeatResponse v0 .* 4 bytes follow"):
        client.receive(bytes.fromhex("00000000" + "0000" + "feedbeef"))


def test_a_response_without_a_request_is_refused() -> None:
    with pytest.raises(CorrelationError, match="no request waits"):
        ClientConnection("me").receive(bytes.fromhex("00000000" + "0000"))
