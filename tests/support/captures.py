"""Captures for tests: packets of a made-up connection, in the formats that tools write."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable

import attrs

from pyk.command_line.wire.packet_files import Packet

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 9092)
SYN, ACK = 2, 16
ETHERNET, RAW_IP = 1, 101
NOW_NS = 1_700_000_000_000_000_000


def tcp(
    payload: bytes,
    sequence: int,
    *,
    from_client: bool = True,
    flags: int = ACK,
    acknowledged: int = 0,
    ports: tuple[int, int] = (40000, 9092),
) -> bytes:
    source, destination = ports if from_client else ports[::-1]
    head = struct.pack(
        ">HHIIBBHHH", source, destination, sequence % 2**32, acknowledged % 2**32, 5 << 4, flags,
        1024, 0, 0,
    )  # fmt: skip
    return head + payload


def ipv4(segment: bytes, *, from_client: bool = True, fragment: int = 0, options: int = 0) -> bytes:
    source, destination = (CLIENT, SERVER) if from_client else (SERVER, CLIENT)
    head_bytes = 20 + options
    head = struct.pack(
        ">BxHHHBBH4s4s", 0x40 | head_bytes // 4, head_bytes + len(segment), 0, fragment, 64, 6, 0,
        socket.inet_aton(source[0]), socket.inet_aton(destination[0]),
    )  # fmt: skip
    return head + bytes(options) + segment


def ipv6(segment: bytes, *, following: int = 6, extensions: bytes = b"") -> bytes:
    size = len(extensions) + len(segment)
    addresses = socket.inet_pton(socket.AF_INET6, "fd00::1") + socket.inet_pton(
        socket.AF_INET6, "fd00::2"
    )
    return struct.pack(">IHBB", 6 << 28, size, following, 64) + addresses + extensions + segment


@attrs.define
class Flow:
    """The packets of one connection, numbered as TCP numbers them."""

    client_sequence: int = 1000
    server_sequence: int = 5000
    port: int = 40000
    time_ns: int = NOW_NS

    def open(self) -> list[Packet]:
        syn = self._packet(b"", SYN, from_client=True)
        self.client_sequence += 1
        answer = self._packet(b"", SYN | ACK, from_client=False)
        self.server_sequence += 1
        return [syn, answer]

    def client(self, payload: bytes) -> Packet:
        packet = self._packet(payload, ACK, from_client=True)
        self.client_sequence += len(payload)
        return packet

    def server(self, payload: bytes) -> Packet:
        packet = self._packet(payload, ACK, from_client=False)
        self.server_sequence += len(payload)
        return packet

    def _packet(self, payload: bytes, flags: int, *, from_client: bool) -> Packet:
        self.time_ns += 1_000_000
        here, there = self.client_sequence, self.server_sequence
        if not from_client:
            here, there = there, here
        segment = tcp(
            payload, here, from_client=from_client, flags=flags, acknowledged=there,
            ports=(self.port, 9092),
        )  # fmt: skip
        return Packet(self.time_ns, RAW_IP, ipv4(segment, from_client=from_client))


def pcap(packets: Iterable[Packet], *, order: str = "<", nanoseconds: bool = False) -> bytes:
    packets = list(packets)
    magic, unit_ns = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    link_type = packets[0].link_type if packets else RAW_IP
    out = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)
    for packet in packets:
        seconds, rest = divmod(packet.time_ns, 10**9)
        size = len(packet.data)
        out += struct.pack(f"{order}IIII", seconds, rest // unit_ns, size, size) + packet.data
    return out


def block(kind: int, body: bytes, *, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size


def section(*, order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order=order)


def interface(link_type: int = RAW_IP, options: bytes = b"", *, order: str = "<") -> bytes:
    return block(1, struct.pack(f"{order}HHI", link_type, 0, 0) + options, order=order)


def packet_block(data: bytes, units: int, *, interface: int = 0, order: str = "<") -> bytes:
    size = len(data)
    head = struct.pack(f"{order}IIIII", interface, units >> 32, units & 0xFFFFFFFF, size, size)
    return block(6, head + data, order=order)
