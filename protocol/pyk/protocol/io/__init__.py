"""The seams to the world that clients and broker share: clock, network, frames."""

from typing import TYPE_CHECKING, Any

from pyk.protocol.io.clock import Clock
from pyk.protocol.io.frame_reader import FrameReceiver, FrameSizeError
from pyk.protocol.io.frame_transport import FileRegion, FrameTransport, Part
from pyk.protocol.io.network import Address, Listener, Network, SystemNetwork
from pyk.protocol.io.system_clock import SystemClock

if TYPE_CHECKING:
    from pyk.protocol.io.memory_network import MemoryNetwork

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


def __getattr__(name: str) -> Any:
    """Import what only tests need when it is asked for."""
    if name == "MemoryNetwork":
        from pyk.protocol.io.memory_network import MemoryNetwork

        return MemoryNetwork
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
