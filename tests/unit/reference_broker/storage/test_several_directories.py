"""The logs of a broker that has several data directories."""

from __future__ import annotations

import errno

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.log_managers import ONE, log_config
from support.logs import ORDERS, append, values
from support.several_directories import METADATA, A, B, C, create, home, open_logs


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def test_new_logs_go_to_the_directory_with_the_fewest(filesystem):
    logs = open_logs(filesystem, A, B, C)
    logs.open_metadata_log(METADATA, log_config(), ONE)

    create(logs, "orders", 6)
    logs.delete(TopicPartition("orders", 1))
    create(logs, "bills", 1)

    assert [home(logs, TopicPartition("orders", n)) for n in (0, 2, 3, 4, 5)] == [A, C, A, B, C]
    assert home(logs, TopicPartition("bills", 0)) == B


def test_logs_are_found_again_in_their_directories(filesystem):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    append(logs.get(TopicPartition("orders", 1)), b"0")
    ids = logs.homes.directory_ids
    logs.close()

    logs = open_logs(filesystem, A, B)

    assert logs.was_shut_down_cleanly
    assert logs.homes.directory_ids == ids
    assert home(logs, TopicPartition("orders", 1)) == B
    assert values(logs.get_or_create(TopicPartition("orders", 1), log_config(), ONE)) == [b"0"]
    checkpoint = filesystem.open("/b/recovery-point-offset-checkpoint").read_at(0, 99)
    assert checkpoint == b"0\n1\norders 1 1\n"


def test_all_directories_belong_to_one_cluster_and_each_has_its_own_id(filesystem):
    open_logs(filesystem, B, seed=1).close()
    open_logs(filesystem, A, seed=2).close()

    with pytest.raises(StorageError, match="data directory /b belongs to cluster"):
        open_logs(filesystem, A, B)


def test_a_copied_directory_is_refused(filesystem):
    logs = open_logs(filesystem, A, B)
    logs.close()
    text = filesystem.open("/a/meta.properties").read_at(0, 999)
    filesystem.open("/b/meta.properties").write_at(0, [text])

    with pytest.raises(StorageError, match=r"/a and /b have the same directory\.id"):
        open_logs(filesystem, A, B)
    open_logs(filesystem, A).close()


def test_a_directory_without_an_id_gets_one(filesystem):
    logs = open_logs(filesystem, A)
    cluster_id = logs.cluster_id
    logs.close()
    file = filesystem.open("/a/meta.properties")
    file.truncate(0)
    file.write_at(0, [f"version=1\nnode.id=0\ncluster.id={cluster_id}\n".encode()])

    open_logs(filesystem, A).close()

    assert b"directory.id=" in filesystem.open("/a/meta.properties").read_at(0, 999)


def test_a_directory_of_another_node_is_refused_and_left_as_it_is(filesystem):
    open_logs(filesystem, A).close()
    filesystem.make_directory(B)
    foreign = b"version=1\nnode.id=7\ncluster.id=other\n"
    filesystem.open("/b/meta.properties", create=True).write_at(0, [foreign])

    with pytest.raises(StorageError, match="/b belongs to node 7, not 0"):
        open_logs(filesystem, A, B)

    assert filesystem.open("/b/meta.properties").read_at(0, 999) == foreign


@pytest.mark.parametrize("damaged", ["/b/meta.properties", "/a/recovery-point-offset-checkpoint"])
def test_a_refused_start_leaves_the_other_directories_as_clean_as_they_were(filesystem, damaged):
    open_logs(filesystem, A, B).close()
    file = filesystem.open(damaged, create=True)
    kept = file.read_at(0, 999)
    file.write_at(0, [b"x" * 200])
    with pytest.raises(StorageError):
        open_logs(filesystem, A, B)
    file.truncate(0)
    file.write_at(0, [kept])

    assert open_logs(filesystem, A, B).was_shut_down_cleanly


def test_a_log_in_two_directories_is_refused_with_what_to_do(filesystem):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders")
    append(logs.get(ORDERS), b"0")
    logs.close()
    filesystem.make_directory("/b/orders-0")
    filesystem.open(f"/b/orders-0/{0:020d}.log", create=True).write_at(0, [b"copied"])

    with pytest.raises(StorageError, match=r"/a and /b both have a log of orders-0.*Remove one"):
        open_logs(filesystem, A, B)
    open_logs(filesystem, B)


def test_a_foreign_directory_is_named_and_left_alone(filesystem, caplog):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    filesystem.make_directory("/b/lost+found")
    filesystem.open("/b/notes", create=True)

    logs.set_strays_aside(lambda *_: True)

    assert [each.message for each in caplog.records] == [
        "/b/lost+found is no log and is not used; Apache Kafka would not start"
    ]
    assert filesystem.is_directory("/b/lost+found")


def test_a_directory_named_twice_is_refused(filesystem):
    with pytest.raises(StorageError, match="named twice"):
        open_logs(filesystem, A, B, A)


def test_the_metadata_log_is_not_begun_anew_in_an_empty_directory(filesystem):
    open_logs(filesystem, A, B).close()

    with pytest.raises(StorageError, match=r"/c.* is empty: restore it, or name .*metadata\.log"):
        open_logs(filesystem, B, metadata=C)
    assert not filesystem.exists("/c/meta.properties")


def test_the_metadata_log_in_another_directory_is_named(filesystem):
    logs = open_logs(filesystem, A, B)
    logs.open_metadata_log(METADATA, log_config(), ONE)
    logs.close()

    logs = open_logs(filesystem, A, B, metadata=B)

    with pytest.raises(StorageError, match=r"/a has the metadata log, but .* is /b"):
        logs.open_metadata_log(METADATA, log_config(), ONE)


def test_a_directory_of_the_metadata_log_alone_gets_no_other_logs(filesystem):
    logs = open_logs(filesystem, A, B, metadata=C)
    logs.open_metadata_log(METADATA, log_config(), ONE)
    create(logs, "orders", 2)

    assert filesystem.exists("/c/__cluster_metadata-0")
    assert {home(logs, TopicPartition("orders", n)) for n in range(2)} == {A, B}
    assert len(logs.homes.directory_ids) == 2


@pytest.mark.parametrize("broken", ["/b/meta.properties", "/b/recovery-point-offset-checkpoint"])
def test_a_directory_that_cannot_be_read_at_the_start_is_offline(filesystem, caplog, broken):
    open_logs(filesystem, A, B).close()
    filesystem.open(broken, create=True)
    faulty = FaultyFileSystem(filesystem)
    fault = faulty.on("open", broken).fail(errno.EIO)

    logs = open_logs(faulty, A, B)
    create(logs, "orders", 2)

    assert list(logs.failures) == [B]
    assert "Data directory /b is offline until the broker is restarted" in caplog.text
    assert {home(logs, TopicPartition("orders", n)) for n in range(2)} == {A}
    logs.close()
    fault.heal()
    logs = open_logs(filesystem, A, B)
    assert logs.failures == {}


@pytest.mark.parametrize("name", ["recovery-point", "log-start", "replication", "cleaner"])
def test_a_directory_with_a_damaged_checkpoint_is_offline(filesystem, caplog, name):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    append(logs.get(TopicPartition("orders", 1)), b"0")
    logs.close()
    checkpoint = f"{B}/{name}-offset-checkpoint"
    content = filesystem.open(checkpoint, create=True).read_at(0, 100)
    filesystem.open(checkpoint).write_at(0, [b"damaged"])

    logs = open_logs(filesystem, A, B)

    assert list(logs.failures) == [B]
    assert home(logs, TopicPartition("orders", 0)) == A
    assert f"{checkpoint} is damaged" in caplog.text
    assert "restore it or remove it" in caplog.text
    logs.close()

    filesystem.open(checkpoint).truncate(0)
    filesystem.open(checkpoint).write_at(0, [content])
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    assert values(logs.get(TopicPartition("orders", 1))) == [b"0"]


def test_a_full_disk_does_not_refuse_a_start_without_a_directory_of_a_damaged_checkpoint(
    filesystem,
):
    open_logs(filesystem, A, B).close()
    filesystem.open(f"{B}/cleaner-offset-checkpoint", create=True).write_at(0, [b"damaged"])
    faulty = FaultyFileSystem(filesystem)
    faulty.on("any", f"{B}/.kafka_cleanshutdown.tmp").fail(errno.ENOSPC)

    logs = open_logs(faulty, A, B)

    assert list(logs.failures) == [B]
    logs.close()
    filesystem.remove(f"{B}/cleaner-offset-checkpoint")
    assert not open_logs(filesystem, A, B).was_shut_down_cleanly


def test_a_start_is_refused_where_a_checkpoint_beside_the_metadata_log_is_damaged(filesystem):
    open_logs(filesystem, A, B).close()
    filesystem.open(f"{A}/cleaner-offset-checkpoint", create=True).write_at(0, [b"damaged"])

    with pytest.raises(StorageError, match="/a/cleaner-offset-checkpoint is damaged"):
        open_logs(filesystem, A, B)

    filesystem.remove(f"{A}/cleaner-offset-checkpoint")
    open_logs(filesystem, A, B)


def test_a_start_is_refused_where_the_only_directory_for_logs_has_a_damaged_checkpoint(filesystem):
    open_logs(filesystem, B, metadata=A).close()
    filesystem.open(f"{B}/cleaner-offset-checkpoint", create=True).write_at(0, [b"damaged"])

    with pytest.raises(StorageError, match=r"none of the data directories can be used.*damaged"):
        open_logs(filesystem, B, metadata=A)


def test_a_start_without_the_directory_of_the_metadata_log_is_refused(filesystem):
    open_logs(filesystem, A, B).close()
    faulty = FaultyFileSystem(filesystem)
    faulty.fail(A)

    with pytest.raises(StorageError, match="cannot use data directory /a"):
        open_logs(faulty, A, B)
    open_logs(filesystem, A, B).close()


def test_a_start_without_any_directory_for_logs_is_refused(filesystem):
    open_logs(filesystem, A, B, metadata=C).close()
    faulty = FaultyFileSystem(filesystem)
    faulty.fail(A)
    faulty.fail(B)

    with pytest.raises(StorageError, match=r"none of the data directories .*/a.*/b"):
        open_logs(faulty, A, B, metadata=C)
    open_logs(filesystem, A, B, metadata=C).close()
