from __future__ import annotations

import io
import struct

import pytest

from pyk.command_line.wire.packet_files import CaptureError, Packet, is_capture, read_packets
from support.captures import ETHERNET, RAW_IP, block, interface, packet_block, pcap, section

PACKETS = [Packet(1_700_000_000_123_456_000, ETHERNET, b"one"), Packet(5_000, ETHERNET, b"second")]


def read(data: bytes) -> list[Packet]:
    return list(read_packets(io.BytesIO(data)))


def read_to_the_break(data: bytes) -> tuple[list[Packet], str]:
    packets: list[Packet] = []
    with pytest.raises(CaptureError) as caught:
        packets.extend(read_packets(io.BytesIO(data)))
    return packets, str(caught.value)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_pcap_is_read_in_both_byte_orders_and_resolutions(order: str, nanoseconds: bool) -> None:
    data = pcap(PACKETS, order=order, nanoseconds=nanoseconds)

    assert is_capture(data[:4])
    assert read(data) == PACKETS


@pytest.mark.parametrize("order", "<>")
def test_pcapng_is_read_in_both_byte_orders(order: str) -> None:
    data = section(order=order) + interface(order=order)
    data += block(5, b"statistics of the interface", order=order)
    data += packet_block(b"data", 1_700_000_000_123_456, order=order)

    assert is_capture(data[:4])
    assert read(data) == [Packet(1_700_000_000_123_456_000, RAW_IP, b"data")]


def test_each_interface_of_pcapng_has_its_link_type_resolution_and_time_offset() -> None:
    resolution = struct.pack("<HHB3x", 9, 1, 9)
    offset = struct.pack("<HHq", 14, 8, 10)
    data = section() + interface() + interface(ETHERNET, resolution + offset)
    data += packet_block(b"a", 7, interface=0) + packet_block(b"b", 7, interface=1)

    assert read(data) == [Packet(7000, RAW_IP, b"a"), Packet(10_000_000_007, ETHERNET, b"b")]


def test_a_timestamp_resolution_can_be_a_power_of_two() -> None:
    data = section() + interface(options=struct.pack("<HHB3x", 9, 1, 0x80 | 1))

    assert read(data + packet_block(b"a", 3))[0].time_ns == 1_500_000_000


def test_a_new_section_forgets_the_interfaces_of_the_last() -> None:
    data = section() + interface(ETHERNET) + section(order=">") + interface(RAW_IP, order=">")
    data += packet_block(b"a", 0, order=">")

    assert read(data) == [Packet(0, RAW_IP, b"a")]


def test_simple_packets_have_no_timestamp() -> None:
    data = section() + interface() + block(3, struct.pack("<I", 4) + b"data")

    assert read(data) == [Packet(0, RAW_IP, b"data")]


@pytest.mark.parametrize("cut", [1, 3, 8])
def test_the_packets_before_the_end_of_a_truncated_capture_are_read(cut: int) -> None:
    packets, problem = read_to_the_break(pcap(PACKETS)[:-cut])

    assert packets == PACKETS[:1]
    assert problem == "the capture ends in the middle, after packet 1"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "neither a pcap nor a pcapng file"),
        (b"GIF89a", "neither a pcap nor a pcapng file"),
        (pcap(PACKETS)[:20], "ends in the middle, after packet 0"),
        (pcap([]) + struct.pack("<IIII", 0, 0, 1 << 31, 4), "a length of 2147483648 bytes"),
        (section()[:8] + b"????", "no byte order"),
        (section() + struct.pack("<II", 6, 4), "a block of 4 bytes"),
        (section() + struct.pack("<II", 6, 0xFFFFFFF0), "a length of 4294967272 bytes"),
        (section() + packet_block(b"a", 0), "a packet block is damaged"),
        (section() + interface() + block(6, b"short"), "a packet block is damaged"),
        (section() + block(1, b""), "the description of an interface is damaged"),
        (
            section() + interface() + block(3, struct.pack("<I", 9) + b"data"),
            "a packet of 9 bytes in a block of 8",
        ),
    ],
)
def test_damage_is_reported_and_declared_lengths_are_not_trusted(data: bytes, problem: str) -> None:
    assert problem in read_to_the_break(data)[1]
