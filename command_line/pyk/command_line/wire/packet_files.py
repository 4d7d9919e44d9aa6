"""Read the packets of a capture file: pcap and pcapng, as tcpdump, tshark and Wireshark write them.

Nothing in the file is trusted: a length is checked before that many bytes are read. A file that
ends in the middle of a packet raises an error after all packets before that one were yielded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from pyk.runtime import slotted

LARGEST_BLOCK = 16 << 20
"""Bytes of a packet or block. Captures of loopback have packets of 64 KiB, and a few above it."""

_NANOSECONDS = 1_000_000_000
_PCAP_MAGICS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}  # → nanoseconds per unit of the second number
_SECTION = 0x0A0D0D0A
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 1, 2, 3, 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_RESOLUTION_OPTION, _OFFSET_OPTION = 9, 14


class CaptureError(Exception):
    """A capture cannot be read, or not to its end; the message says where and why."""


class Packet(NamedTuple):
    """One packet as it was captured, which may be only its beginning."""

    time_ns: int
    """Nanoseconds since 1970; 0 if the file has no time for it."""
    link_type: int
    data: bytes


def is_capture(start: bytes) -> bool:
    """Return whether a file that starts with these four bytes is a capture."""
    return len(start) >= 4 and (_is_pcapng(start) or _pcap_order(start) is not None)


def read_packets(file: BinaryIO, start: bytes = b"") -> Iterator[Packet]:
    """Yield the packets of a capture in the order of the file; raise CaptureError.

    ``start`` are up to four bytes that have been read from ``file`` already.
    """
    start += file.read(4 - len(start))
    if _is_pcapng(start):
        return _read_pcapng(_Reader(file, start))
    order = _pcap_order(start)
    if order is None:
        raise CaptureError("this is neither a pcap nor a pcapng file")
    return _read_pcap(_Reader(file), order, _PCAP_MAGICS[struct.unpack(f"{order}I", start)[0]])


class _Reader:
    """A file whose reads return all bytes asked for, or raise."""

    def __init__(self, file: BinaryIO, pushed_back: bytes = b"") -> None:
        self._file = file
        self._pushed_back = pushed_back
        self.packet_count = 0

    def read_or_end(self, size: int) -> bytes | None:
        """Return ``size`` bytes, None at the end of the file."""
        data = self._pushed_back + self._file.read(size - len(self._pushed_back))
        self._pushed_back = b""
        if len(data) < size and data:
            raise self._ends_early()
        return data or None

    def read(self, size: int) -> bytes:
        if size > LARGEST_BLOCK:
            raise CaptureError(
                f"the capture is damaged after packet {self.packet_count}: a length of {size} bytes"
            )
        data = self.read_or_end(size) if size else b""
        if data is None:
            raise self._ends_early()
        return data

    def _ends_early(self) -> CaptureError:
        return CaptureError(f"the capture ends in the middle, after packet {self.packet_count}")


def _is_pcapng(start: bytes) -> bool:
    return start == struct.pack(">I", _SECTION)


def _pcap_order(start: bytes) -> str | None:
    for order in "<>":
        if len(start) == 4 and struct.unpack(f"{order}I", start)[0] in _PCAP_MAGICS:
            return order
    return None


def _read_pcap(reader: _Reader, order: str, unit_ns: int) -> Iterator[Packet]:
    link_type = struct.unpack(f"{order}16xI", reader.read(20))[0] & 0xFFFF  # above: FCS length
    head = struct.Struct(f"{order}IIII")
    while (start := reader.read_or_end(head.size)) is not None:
        seconds, fraction, size, _original_size = head.unpack(start)
        data = reader.read(size)
        reader.packet_count += 1
        yield Packet(seconds * _NANOSECONDS + fraction * unit_ns, link_type, data)


@slotted.define
class _Interface:
    """The properties that the packets of one interface share."""

    link_type: int
    snap_length: int
    units_per_second: int = 1_000_000
    offset_seconds: int = 0

    def time_ns(self, high: int, low: int) -> int:
        units = (high << 32) | low
        return self.offset_seconds * _NANOSECONDS + units * _NANOSECONDS // self.units_per_second


def _read_pcapng(reader: _Reader) -> Iterator[Packet]:
    order = "<"
    interfaces: list[_Interface] = []
    while (start := reader.read_or_end(8)) is not None:
        if _is_pcapng(start[:4]):
            order, interfaces = _section_order(magic := reader.read(4)), []
            start += magic
        kind, size = struct.unpack_from(f"{order}II", start)
        if size < len(start) + 4 or size % 4:
            raise CaptureError(
                f"the capture is damaged after packet {reader.packet_count}: "
                f"a block of {size} bytes"
            )
        body = reader.read(size - len(start))[:-4]  # the size is repeated at the end
        if kind == _INTERFACE:
            interfaces.append(_interface(order, body))
        elif kind in (_PACKET, _SIMPLE_PACKET, _OLD_PACKET):
            packet = _packet(order, kind, body, interfaces)
            reader.packet_count += 1
            yield packet


def _section_order(magic: bytes) -> str:
    for order in "<>":
        if struct.unpack(f"{order}I", magic)[0] == _BYTE_ORDER_MAGIC:
            return order
    raise CaptureError("a section of the pcapng file has no byte order: it is damaged")


def _interface(order: str, body: bytes) -> _Interface:
    try:
        link_type, snap_length = struct.unpack_from(f"{order}H2xI", body)
        interface = _Interface(link_type, snap_length)
        position = 8
        while position + 4 <= len(body):
            code, size = struct.unpack_from(f"{order}HH", body, position)
            if code == _RESOLUTION_OPTION:
                exponent = body[position + 4]
                base = 2 if exponent & 0x80 else 10
                interface.units_per_second = base ** (exponent & 0x7F)
            elif code == _OFFSET_OPTION:
                [interface.offset_seconds] = struct.unpack_from(f"{order}q", body, position + 4)
            position += 4 + size + -size % 4
    except (struct.error, IndexError):
        raise CaptureError("the description of an interface is damaged") from None
    return interface


def _packet(order: str, kind: int, body: bytes, interfaces: list[_Interface]) -> Packet:
    try:
        number = high = low = 0
        if kind == _SIMPLE_PACKET:
            [size], start = struct.unpack_from(f"{order}I", body), 4
            size = min(size, interfaces[0].snap_length or size)
        else:
            head = f"{order}IIII" if kind == _PACKET else f"{order}H2xIII"
            (number, high, low, size), start = struct.unpack_from(head, body), 20
        interface = interfaces[number]
    except (struct.error, IndexError):
        raise CaptureError("a packet block is damaged") from None
    if size > len(body) - start:
        raise CaptureError(f"a packet of {size} bytes in a block of {len(body)}")
    time_ns = 0 if kind == _SIMPLE_PACKET else interface.time_ns(high, low)
    return Packet(time_ns, interface.link_type, body[start : start + size])
