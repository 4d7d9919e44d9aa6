"""Messages on the connections of a capture, decoded through all layers."""

from __future__ import annotations

import io
import struct
from collections.abc import Container, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyk.command_line.wire import capture as capture_module
from pyk.command_line.wire.capture import Capture, CapturedEntry
from pyk.command_line.wire.conversation import Direction, Note, WireMessage
from pyk.command_line.wire.packet_files import CaptureError, Packet, read_packets
from pyk.protocol import ApiKey, Message
from pyk.protocol.connection import ClientConnection, ServerConnection
from pyk.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.protocol.versions import VersionRange
from support.captures import Flow

REAL = Path(__file__).parent / "data" / "produce_and_consume.pcap"
KAFKA = {9092}


class Ends:
    """Both ends of a connection, which encode the bytes that they would send."""

    def __init__(self) -> None:
        self._client = ClientConnection("shop")
        self._server = ServerConnection({key: VersionRange(0, 99) for key in ApiKey})

    def request(self, message: Message, version: int) -> bytes:
        return b"".join(self._client.send(message, version)[1])

    def response(self, request: bytes, message: Message) -> bytes:
        return b"".join(self._server.respond(self._server.receive(request[4:]), message))


def listen(
    packets: Iterable[Packet], ports: Container[int] | None = KAFKA, **options: int
) -> list[WireMessage | Note]:
    return [entry.content for entry in listen_closely(packets, ports, **options)]


def listen_closely(
    packets: Iterable[Packet], ports: Container[int] | None = KAFKA, **options: int
) -> list[CapturedEntry]:
    capture = Capture(ports, **options)
    return [*capture.read(packets), *capture.finish()]


def heartbeats(count: int) -> tuple[list[bytes], list[bytes]]:
    ends = Ends()
    requests = [
        ends.request(HeartbeatRequest(group_id="g", generation_id=n), 4) for n in range(count)
    ]
    answers = [
        ends.response(request, HeartbeatResponse(throttle_time_ms=n))
        for n, request in enumerate(requests)
    ]
    return requests, answers


def test_a_response_is_decoded_with_the_api_and_version_of_its_request() -> None:
    flow, ([request], [answer]) = Flow(), heartbeats(1)

    asked, answered = listen_closely([*flow.open(), flow.client(request), flow.server(answer)])

    assert asked.client == answered.client == ("10.0.0.1", 40000)
    assert asked.server == answered.server == ("10.0.0.2", 9092)
    assert isinstance(asked.content, WireMessage)
    assert isinstance(answered.content, WireMessage)
    assert asked.content.direction is Direction.REQUEST
    assert asked.content.client_id == "shop"
    assert asked.content.body == HeartbeatRequest(group_id="g")
    assert (answered.content.api_key, answered.content.version) == (ApiKey.HEARTBEAT, 4)
    assert answered.content.body == HeartbeatResponse()
    assert answered.content.waited_ns == 1_000_000


@given(st.randoms(use_true_random=False))
def test_reordered_and_repeated_packets_decode_to_the_same_messages(random: Random) -> None:
    flow, (requests, _) = Flow(), heartbeats(4)
    opening = flow.open()
    sent = b"".join(requests)
    cuts = sorted({0, len(sent), *random.sample(range(len(sent)), 5)})
    pieces = [flow.client(sent[start:end]) for start, end in pairwise(cuts)]
    packets = pieces + random.sample(pieces, 2)
    random.shuffle(packets)

    said = listen([*opening, *packets])

    bodies = [what.body for what in said if isinstance(what, WireMessage)]
    assert bodies == [HeartbeatRequest(group_id="g", generation_id=n) for n in range(4)]


def test_a_lost_packet_is_reported_and_later_messages_are_read() -> None:
    flow, (requests, answers) = Flow(), heartbeats(3)
    packets = [*flow.open(), flow.client(requests[0]), flow.server(answers[0])]
    flow.client(requests[1])  # lost
    packets += [flow.client(requests[2]), flow.server(answers[1]), flow.server(answers[2])]

    _, _, gap, third, unknown, answered = listen(packets)

    assert gap == f"{len(requests[1])} bytes of requests are not in the capture"
    assert isinstance(third, WireMessage)
    assert third.body == HeartbeatRequest(group_id="g", generation_id=2)
    assert isinstance(unknown, WireMessage)
    assert unknown.problem is not None
    assert "its request is not in the capture" in unknown.problem
    assert isinstance(answered, WireMessage)
    assert answered.body == HeartbeatResponse(throttle_time_ms=2)


def test_a_capture_can_start_in_the_middle_of_a_message() -> None:
    flow, (requests, answers) = Flow(), heartbeats(2)
    packets = [
        flow.client(requests[0][9:]),
        flow.server(answers[0][7:]),
        flow.client(requests[1]),
        flow.server(answers[1]),
    ]

    asked, answered = listen(packets)

    assert isinstance(asked, WireMessage)
    assert asked.body == HeartbeatRequest(group_id="g", generation_id=1)
    assert isinstance(answered, WireMessage)
    assert answered.body == HeartbeatResponse(throttle_time_ms=1)


def test_unanswered_requests_are_reported_at_the_end() -> None:
    flow, ([request, other], _) = Flow(), heartbeats(2)

    *_, note = listen([*flow.open(), flow.client(request), flow.client(other)])

    assert note == "not answered in the capture: Heartbeat 0, Heartbeat 1"


def test_only_the_oldest_of_many_unanswered_requests_are_reported() -> None:
    flow, (requests, _) = Flow(), heartbeats(12)

    *_, note = listen([*flow.open(), flow.client(b"".join(requests))])

    assert str(note).endswith("Heartbeat 8, Heartbeat 9, 2 more")


def test_no_response_is_expected_to_acks_0() -> None:
    flow = Flow()

    [asked] = listen([*flow.open(), flow.client(Ends().request(ProduceRequest(acks=0), 9))])

    assert isinstance(asked, WireMessage)


def test_a_refused_api_versions_request_is_answered_in_version_0() -> None:
    flow, ends = Flow(), Ends()
    request = ends.request(ApiVersionsRequest(), 4)
    refusal = request[8:12] + ApiVersionsResponse(error_code=35).encode(0)
    packets = [*flow.open(), flow.client(request)]

    _, answered = listen([*packets, flow.server(struct.pack(">i", len(refusal)) + refusal)])

    assert isinstance(answered, WireMessage)
    assert (answered.version, answered.body_version) == (4, 0)
    assert answered.body == ApiVersionsResponse(error_code=35)


def test_an_encrypted_connection_is_reported_in_one_sentence() -> None:
    flow = Flow()
    hello, record = b"\x16\x03\x01\x00\x05hello", b"\x17\x03\x03\x00\x04data"

    said = listen([*flow.open(), flow.client(hello), flow.server(record), flow.client(record)])

    assert said == ["the connection is encrypted (TLS): capture on a plaintext listener"]


def test_another_protocol_is_reported_in_one_sentence() -> None:
    flow = Flow()

    said = listen([*flow.open(), flow.client(b"GET / HTTP/1.1\r\n"), flow.client(b"Host: a\r\n")])

    assert len(said) == 1
    assert "not the Kafka protocol" in str(said[0])


def test_sasl_tokens_without_kafka_headers_are_not_shown() -> None:
    flow, ends = Flow(), Ends()
    handshake = ends.request(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    agreed = ends.response(handshake, SaslHandshakeResponse(mechanisms=["PLAIN"]))
    token = b"\0alice\0secret"
    beat = ends.request(HeartbeatRequest(group_id="g"), 4)
    packets = [*flow.open(), flow.client(handshake), flow.server(agreed)]
    packets += [flow.client(struct.pack(">i", len(token)) + token), flow.server(bytes(4))]
    packets += [flow.client(beat), flow.server(ends.response(beat, HeartbeatResponse()))]

    said = [what for what in listen(packets) if isinstance(what, WireMessage)]

    assert [what.problem for what in said[2:4]] == ["a SASL token without a header, not shown"] * 2
    assert [what.body for what in said[4:]] == [HeartbeatRequest(group_id="g"), HeartbeatResponse()]


def test_a_port_can_be_used_by_one_connection_after_another() -> None:
    first, second = Flow(), Flow(client_sequence=77, server_sequence=88)
    requests, answers = heartbeats(1)
    packets = [*first.open(), first.client(requests[0])]
    packets += [*second.open(), second.client(requests[0]), second.server(answers[0])]

    said = listen(packets)

    assert [type(what).__name__ for what in said] == [
        "WireMessage", "Note", "WireMessage", "WireMessage",
    ]  # fmt: skip


def test_connections_are_selected_by_port_or_recognised_by_their_requests() -> None:
    flow, (requests, answers) = Flow(), heartbeats(1)
    packets = [*flow.open(), flow.client(requests[0]), flow.server(answers[0])]
    noise = Flow(port=5)

    assert listen(packets, {19092}) == []
    assert len(listen([noise.client(b"GET / HTTP/1.1"), *packets], None)) == 2


def test_a_frame_above_the_limit_is_not_buffered() -> None:
    flow, ([request], _) = Flow(), heartbeats(1)

    said = listen([*flow.open(), flow.client(request)], max_frame_bytes=10)

    assert "is not a valid length of a frame" in str(said[0])


def test_the_oldest_unfinished_data_is_dropped_above_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capture_module, "MOST_WAITING_BYTES", 100)
    one, other = Flow(port=1), Flow(port=2)
    start = struct.pack(">ihhi", 1000, 12, 4, 0)
    capture = Capture(KAFKA)

    packets = [one.client(start + bytes(60)), other.client(start + bytes(60))]

    assert list(capture.read(packets)) == []
    assert capture._waiting_bytes == 72


def test_a_real_capture_of_producer_consumer_and_broker() -> None:
    with REAL.open("rb") as file:
        said = listen(read_packets(file), {19092})

    *messages, note = said
    assert note == "not answered in the capture: Fetch 218762508"
    bodies = [what.body for what in messages if isinstance(what, WireMessage)]
    assert len(bodies) == 41
    assert {type(body).__name__ for body in bodies} >= {
        "ProduceResponse", "FetchResponse", "JoinGroupResponse", "OffsetCommitResponse",
    }  # fmt: skip


@given(st.data())
def test_a_damaged_capture_raises_only_capture_errors(draw: st.DataObject) -> None:
    data = bytearray(REAL.read_bytes())
    for _ in range(draw.draw(st.integers(1, 20))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    capture = Capture(None if draw.draw(st.booleans()) else {19092})

    with suppress(CaptureError):
        list(capture.read(read_packets(io.BytesIO(data))))
    list(capture.finish())
