"""In which data directory logs are, where new ones go, and which of several of one name counts."""

from __future__ import annotations

import errno
import re

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.log_managers import ONE, TWO
from support.logs import ORDERS
from support.moving_logs import A, B, C, MovingBroker, add_log, home, logs_of_name

METADATA = TopicPartition("__cluster_metadata", 0)
FIRST, SECOND = TopicPartition("first", 0), TopicPartition("second", 0)
FAILURE = OSError(errno.EIO, "broken")


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    MovingBroker(filesystem).logs.close()
    return filesystem


# Several logs of one name


@pytest.mark.parametrize(
    ("known", "kept"), [((ONE,), [A]), ((TWO,), [B]), ((), [])], ids=["first", "second", "neither"]
)
def test_of_logs_of_two_topics_the_one_that_exists_stays(filesystem, known, kept):
    add_log(filesystem, A, ONE)
    add_log(filesystem, B, TWO, generation=3)
    logs = MovingBroker(filesystem).logs

    logs.set_strays_aside(lambda _, topic_id: topic_id in (None, *known))

    assert logs_of_name(filesystem) == kept
    assert home(logs) == (kept[0] if kept else None)


@pytest.mark.parametrize(("known", "kept"), [(ONE, C), (TWO, B)])
def test_a_log_replaces_the_one_of_its_topic_beside_one_of_another(filesystem, known, kept):
    add_log(filesystem, A, ONE)
    add_log(filesystem, B, TWO)
    add_log(filesystem, C, ONE, generation=1)
    logs = MovingBroker(filesystem).logs

    logs.set_strays_aside(lambda _, topic_id: topic_id in (None, known))

    assert logs_of_name(filesystem) == [kept]
    assert home(logs) == kept


@pytest.mark.parametrize(("first", "second", "kept"), [(0, 1, B), (2, 1, A), (2, 3, B)])
def test_the_log_of_the_higher_generation_counts(filesystem, first, second, kept):
    add_log(filesystem, A, ONE, first, content=b"" if kept == A else b"records")
    add_log(filesystem, B, ONE, second, content=b"" if kept == B else b"records")

    logs = MovingBroker(filesystem).logs

    assert logs_of_name(filesystem) == [kept]
    assert home(logs) == kept


@pytest.mark.parametrize("generation", [0, 1])
def test_logs_of_one_generation_are_refused(filesystem, generation):
    add_log(filesystem, A, ONE, generation, content=b"records")
    add_log(filesystem, B, ONE, generation, content=b"others")

    with pytest.raises(StorageError, match="/a and /b both have a log of orders-0"):
        MovingBroker(filesystem)


@pytest.mark.parametrize(("first", "second"), [(A, B), (B, A)])
@pytest.mark.parametrize("kept", [{"content": b"records"}, {"base_offset": 7}])
def test_a_log_without_records_does_not_count_beside_one_that_had_some(
    filesystem, first, second, kept
):
    add_log(filesystem, first, ONE, **kept)
    add_log(filesystem, second, ONE)

    logs = MovingBroker(filesystem).logs

    assert logs_of_name(filesystem) == [first]
    assert home(logs) == first


def test_one_of_two_logs_without_records_is_used(filesystem):
    add_log(filesystem, B, ONE)
    add_log(filesystem, C, ONE)

    logs = MovingBroker(filesystem).logs

    assert logs_of_name(filesystem) == [B]
    assert home(logs) == B


def test_a_log_that_cannot_be_deleted_for_another_is_named(filesystem):
    add_log(filesystem, A, ONE)
    add_log(filesystem, B, ONE, 1)
    faulty = FaultyFileSystem(filesystem)
    faulty.on("rename", "/a/orders-0*").fail(errno.ENOSPC)

    with pytest.raises(StorageError, match=r"cannot use data directory /a: .*/a/orders-0"):
        MovingBroker(faulty)


# New logs


def test_a_log_that_has_moved_counts_where_it_is(filesystem):
    broker = MovingBroker(filesystem)
    broker.logs.homes.prefer(ORDERS, broker.logs.homes.at(A))
    broker.create(ORDERS)
    broker.move(B)
    broker.finish()

    broker.create(FIRST)

    assert home(broker.logs, FIRST) == A


def test_the_metadata_log_does_not_count(filesystem):
    broker = MovingBroker(filesystem)
    broker.logs.open_metadata_log(METADATA, broker.log.config, ONE)
    broker.logs.delete(ORDERS)
    broker.logs.close()
    broker = MovingBroker(filesystem)
    broker.logs.open_metadata_log(METADATA, broker.create(FIRST).config, ONE)
    broker.logs.delete(FIRST)

    broker.create(SECOND)

    assert home(broker.logs, SECOND) == A


def test_a_log_is_created_where_it_was_asked_for_only_once(filesystem):
    broker = MovingBroker(filesystem)
    broker.logs.homes.prefer(ORDERS, broker.logs.homes.at(C))
    broker.create(ORDERS)
    assert home(broker.logs) == C
    broker.logs.delete(ORDERS)

    broker.logs.get_or_create(ORDERS, broker.create(FIRST).config, TWO)

    assert home(broker.logs) == B, "A has the first log already"


def test_a_log_does_not_begin_in_a_directory_that_has_failed(filesystem):
    logs = MovingBroker(filesystem).logs
    failed = logs.homes.at(B)
    logs.homes.prefer(ORDERS, failed)
    logs.homes.prefer(FIRST, logs.homes.at(C))

    logs.take_offline(failed, FAILURE)

    assert logs.homes.place(ORDERS).path == A
    assert logs.homes.place(FIRST).path == C
    assert failed.directory_id not in logs.homes.directory_ids
    assert len(logs.homes.directory_ids) == 2


def test_no_log_begins_without_a_directory(filesystem):
    logs = MovingBroker(filesystem).logs
    for directory in tuple(logs.homes.directories):
        logs.homes.take_offline(directory)

    with pytest.raises(StorageError, match="no data directory left for orders-0"):
        logs.homes.place(ORDERS)


def test_all_is_lost_with_the_last_directory_for_logs(filesystem):
    logs = MovingBroker(filesystem, log_dirs=(B, C), metadata_dir=A).logs

    logs.take_offline(logs.homes.at(B), FAILURE)
    assert logs.lost is None
    logs.take_offline(logs.homes.at(C), FAILURE)

    assert re.fullmatch("none of the data directories can be used: .*/b.*; .*/c.*", str(logs.lost))


def test_all_is_lost_with_the_directory_of_the_metadata_log(filesystem):
    logs = MovingBroker(filesystem).logs

    logs.take_offline(logs.homes.at(A), FAILURE)

    assert str(logs.lost).startswith("data directory /a, which has the metadata log, has failed")


# Cordoned directories


@pytest.mark.parametrize(
    ("cordoned", "place"),
    [((), A), ((A,), B), ((A, B), C), ((A, B, C), A), (("*",), A), (("/elsewhere",), A)],
)
def test_new_logs_go_to_cordoned_directories_only_where_there_is_no_other(
    filesystem, cordoned, place
):
    logs = MovingBroker(filesystem).logs

    logs.homes.cordon(cordoned)

    assert logs.homes.place(ORDERS).path == place


@pytest.mark.parametrize(
    ("cordoned", "found"), [((), []), ((B, "/elsewhere"), [B]), (("*",), [A, B, C])]
)
def test_cordoned_directories_are_known_by_their_ids(filesystem, cordoned, found):
    logs = MovingBroker(filesystem).logs

    logs.homes.cordon(cordoned)

    assert logs.homes.cordoned_ids == {logs.homes.at(path).directory_id for path in found}
