"""Directories that fail at the start, while it is told which of several logs of one name counts."""

from __future__ import annotations

import errno
from uuid import UUID

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import LogManager, StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.log_managers import ONE, TWO
from support.logs import ORDERS
from support.moving_logs import A, B, C, MovingBroker, add_log, home, logs_of_name


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    MovingBroker(filesystem).logs.close()
    return filesystem


@pytest.fixture
def faulty(filesystem: MemoryFileSystem) -> FaultyFileSystem:
    return FaultyFileSystem(filesystem)


def knows(*topic_ids: UUID) -> object:
    return lambda _, topic_id: topic_id in (None, *topic_ids)


@pytest.mark.parametrize("file", ["move.metadata", "partition.metadata"])
def test_a_log_is_offline_while_a_failed_directory_may_have_the_one_that_counts(
    filesystem, faulty, file
):
    add_log(filesystem, B, ONE)
    add_log(filesystem, C, ONE, generation=1)
    broken = faulty.on("open", f"/c/orders-0/{file}").fail(errno.EIO)

    logs = MovingBroker(faulty).logs
    logs.set_strays_aside(knows(ONE))

    assert list(logs.failures) == [C]
    assert logs.homes.is_lost(ORDERS)
    assert home(logs) is None
    logs.close()
    broken.heal()
    assert home(MovingBroker(filesystem).logs) == C
    assert logs_of_name(filesystem) == [C]


def test_the_log_that_counts_is_used_although_the_other_cannot_be_deleted(filesystem, faulty):
    add_log(filesystem, B, ONE)
    add_log(filesystem, C, ONE, generation=1)
    faulty.on("rename", "/b/*-delete").fail(errno.ENOSPC)

    logs = MovingBroker(faulty).logs

    assert list(logs.failures) == [B]
    assert home(logs) == C


@pytest.mark.parametrize(("known", "place"), [(ONE, B), (TWO, C)])
def test_a_directory_is_left_out_that_cannot_set_the_log_of_another_topic_aside(
    filesystem, faulty, known, place
):
    add_log(filesystem, B, ONE)
    add_log(filesystem, C, TWO)
    faulty.on("rename", "*-stray").fail(errno.EIO)
    logs = MovingBroker(faulty).logs

    logs.set_strays_aside(knows(known))

    assert list(logs.failures) == [C if place == B else B]
    assert home(logs) == place


def test_logs_of_deleted_topics_that_cannot_be_set_aside_refuse_no_start(filesystem, faulty):
    for path in (A, B, C):
        add_log(filesystem, path, UUID(int=7 + ord(path[1])))
    faulty.on("rename", "/c/*-stray").fail(errno.EIO)
    logs = MovingBroker(faulty).logs

    logs.set_strays_aside(knows())

    assert list(logs.failures) == [C]
    assert logs_of_name(filesystem) == [C]
    assert home(logs) is None


def test_a_start_is_refused_if_the_directory_of_the_metadata_log_fails(filesystem, faulty):
    add_log(filesystem, A, ONE)
    add_log(filesystem, B, TWO)
    faulty.on("rename", "/a/*-stray").fail(errno.EIO)
    logs = MovingBroker(faulty).logs

    with pytest.raises(StorageError, match=r"cannot use data directory /a: .*/a/orders-0"):
        logs.set_strays_aside(knows(TWO))


def test_a_start_is_refused_if_all_directories_for_logs_fail(filesystem, faulty):
    add_log(filesystem, B, ONE)
    add_log(filesystem, C, TWO)
    faulty.on("rename", "*-stray").fail(errno.EIO)
    logs = MovingBroker(faulty, log_dirs=(B, C)).logs

    with pytest.raises(StorageError, match=r"none of the data directories can be used: .*/b.*/c"):
        logs.set_strays_aside(knows())


def unfinished_move(filesystem: MemoryFileSystem, path: str) -> TopicPartition:
    """Let a directory have a copy that an earlier broker has begun."""
    partition = TopicPartition("unfinished", 0)
    filesystem.make_directory(f"{path}/{partition}.{ONE.hex}-future")
    return partition


def test_a_log_does_not_move_on_to_a_directory_that_has_failed(filesystem):
    unfinished = unfinished_move(filesystem, C)
    logs: LogManager = MovingBroker(filesystem).logs
    failed = logs.homes.at(C)

    logs.take_offline(failed, OSError(errno.EIO, "broken"))

    assert logs.homes.take_unfinished(unfinished) is None


def test_the_log_of_another_topic_does_not_go_on_with_the_move_of_a_deleted_one(filesystem):
    unfinished = unfinished_move(filesystem, C)
    logs = MovingBroker(filesystem).logs

    logs.mark_deleted(unfinished)

    assert not logs.homes.is_unfinished(unfinished)
