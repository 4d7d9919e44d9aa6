"""The logs of a broker with several data directories, in memory."""

from __future__ import annotations

from random import Random

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.storage import LogManager
from pyk.reference_broker.storage.disk import Disk
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.virtual_time import VirtualClock
from support.log_managers import ONE, log_config

A, B, C = "/a", "/b", "/c"
METADATA = TopicPartition("__cluster_metadata", 0)


def open_logs(
    filesystem: FileSystem,
    *log_dirs: str,
    metadata: str = "",
    disk: Disk | None = None,
    seed: int = 5,
) -> LogManager:
    return LogManager.open(
        filesystem,
        metadata or log_dirs[0],
        BrokerConfigLayers.of({}).broker_config(),
        clock=VirtualClock(),
        random=Random(seed),
        log_dirs=log_dirs,
        disk=disk,
    )


def create(logs: LogManager, name: str, count: int = 1) -> None:
    for number in range(count):
        logs.get_or_create(TopicPartition(name, number), log_config(), ONE)


def home(logs: LogManager, partition: TopicPartition) -> str:
    directory = logs.homes.of(partition)
    assert directory is not None
    return directory.path
