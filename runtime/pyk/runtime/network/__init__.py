"""Connections: frames in and out, over sockets or in memory."""

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use
from pyk.runtime.network.file_region import FileRegion, Part
from pyk.runtime.network.frame_reader import FrameReceiver, FrameSizeError
from pyk.runtime.network.frame_transport import FrameTransport
from pyk.runtime.network.system import (
    AcceptGate,
    Address,
    ClientTls,
    Listener,
    Network,
    ServerTls,
    SystemNetwork,
    Tunnel,
)

if TYPE_CHECKING:
    from pyk.runtime.network.memory import MemoryNetwork

__all__ = [
    "AcceptGate",
    "Address",
    "ClientTls",
    "FileRegion",
    "FrameReceiver",
    "FrameSizeError",
    "FrameTransport",
    "Listener",
    "MemoryNetwork",
    "Network",
    "Part",
    "ServerTls",
    "SystemNetwork",
    "Tunnel",
]

__getattr__ = loaded_on_first_use(globals(), {"MemoryNetwork": "memory"})  # only tests need it
