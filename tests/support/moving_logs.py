"""A broker with several data directories, whose logs move when a test lets them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.storage import Log, LogManager
from pyk.reference_broker.storage.disk import Disk
from pyk.reference_broker.storage.log_generation import write_generation
from pyk.reference_broker.storage.partition_metadata import write_topic_id
from pyk.runtime.filesystem import FileSystem
from pyk.runtime.virtual_time import VirtualClock
from support.log_managers import ONE, log_config
from support.logs import ORDERS, append

A, B, C = "/a", "/b", "/c"


class MovingBroker:
    """The logs of a broker with three directories, whose moves run when they are due."""

    def __init__(
        self,
        filesystem: FileSystem,
        *,
        disk: Disk | None = None,
        log_dirs: Sequence[str] = (A, B, C),
        metadata_dir: str = A,
        **config: object,
    ) -> None:
        self.clock = VirtualClock()
        self.logs = LogManager.open(
            filesystem,
            metadata_dir,
            BrokerConfigLayers.of(
                {name.replace("_", "."): value for name, value in config.items()}
            ).broker_config(),
            clock=self.clock,
            random=Random(5),
            log_dirs=log_dirs,
            disk=disk,
        )
        self.due: float | None = None
        self.logs.arm_moves = self._arm
        self.logs.when_failed(self.logs.take_offline)

    def _arm(self, at: float) -> None:
        self.due = at

    def create(self, partition: TopicPartition = ORDERS, **config: Any) -> Log:
        return self.logs.get_or_create(partition, log_config(**config), ONE)

    @property
    def log(self) -> Log:
        """The log of the partition, wherever it is."""
        found = self.logs.get(ORDERS)
        return self.create() if found is None else found

    @property
    def home(self) -> str:
        home = self.logs.homes.of(ORDERS)
        assert home is not None
        return home.path

    def move(self, path: str) -> None:
        target = self.logs.homes.at(path)
        assert target is not None
        self.logs.moves.begin(self.log, ONE, target)

    def step(self) -> None:
        """Let the moves go on once."""
        assert self.due is not None
        at, self.due = self.due, None
        self.clock.advance(max(0.0, at - self.clock.now()))
        self.logs.moves.run()

    def finish(self, steps: int = 100) -> None:
        """Let the moves go on until they are done."""
        while self.logs.moves.get(ORDERS) is not None and steps:
            self.step()
            steps -= 1


def filled(broker: MovingBroker, count: int = 10, **config: Any) -> Log:
    """Return the log of the partition, with one record in each batch."""
    log = broker.create(internal_segment_bytes="400", **config)
    for number in range(count):
        append(log, b"%d" % number)
    return log


def texts(count: int) -> list[bytes]:
    """Return the values of the records of a ``filled`` log."""
    return [b"%d" % number for number in range(count)]


def add_log(
    filesystem: FileSystem,
    path: str,
    topic_id: UUID,
    generation: int = 0,
    *,
    base_offset: int = 0,
    content: bytes = b"",
) -> None:
    """Let a directory have a log of the partition, as an earlier broker left it."""
    directory = f"{path}/{ORDERS}"
    filesystem.make_directory(directory)
    write_topic_id(filesystem, directory, topic_id)
    segment = filesystem.open(f"{directory}/{base_offset:020d}.log", create=True)
    segment.write_at(0, [content])
    if generation:
        write_generation(filesystem, directory, generation)


def logs_of_name(filesystem: FileSystem) -> list[str]:
    """Return the directories that have a log of the partition."""
    return [path for path in (A, B, C) if filesystem.exists(f"{path}/{ORDERS}")]


def home(logs: LogManager, partition: TopicPartition = ORDERS) -> str | None:
    """Return the directory that has the log of a partition."""
    directory = logs.homes.of(partition)
    return None if directory is None else directory.path
