"""Logs that are not compacted yet, because they move or are not on the disk."""

from __future__ import annotations

import pytest

from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.disks import HeldDisk
from support.logs import ORDERS, append
from support.moving_logs import B, MovingBroker


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def test_a_log_is_not_compacted_while_it_moves(filesystem):
    broker = MovingBroker(filesystem, log_cleaner_backoff_ms=0)
    log = broker.create(cleanup_policy="compact", internal_segment_bytes="200")
    for _ in range(20):
        append(log, b"same key")
    log.flusher.flush_now()
    size = log.segments.size
    broker.move(B)

    compact(broker)

    assert log.segments.size == size
    broker.logs.moves.end(ORDERS)
    compact(broker)
    assert log.segments.size < size


def compact(broker: MovingBroker) -> None:
    """Let the compactor do what there is to do."""
    for _ in range(50):
        broker.clock.advance(1)
        broker.logs.compactor.run(broker.logs.config)


def test_a_pass_ends_when_its_log_begins_to_move(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk, log_cleaner_backoff_ms=0)
    log = broker.create(cleanup_policy="compact", internal_segment_bytes="200")
    for _ in range(20):
        append(log, b"same key")
    log.flusher.flush_now()
    size = log.segments.size
    broker.logs.compactor.run(broker.logs.config)
    assert len(disk) == 1  # the pass

    broker.move(B)
    disk.do_all()

    assert log.segments.size == size


def test_a_log_is_not_compacted_before_it_is_on_the_disk(filesystem):
    disk = HeldDisk()
    broker = MovingBroker(filesystem, disk=disk, log_cleaner_backoff_ms=0)
    log = broker.create(cleanup_policy="compact", internal_segment_bytes="200")
    for _ in range(3):
        append(log, b"same key")

    compact(broker)

    assert len(disk) == 1  # the flush
    disk.do_all()
    broker.logs.compactor.run(broker.logs.config)
    assert len(disk) == 1  # the pass
