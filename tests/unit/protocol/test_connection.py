from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from pyk.protocol import ApiKey, EncodeError, ErrorCode, MalformedMessageError, VersionRange
from pyk.protocol.connection import (
    ClientConnection,
    Request,
    ServerConnection,
    UnsupportedRequestError,
)
from pyk.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from pyk.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pyk.protocol.messages.produce import ProduceRequest, ProduceResponse

SUPPORTED = {
    ApiKey.PRODUCE: VersionRange(0, 13),
    ApiKey.METADATA: VersionRange(0, 12),
    ApiKey.HEARTBEAT: VersionRange(0, 4),
    ApiKey.API_VERSIONS: VersionRange(0, 4),
}


@pytest.fixture
def client() -> ClientConnection:
    return ClientConnection("me")


@pytest.fixture
def server() -> ServerConnection:
    return ServerConnection(SUPPORTED)


def frames(parts: list[Any]) -> list[bytes]:
    """Return the frames that a stream of parts holds, without their lengths."""
    stream, found = b"".join(parts), []
    while stream:
        end = 4 + int.from_bytes(stream[:4])
        assert end <= len(stream)
        found.append(stream[4:end])
        stream = stream[end:]
    return found


def arrive(server: ServerConnection, sent: tuple[int, list[Any]]) -> Request:
    [frame] = frames(sent[1])
    return server.receive(memoryview(frame))


@pytest.mark.parametrize("version", [0, 3, 4])
def test_a_request_travels_and_its_response_comes_back_with_the_context(
    client: ClientConnection, server: ServerConnection, version: int
) -> None:
    context = object()
    request = arrive(server, client.send(HeartbeatRequest(group_id="g"), version, context))

    [frame] = frames(server.respond(request, HeartbeatResponse(error_code=27)))
    reply = client.receive(memoryview(frame))

    assert request.body == HeartbeatRequest(group_id="g")
    assert (request.api_key, request.version) == (ApiKey.HEARTBEAT, version)
    assert request.header.client_id == "me"
    assert reply.response == HeartbeatResponse(error_code=27)
    assert reply.version == version
    assert reply.context is context


def test_bytes_after_a_request_are_ignored(
    client: ClientConnection, server: ServerConnection
) -> None:
    _, parts = client.send(HeartbeatRequest(group_id="g"), 4)

    request = server.receive(b"".join(parts)[4:] + b"\0\0\0")

    assert request.body.group_id == "g"


def test_correlation_ids_count_up_and_wrap_around(client: ClientConnection) -> None:
    client._next_correlation_id = 2**31 - 1

    ids = [client.send(HeartbeatRequest(), 0)[0] for _ in range(3)]

    assert ids == [2**31 - 1, 0, 1]


def test_a_client_may_have_no_client_id(server: ServerConnection) -> None:
    request = arrive(server, ClientConnection(None).send(HeartbeatRequest(), 4))

    assert request.header.client_id is None


def test_responses_wait_for_those_before_them(
    client: ClientConnection, server: ServerConnection
) -> None:
    first, second, third = (
        arrive(server, client.send(MetadataRequest(), 9, number)) for number in range(3)
    )

    assert server.respond(third, MetadataResponse(controller_id=3)) == []
    assert server.respond(second, MetadataResponse(controller_id=2)) == []
    assert server.in_flight_count == 3
    released = frames(server.respond(first, MetadataResponse(controller_id=1)))

    replies = [client.receive(frame) for frame in released]
    assert [(reply.context, reply.response.controller_id) for reply in replies] == [
        (0, 1),
        (1, 2),
        (2, 3),
    ]
    assert server.in_flight_count == client.in_flight_count == 0


def test_a_produce_without_acks_is_not_answered_and_holds_nothing_up(
    client: ClientConnection, server: ServerConnection
) -> None:
    silent = arrive(server, client.send(ProduceRequest(acks=0), 9, "silent"))
    heartbeat = arrive(server, client.send(HeartbeatRequest(), 4, "heartbeat"))

    assert not silent.expects_response
    assert client.in_flight_count == 1
    assert server.respond(heartbeat, HeartbeatResponse()) == []
    [frame] = frames(server.respond(silent, None))
    assert client.receive(frame).context == "heartbeat"


def test_a_response_to_a_produce_without_acks_is_dropped(
    client: ClientConnection, server: ServerConnection
) -> None:
    silent = arrive(server, client.send(ProduceRequest(acks=0), 9))

    assert server.respond(silent, ProduceResponse()) == []
    assert server.in_flight_count == 0


def test_record_data_is_sent_as_it_is(client: ClientConnection) -> None:
    server = ServerConnection({ApiKey.FETCH: VersionRange(4, 18)})
    request = arrive(server, client.send(_fetch_request(), 12))
    batches = memoryview(b"batches")
    partition = PartitionData(partition_index=3, records=batches)

    parts = server.respond(
        request, FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    )

    assert any(part is batches for part in parts)
    assert len(frames(parts)) == 1


def test_record_data_is_received_without_a_copy(client: ClientConnection) -> None:
    size = 4_000_000
    topic = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=bytes(size))])
    correlation_id, _ = client.send(FetchRequest(session_epoch=-1), 12)
    response = FetchResponse(responses=[topic]).encode(12)
    frame = memoryview(bytearray(correlation_id.to_bytes(4) + b"\0" + response))

    tracemalloc.start()
    try:
        reply = client.receive(frame)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(reply.response.responses[0].partitions[0].records) == size
    assert peak < size // 2


def test_a_request_that_cannot_be_encoded_changes_nothing(client: ClientConnection) -> None:
    with pytest.raises(EncodeError):
        client.send(HeartbeatRequest(group_instance_id="i"), 0)

    assert client.in_flight_count == 0
    assert client.send(HeartbeatRequest(), 0)[0] == 0


def test_a_response_that_cannot_be_encoded_can_be_replaced(
    client: ClientConnection, server: ServerConnection
) -> None:
    request = arrive(server, client.send(HeartbeatRequest(), 4))

    with pytest.raises(EncodeError):
        server.respond(request, HeartbeatResponse(error_code=99_999))

    assert len(frames(server.respond(request, HeartbeatResponse(error_code=-1)))) == 1


def test_a_request_is_responded_to_once_and_by_its_own_kind(
    client: ClientConnection, server: ServerConnection
) -> None:
    request = arrive(server, client.send(HeartbeatRequest(), 4))

    with pytest.raises(TypeError, match="MetadataResponse is not a response to Heartbeat"):
        server.respond(request, MetadataResponse())
    server.respond(request, HeartbeatResponse())
    with pytest.raises(RuntimeError, match="answered already"):
        server.respond(request, HeartbeatResponse())


def test_a_malformed_response_leaves_its_request_in_flight(client: ClientConnection) -> None:
    client.send(HeartbeatRequest(), 0, "context")

    with pytest.raises(MalformedMessageError, match="HeartbeatResponse"):
        client.receive(bytes.fromhex("00000000" + "00"))

    assert client.abandon() == ["context"]
    assert client.in_flight_count == 0


def test_abandoned_requests_come_back_oldest_first(client: ClientConnection) -> None:
    for number in range(3):
        client.send(HeartbeatRequest(), 0, number)

    assert client.abandon() == [0, 1, 2]


def test_an_unsupported_api_versions_is_answered_in_version_0(
    client: ClientConnection, server: ServerConnection
) -> None:
    with pytest.raises(UnsupportedRequestError) as caught:
        arrive(server, client.send(ApiVersionsRequest(), 5))
    assert caught.value.request is not None

    [frame] = frames(
        server.respond(
            caught.value.request,
            ApiVersionsResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION,
                api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)],
            ),
        )
    )
    reply = client.receive(frame)

    assert reply.response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert reply.version == 0
    assert reply.response.api_keys[0].max_version == 4


def test_a_request_of_an_unsupported_version_is_answered_in_its_turn(
    client: ClientConnection,
) -> None:
    server = ServerConnection({ApiKey.HEARTBEAT: VersionRange(1, 3)})
    first = arrive(server, client.send(HeartbeatRequest(), 3))
    with pytest.raises(UnsupportedRequestError) as caught:
        arrive(server, client.send(HeartbeatRequest(), 4))
    assert caught.value.request is not None
    assert caught.value.request.response_version == 3

    assert server.respond(caught.value.request, HeartbeatResponse(error_code=35)) == []
    assert len(frames(server.respond(first, HeartbeatResponse()))) == 2


def _fetch_request() -> Any:
    from pyk.protocol.messages.fetch import FetchRequest

    return FetchRequest(max_wait_ms=100)
