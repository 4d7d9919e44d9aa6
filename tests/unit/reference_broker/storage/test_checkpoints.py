"""Kafka's small text files."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import StorageError
from pyk.reference_broker.storage.checkpoint import OffsetCheckpoint
from pyk.reference_broker.storage.leader_epochs import LeaderEpochs
from pyk.reference_broker.storage.meta_properties import (
    MetaProperties,
    mark_clean_shutdown,
    read_meta_properties,
    take_clean_shutdown,
    write_meta_properties,
)
from pyk.reference_broker.storage.partition_metadata import read_topic_id, write_topic_id
from pyk.runtime.filesystem import read_if_exists, write_atomically
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.logs import ORDERS

PATH = "/data/checkpoint"
OTHER = TopicPartition("other", 0)
PROPERTIES = MetaProperties("2lCROka7SheF9jIcWaM2YQ", 3, "zP-irTnezNKYUnqzHbliPw")


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    return filesystem


def epochs(filesystem, *entries):
    epochs = LeaderEpochs(filesystem, PATH)
    for epoch, start_offset in entries:
        epochs.assign(epoch, start_offset)
    return epochs


def update(checkpoint, offsets):
    write = checkpoint.begin_update(offsets)
    if write is not None:
        write.finish()
        checkpoint.end_update(None)


def test_offset_checkpoint_is_kafkas(filesystem):
    checkpoint = OffsetCheckpoint(filesystem, PATH)

    update(checkpoint, {TopicPartition("b", 10): 5, TopicPartition("a", 0): 6})

    assert read_if_exists(filesystem, PATH) == b"0\n2\na 0 6\nb 10 5\n"
    assert OffsetCheckpoint(filesystem, PATH).get(TopicPartition("b", 10)) == 5


def test_offset_checkpoint_keeps_entries_that_are_not_updated(filesystem):
    update(OffsetCheckpoint(filesystem, PATH), {ORDERS: 5, TopicPartition("b", 0): 6})
    checkpoint = OffsetCheckpoint(filesystem, PATH)

    update(checkpoint, {ORDERS: 7})

    assert checkpoint.get(TopicPartition("b", 0)) == 6
    assert checkpoint.get(TopicPartition("c", 0)) == 0
    checkpoint.forget(ORDERS)
    assert checkpoint.get(ORDERS) == 0


def test_offset_checkpoint_is_written_only_when_something_moved(filesystem):
    checkpoint = OffsetCheckpoint(filesystem, PATH)
    update(checkpoint, {ORDERS: 5})
    filesystem.remove(PATH)

    update(checkpoint, {ORDERS: 5})

    assert not filesystem.exists(PATH)


def test_offset_checkpoint_knows_what_it_forgot_until_a_write_has_left_it_out(filesystem):
    checkpoint = OffsetCheckpoint(filesystem, PATH)
    update(checkpoint, {ORDERS: 5, OTHER: 6})
    assert not checkpoint.may_name_forgotten

    checkpoint.forget(ORDERS)
    write = checkpoint.begin_update({})
    assert write is not None
    checkpoint.forget(OTHER)
    write.finish()
    checkpoint.end_update(None)

    assert checkpoint.may_name_forgotten
    update(checkpoint, {})
    assert not checkpoint.may_name_forgotten
    assert read_if_exists(filesystem, PATH) == b"0\n0\n"


def test_offset_checkpoint_names_what_it_forgot_after_a_write_that_failed(filesystem):
    checkpoint = OffsetCheckpoint(filesystem, PATH)
    checkpoint.begin_update({ORDERS: 5})
    checkpoint.forget(ORDERS)

    checkpoint.end_update(OSError())

    assert checkpoint.may_name_forgotten
    update(checkpoint, {ORDERS: 6})
    assert not checkpoint.may_name_forgotten


def test_offset_checkpoint_looks_at_no_other_names_for_a_new_one(filesystem):
    looks = 0

    class CountedName(TopicPartition):
        def __hash__(self) -> int:
            nonlocal looks
            looks += 1
            return super().__hash__()

    checkpoint = OffsetCheckpoint(filesystem, PATH)
    update(checkpoint, {CountedName("wide", number): number for number in range(1000)})
    looks = 0

    checkpoint.forget(CountedName("new", 0))

    assert not checkpoint.may_name_forgotten
    assert looks < 10


@pytest.mark.parametrize(
    "content",
    [b"1\n0\n", b"0\n2\na 0 6\n", b"0\n1\na 0\n", b"0\n1\na x 6\n", b"0\nmany\n", b"0\n", b"\xff"],
)
def test_the_error_for_a_damaged_checkpoint_says_what_to_do(filesystem, content):
    write_atomically(filesystem, PATH, content)

    with pytest.raises(StorageError, match=r"is damaged at .* restore it or remove it"):
        OffsetCheckpoint(filesystem, PATH)
    with pytest.raises(StorageError, match="is damaged"):
        LeaderEpochs(filesystem, PATH)


@pytest.mark.parametrize("line", [b"a 0 -6", b"a -1 6"])
def test_a_checkpoint_with_a_negative_number_is_damaged(filesystem, line):
    write_atomically(filesystem, PATH, b"0\n1\n%s\n" % line)

    with pytest.raises(StorageError, match=f"is damaged at '{line.decode()}'"):
        OffsetCheckpoint(filesystem, PATH)


@pytest.mark.parametrize("line", [b"-1 6", b"1 -6"])
def test_leader_epochs_with_a_negative_number_are_damaged(filesystem, line):
    write_atomically(filesystem, PATH, b"0\n1\n%s\n" % line)

    with pytest.raises(StorageError, match=f"is damaged at '{line.decode()}'"):
        LeaderEpochs(filesystem, PATH)


def test_empty_checkpoint_says_nothing(filesystem):
    write_atomically(filesystem, PATH, b"")

    assert OffsetCheckpoint(filesystem, PATH).get(ORDERS) == 0


def test_leader_epochs_are_written_as_kafka_does(filesystem):
    written = epochs(filesystem, (0, 0), (2, 10))

    write = written.begin_write()
    assert write is not None
    write.finish()

    assert read_if_exists(filesystem, PATH) == b"0\n2\n0 0\n2 10\n"
    assert epochs(filesystem).entries == [(0, 0), (2, 10)]


def test_leader_epochs_only_rise(filesystem):
    assert epochs(filesystem, (0, 0), (2, 10), (1, 20), (2, 30), (-1, 40)).entries == [
        (0, 0),
        (2, 10),
    ]


def test_leader_epoch_without_records_gives_way_to_the_next(filesystem):
    assert epochs(filesystem, (0, 0), (1, 10), (2, 10)).entries == [(0, 0), (2, 10)]


@pytest.mark.parametrize(
    ("epoch", "end"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),  # older than all that are kept: ended where the first began
        (1, (1, 20)),
        (2, (1, 20)),
        (3, (3, 30)),
        (5, (5, 99)),
        (6, (-1, -1)),
    ],
)
def test_epoch_ends_where_the_next_begins(filesystem, epoch, end):
    known = epochs(filesystem, (1, 10), (3, 20), (5, 30))

    assert known.end_offset_of(epoch, log_end_offset=99) == end


def test_epoch_of_an_offset_is_that_of_its_leader(filesystem):
    known = epochs(filesystem, (1, 10), (3, 20))

    assert [known.epoch_of(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 1, 1, 3, 3]


def test_leader_epochs_are_cut_with_the_log(filesystem):
    known = epochs(filesystem, (1, 10), (3, 20), (5, 30))

    known.truncate_from_end(30)
    assert known.entries == [(1, 10), (3, 20)]
    known.truncate_from_start(15)
    assert known.entries == [(1, 15), (3, 20)]
    known.truncate_from_start(20)
    assert known.entries == [(3, 20)]
    known.truncate_from_start(5)
    assert known.entries == [(3, 20)]


def test_topic_id_is_written_as_kafka_does(filesystem):
    topic_id = UUID("60801be2-450a-4860-8a73-f409164940f7")

    write_topic_id(filesystem, "/data", topic_id)

    path = "/data/partition.metadata"
    assert read_if_exists(filesystem, path) == b"version: 0\ntopic_id: YIAb4kUKSGCKc_QJFklA9w"
    assert read_topic_id(filesystem, "/data") == topic_id


def test_topic_id_that_a_power_failure_took_is_not_known(filesystem):
    write_atomically(filesystem, "/data/partition.metadata", b"")

    assert read_topic_id(filesystem, "/data") is None


def test_topic_id_with_holes_that_a_power_failure_left_is_not_known(filesystem):
    content = b"versio\0\0\0\0\0\0\0\0\0\0\0\0d: _AYn\0\0"
    write_atomically(filesystem, "/data/partition.metadata", content)

    assert read_topic_id(filesystem, "/data") is None


def test_topic_id_is_known_although_a_power_failure_added_zeros(filesystem):
    content = b"version: 0\ntopic_id: YIAb4kUKSGCKc_QJFklA9w\0\0\0"
    write_atomically(filesystem, "/data/partition.metadata", content)

    assert read_topic_id(filesystem, "/data") == UUID("60801be2-450a-4860-8a73-f409164940f7")


@pytest.mark.parametrize(
    "content", [b"version: 1\ntopic_id: x", b"version: 0\ntopic_id: " + b"!" * 22]
)
def test_damaged_topic_id_is_refused(filesystem, content):
    write_atomically(filesystem, "/data/partition.metadata", content)

    with pytest.raises(StorageError, match="is damaged: restore it, as a line"):
        read_topic_id(filesystem, "/data")


def test_meta_properties_are_read_as_kafka_writes_them(filesystem):
    content = (
        b"#\n#Sat Nov 21 09:24:49 UTC 2026\nnode.id=3\ndirectory.id=zP-irTnezNKYUnqzHbliPw\n"
        b"version=1\ncluster.id=2lCROka7SheF9jIcWaM2YQ\n"
    )
    write_atomically(filesystem, "/data/meta.properties", content)

    assert read_meta_properties(filesystem, "/data") == PROPERTIES


def test_meta_properties_are_read_as_they_were_written(filesystem):
    assert read_meta_properties(filesystem, "/data") is None

    write_meta_properties(filesystem, "/data", PROPERTIES)

    assert read_meta_properties(filesystem, "/data") == PROPERTIES


@pytest.mark.parametrize(
    "content",
    [b"", b"version=1\n", b"version=0\nnode.id=1\n", b"version=1\nnode.id=x\ncluster.id=c\n"],
)
def test_damaged_meta_properties_are_refused(filesystem, content):
    write_atomically(filesystem, "/data/meta.properties", content)

    with pytest.raises(StorageError, match=r"meta\.properties"):
        read_meta_properties(filesystem, "/data")


def test_mark_of_a_clean_shutdown_counts_once(filesystem):
    mark_clean_shutdown(filesystem, "/data", broker_epoch=11)
    path = "/data/.kafka_cleanshutdown"
    assert read_if_exists(filesystem, path) == b'{"version":0,"brokerEpoch":11}'

    assert take_clean_shutdown(filesystem, "/data") == 11
    assert take_clean_shutdown(filesystem, "/data") is None


def test_mark_without_a_broker_epoch_is_that_of_an_older_broker(filesystem):
    write_atomically(filesystem, "/data/.kafka_cleanshutdown", b"")

    assert take_clean_shutdown(filesystem, "/data") == -1
