"""Find the TCP segment in a packet, after the headers of link layer and IP."""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import NamedTuple

from pyk.command_line.wire.packet_files import CaptureError, Packet

_IPV4, _IPV6 = 0x0800, 0x86DD
_VLAN_TAGS = {0x8100, 0x88A8, 0x9100}
_TCP = 6
_IPV6_FRAGMENT = 44
_IPV6_EXTENSIONS = {0, 43, 60, _IPV6_FRAGMENT}  # hop by hop, routing, destination
_SYN, _ACK = 2, 16

# Link types: https://www.tcpdump.org/linktypes.html. For each, the length of its header and the
# position of the protocol in it; without a protocol, the packet itself has the IP version.
_WITHOUT_PROTOCOL = {0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0}  # loopback, raw IP
_WITH_PROTOCOL = {1: (14, 12), 113: (16, 14), 276: (20, 0)}  # Ethernet, Linux cooked 1 and 2


class Endpoint(NamedTuple):
    """One end of a connection."""

    address: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


class Segment(NamedTuple):
    """One TCP segment."""

    source: Endpoint
    destination: Endpoint
    sequence: int
    """Of the first byte of ``payload``; of the SYN itself if there is one."""
    acknowledged: int | None
    flags: int
    payload: bytes
    missing: int
    """How many bytes of the payload were sent and not captured."""

    @property
    def opens(self) -> bool:
        """Whether it is the first of a connection, from the client."""
        return self.flags & (_SYN | _ACK) == _SYN

    @property
    def is_syn(self) -> bool:
        return bool(self.flags & _SYN)


def tcp_segment(packet: Packet) -> Segment | None:
    """Return the segment in ``packet``; None if it has no segment with complete headers.

    Fragments of IP packets are ignored: their bytes are missing in the stream. Raises CaptureError
    for an unknown kind of link.
    """
    try:
        start = _network_start(packet)
        return None if start is None else _from_ip(packet.data, start)
    except (struct.error, IndexError):
        return None


def _network_start(packet: Packet) -> int | None:
    if (size := _WITHOUT_PROTOCOL.get(packet.link_type)) is not None:
        return size
    if packet.link_type not in _WITH_PROTOCOL:
        raise CaptureError(
            f"unknown link type {packet.link_type}; capture on an Ethernet, loopback or "
            "`any` interface, or convert the file with editcap"
        )
    size, protocol_at = _WITH_PROTOCOL[packet.link_type]
    [protocol] = struct.unpack_from(">H", packet.data, protocol_at)
    while protocol in _VLAN_TAGS:
        [protocol] = struct.unpack_from(">H", packet.data, size + 2)
        size += 4
    return size if protocol in (_IPV4, _IPV6) else None


def _from_ip(data: bytes, start: int) -> Segment | None:
    version = data[start] >> 4
    if version == 4:
        return _from_ipv4(data, start)
    return _from_ipv6(data, start) if version == 6 else None


def _from_ipv4(data: bytes, start: int) -> Segment | None:
    first, total, fragment, protocol = struct.unpack_from(">BxH2xHxB", data, start)
    if protocol != _TCP or fragment & 0x3FFF:  # more fragments, or an offset
        return None
    source, destination = data[start + 12 : start + 16], data[start + 16 : start + 20]
    # A length of 0: the network card cuts large packets, so the kernel does not set their length.
    end = start + total if total else len(data)
    return _from_tcp(data, start + (first & 15) * 4, end, source, destination)


def _from_ipv6(data: bytes, start: int) -> Segment | None:
    size, following = struct.unpack_from(">4xHB", data, start)
    source, destination = data[start + 8 : start + 24], data[start + 24 : start + 40]
    position = start + 40
    end = position + size if size else len(data)
    while following in _IPV6_EXTENSIONS:
        if following == _IPV6_FRAGMENT and data[position + 2 : position + 4] != b"\0\0":
            return None
        length = 8 if following == _IPV6_FRAGMENT else 8 + 8 * data[position + 1]
        following, position = data[position], position + length
    return _from_tcp(data, position, end, source, destination) if following == _TCP else None


def _from_tcp(
    data: bytes, start: int, end: int, source: bytes, destination: bytes
) -> Segment | None:
    source_port, destination_port, sequence, acknowledged, offset, flags = struct.unpack_from(
        ">HHIIBB", data, start
    )
    payload_at = start + (offset >> 4) * 4
    if payload_at < start + 20 or end < payload_at:
        return None
    payload = data[payload_at:end]
    return Segment(
        Endpoint(str(ip_address(source)), source_port),
        Endpoint(str(ip_address(destination)), destination_port),
        sequence,
        acknowledged if flags & _ACK else None,
        flags,
        payload,
        end - payload_at - len(payload),
    )
