from __future__ import annotations

import struct

import pytest

from pyk.command_line.wire.packet_files import CaptureError, Packet
from pyk.command_line.wire.tcp_segments import Endpoint, Segment, tcp_segment
from support.captures import ETHERNET, RAW_IP, SYN, ipv4, ipv6, tcp

SEGMENT = tcp(b"hello", 7, acknowledged=9)
MACS = bytes(12)


def segment_of(link_type: int, data: bytes) -> Segment:
    found = tcp_segment(Packet(0, link_type, data))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("link_type", "head"),
    [
        (0, struct.pack("<I", 2)),
        (108, struct.pack(">I", 2)),
        (1, MACS + b"\x08\x00"),
        (1, MACS + b"\x81\x00\x00\x05\x08\x00"),
        (1, MACS + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00"),
        (12, b""),
        (101, b""),
        (228, b""),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
    ],
)
def test_a_segment_is_found_after_every_kind_of_link_header(link_type: int, head: bytes) -> None:
    segment = segment_of(link_type, head + ipv4(SEGMENT))

    assert (segment.source, segment.destination) == (("10.0.0.1", 40000), ("10.0.0.2", 9092))
    assert (segment.sequence, segment.acknowledged) == (7, 9)
    assert (segment.payload, segment.missing) == (b"hello", 0)


def test_ethernet_padding_is_not_part_of_the_payload() -> None:
    data = MACS + b"\x08\x00" + ipv4(tcp(b"", 7)) + bytes(20)

    assert segment_of(ETHERNET, data).payload == b""


def test_ip_options_are_skipped() -> None:
    assert segment_of(RAW_IP, ipv4(SEGMENT, options=8)).payload == b"hello"


def test_a_packet_with_length_0_ends_with_its_data() -> None:
    data = bytearray(ipv4(SEGMENT))
    data[2:4] = b"\0\0"

    assert segment_of(RAW_IP, bytes(data)).payload == b"hello"


@pytest.mark.parametrize(
    ("following", "extensions"),
    [(6, b""), (0, bytes([6, 0]) + bytes(6)), (60, bytes([6, 1]) + bytes(14)),
     (44, bytes([6, 0, 0, 0]) + bytes(4))],
)  # fmt: skip
def test_ipv6_extensions_are_skipped(following: int, extensions: bytes) -> None:
    segment = segment_of(RAW_IP, ipv6(SEGMENT, following=following, extensions=extensions))

    assert segment.source == Endpoint("fd00::1", 40000)
    assert str(segment.destination) == "[fd00::2]:9092"
    assert segment.payload == b"hello"


def test_bytes_beyond_the_snap_length_are_counted_as_missing() -> None:
    segment = segment_of(RAW_IP, ipv4(SEGMENT)[:-2])

    assert (segment.payload, segment.missing) == (b"hel", 2)


def test_the_first_segment_of_a_client_opens_the_connection() -> None:
    assert segment_of(RAW_IP, ipv4(tcp(b"", 7, flags=SYN))).opens
    assert not segment_of(RAW_IP, ipv4(SEGMENT)).opens


@pytest.mark.parametrize(
    ("link_type", "data"),
    [
        (ETHERNET, b""),
        (ETHERNET, MACS + b"\x08\x06" + bytes(28)),  # ARP
        (ETHERNET, MACS + b"\x81\x00"),
        (RAW_IP, b""),
        (RAW_IP, b"\x50" + bytes(40)),
        (RAW_IP, ipv4(SEGMENT)[:19]),
        (RAW_IP, ipv4(SEGMENT)[:33]),
        (RAW_IP, ipv4(SEGMENT, fragment=0x2000)),
        (RAW_IP, ipv4(SEGMENT, fragment=1)),
        (RAW_IP, ipv4(tcp(b"", 7)[:12] + b"\x10" + bytes(7))),  # a header of 4 bytes
        (RAW_IP, ipv6(SEGMENT, following=17)),
        (RAW_IP, ipv6(SEGMENT, following=44, extensions=bytes([6, 0, 0, 1]) + bytes(4))),
        (RAW_IP, ipv6(b"", following=0, extensions=bytes([0, 0]) + bytes(6))),
    ],
)
def test_a_packet_without_a_complete_tcp_header_has_no_segment(link_type: int, data: bytes) -> None:
    assert tcp_segment(Packet(0, link_type, data)) is None


def test_the_error_for_an_unknown_link_type_says_what_to_do() -> None:
    with pytest.raises(CaptureError, match="unknown link type 147; capture on"):
        tcp_segment(Packet(0, 147, b""))
