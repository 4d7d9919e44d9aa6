"""The seams to the world that clients and broker share: clock, network, frames."""

from pyk.protocol.io.clock import Clock
from pyk.protocol.io.frame_transport import (
    FileRegion,
    FrameReceiver,
    FrameSizeError,
    FrameTransport,
    Part,
)
from pyk.protocol.io.memory_network import MemoryNetwork
from pyk.protocol.io.network import Address, Listener, Network, SystemNetwork
from pyk.protocol.io.system_clock import SystemClock

__all__ = [
    "Address",
    "Clock",
    "FileRegion",
    "FrameReceiver",
    "FrameSizeError",
    "FrameTransport",
    "Listener",
    "MemoryNetwork",
    "Network",
    "Part",
    "SystemClock",
    "SystemNetwork",
]
