"""The logs of a broker, opened as a broker opens them."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from pyk.reference_broker.config import BrokerConfigLayers, LogConfig, parse_topic_configs
from pyk.reference_broker.storage import LogManager
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.virtual_time import VirtualClock

ONE, TWO = UUID(int=1), UUID(int=2)
LAYERS = BrokerConfigLayers.of({})


def open_manager(
    filesystem: FileSystem, clock: VirtualClock | None = None, **more: Any
) -> LogManager:
    """Open the data directory ``/data`` with configurations of a broker."""
    cluster_id, disk = more.pop("cluster_id", None), more.pop("disk", None)
    config = BrokerConfigLayers.of(
        {name.replace("_", "."): value for name, value in more.items()}
    ).broker_config()
    return LogManager.open(
        filesystem,
        "/data",
        config,
        clock=clock or VirtualClock(),
        random=Random(5),
        cluster_id=cluster_id,
        disk=disk,
    )


def log_config(**values: str) -> LogConfig:
    """Return the configuration of a log with these configurations of its topic."""
    names = {name.replace("_", "."): value for name, value in values.items()}
    return LAYERS.log_config(parse_topic_configs(names))
