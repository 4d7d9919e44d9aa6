"""Brokers with three log directories, one of which breaks, give the same answers."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    Consumer,
    LogDirDescription,
    NewTopic,
    PartitionDescription,
    Producer,
    TopicPartition,
    TopicPartitionReplica,
)
from pyk.clients.errors import (
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaStorageError,
    LogDirNotFoundError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.raw_client import RawClient
from support.real_time import eventually

NAMES = ("a", "b", "c")
STORAGE_ERROR, UNKNOWN, NOT_FOUND, INVALID_ASSIGNMENT = 56, 3, 57, 39
# So that a directory that is gone is noticed soon.
CONFIG = {"replica.high.watermark.checkpoint.interval.ms": "200"}


class Broker(Protocol):
    bootstrap: str
    folder: Path

    def restart(self) -> None: ...


def config_of(folder: Path) -> dict[str, str]:
    return {**CONFIG, "log.dirs": ",".join(str(folder / name) for name in NAMES)}


class Reference:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        config = config_of(folder)
        self._cluster = Cluster(config={**config, "log.initial.task.delay.ms": "0"})

    def __enter__(self) -> Reference:
        self._cluster.open()
        self.bootstrap = self._cluster.bootstrap
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.close()

    def restart(self) -> None:
        self._cluster.stop()
        self._cluster.start()


class Apache:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kafka = ApacheKafka(config=config_of(folder))

    def __enter__(self) -> Apache:
        self._kafka.__enter__()
        self.bootstrap = self._kafka.bootstrap
        return self

    def __exit__(self, *_: object) -> None:
        self._kafka.__exit__()

    def restart(self) -> None:
        self.shut_down()
        self.start()

    def shut_down(self) -> None:
        self._kafka.shut_down()

    def start(self) -> None:
        self._kafka.start()


@pytest.fixture(params=["reference", pytest.param("apache", marks=pytest.mark.conformance)])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    if request.param == "reference":
        with Reference(tmp_path) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with Apache(tmp_path) as apache:
        yield apache


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap) as admin:
        yield admin


def replica(number: int, topic: str = "orders") -> TopicPartitionReplica:
    return TopicPartitionReplica(topic, number, 0)


def directories(admin: Admin) -> dict[str, LogDirDescription]:
    """Return the directories by the last part of their paths."""
    return {Path(path).name: each for path, each in admin.describe_log_dirs([0])[0].items()}


def path_of(admin: Admin, number: int) -> str:
    path = admin.describe_replica_log_dirs([replica(number)])[replica(number)].path
    assert path is not None
    return path


def partitions(admin: Admin, topic: str = "orders") -> tuple[PartitionDescription, ...]:
    return tuple(admin.describe_topics([topic])[topic].partitions)


def counts(admin: Admin) -> list[int]:
    """Return how many partitions of the topics of this test each directory has."""
    return sorted(
        sum(not place.topic.startswith("__") for place in each.replicas)
        for each in directories(admin).values()
    )


def numbers_of(admin: Admin, topic: str, *names: str) -> set[int]:
    """Return which partitions of a topic are in some directories, by default in any."""
    return {
        place.partition
        for name, each in directories(admin).items()
        for place in each.replicas
        if place.topic == topic and name in (names or NAMES)
    }


def another_path(broker: Broker, path: str, names: str = "abc") -> str:
    """Return the path of another directory."""
    return next(other for name in names if (other := str(broker.folder / name)) != path)


def create(admin: Admin, topic: str = "orders", count: int = 6) -> None:
    """Create a topic, and wait until its partitions are there."""
    admin.create_topics([NewTopic(topic, partitions=count, replication_factor=1)])
    eventually(lambda: len(numbers_of(admin, topic)) == count)


def fill(broker: Broker, count: int = 20) -> None:
    with Producer(broker.bootstrap) as producer:
        for number in range(count):
            producer.send("orders", b"%d" % number, partition=0)


def values(broker: Broker) -> list[bytes]:
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        place = TopicPartition("orders", 0)
        consumer.assign([place])
        found: list[bytes] = []
        end = consumer.end_offsets([place])[place]
        while len(found) < end:
            found += [each.value for each in consumer.poll(1.0) if each.value is not None]
        return found


def move_code(broker: Broker, path: str, topic: str, number: int) -> int:
    """Return the error code of AlterReplicaLogDirs, as the broker answers it once."""
    asked = AlterReplicaLogDirTopic(name=topic, partitions=[number])
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[asked])])

    async def ask() -> int:
        async with RawClient(broker.bootstrap) as client:
            client.send(request)
            code: int = (await client.receive()).results[0].partitions[0].error_code
            return code

    return asyncio.run(ask())


def test_new_partitions_are_spread_over_the_directories(admin: Admin) -> None:
    create(admin)

    assert sorted(directories(admin)) == list(NAMES)
    assert counts(admin) == [2, 2, 2]


def test_a_replica_moves_with_its_records_and_stays_there(broker: Broker, admin: Admin) -> None:
    create(admin)
    fill(broker)
    epochs = [each.leader_epoch for each in partitions(admin)]
    target = another_path(broker, path_of(admin, 0))

    admin.alter_replica_log_dirs({replica(0): target})
    eventually(lambda: path_of(admin, 0) == target)

    assert admin.describe_replica_log_dirs([replica(0)])[replica(0)].future_path is None
    assert [each.leader_epoch for each in partitions(admin)] == epochs
    assert values(broker) == [b"%d" % number for number in range(20)]
    broker.restart()
    assert path_of(admin, 0) == target
    assert values(broker) == [b"%d" % number for number in range(20)]


def test_moves_of_what_does_not_exist_are_refused(broker: Broker, admin: Admin) -> None:
    create(admin)
    path = str(broker.folder / "c")

    with pytest.raises(LogDirNotFoundError):
        admin.alter_replica_log_dirs({replica(0): path + "/"})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.alter_replica_log_dirs({replica(0, "later"): path})
    create(admin, "later", 1)

    assert TopicPartition("later", 0) in directories(admin)["c"].replicas


def test_a_directory_that_breaks_takes_its_partitions_offline(broker: Broker, admin: Admin) -> None:
    create(admin)
    fill(broker)
    lost = numbers_of(admin, "orders", "c")
    kept = next(number for number in range(6) if number not in lost)
    path, other = path_of(admin, kept), path_of(admin, next(iter(lost)))
    shutil.rmtree(broker.folder / "c")
    (broker.folder / "c").write_bytes(b"")

    eventually(lambda: directories(admin)["c"].error is not None)
    eventually(lambda: all(partitions(admin)[number].leader_id is None for number in lost))

    check_offline(broker, admin, lost)
    for number, partition in enumerate(partitions(admin)):
        expected = (0,) if number in lost else ()
        assert partition.eligible_leader_replicas == expected
        assert partition.last_known_eligible_leader_replicas == expected
    elsewhere = another_path(broker, path, "ab")
    with pytest.raises(KafkaStorageError):  # and at once
        admin.alter_replica_log_dirs({replica(kept): other})
    assert move_code(broker, other, "orders", kept) == STORAGE_ERROR
    assert move_code(broker, elsewhere, "orders", kept) == STORAGE_ERROR
    assert move_code(broker, elsewhere, "orders", next(iter(lost))) == STORAGE_ERROR
    assert move_code(broker, elsewhere, "unknown", 0) == UNKNOWN
    assert move_code(broker, "/nowhere", "orders", kept) == NOT_FOUND
    create(admin, "later", 4)
    assert [each.leader_id for each in partitions(admin, "later")] == [0] * 4
    with Producer(broker.bootstrap) as producer:
        producer.send_and_wait("orders", b"x", partition=kept)

    broker.restart()
    check_offline(broker, admin, lost)


def check_offline(broker: Broker, admin: Admin, lost: set[int]) -> None:
    found = directories(admin)
    assert isinstance(found["c"].error, KafkaStorageError)
    assert dict(found["c"].replicas) == {}
    assert found["a"].error is found["b"].error is None
    for number, partition in enumerate(partitions(admin)):
        is_lost = number in lost
        assert partition.leader_id == (None if is_lost else 0)
        assert partition.offline_replicas == ((0,) if is_lost else ())
        assert partition.in_sync_replicas == (() if is_lost else (0,))
        assert partition.replicas == (0,)


@pytest.mark.conformance
@pytest.mark.skipif(bool(apache_kafka.missing()), reason=str(apache_kafka.missing()))
def test_apache_kafka_and_the_reference_broker_share_three_directories_in_turn(
    tmp_path: Path,
) -> None:
    with Apache(tmp_path) as apache:
        with Admin(apache.bootstrap) as admin:
            create(admin)
            before = directories(admin)
        fill(apache)
        apache.shut_down()

        with Reference(tmp_path) as reference, Admin(reference.bootstrap) as admin:
            assert {name: set(numbers_of(admin, "orders", name)) for name in NAMES} == {
                name: {place.partition for place in each.replicas if place.topic == "orders"}
                for name, each in before.items()
            }
            target = another_path(reference, path_of(admin, 0))
            admin.alter_replica_log_dirs({replica(0): target})
            eventually(lambda: path_of(admin, 0) == target)
            create(admin, "later", 3)
            fill(reference)

        apache.start()
        with Admin(apache.bootstrap) as admin:
            eventually(lambda: [each.leader_id for each in partitions(admin)] == [0] * 6)
            assert path_of(admin, 0) == target
            assert [each.leader_id for each in partitions(admin, "later")] == [0] * 3
        assert values(apache) == [b"%d" % number for number in range(20)] * 2


def test_a_cordoned_directory_takes_no_new_partitions(broker: Broker, admin: Admin) -> None:
    create(admin)
    inside = path_of(admin, 0)
    cordoned = another_path(broker, inside)

    cordon(admin, cordoned)
    eventually(lambda: directories(admin)[Path(cordoned).name].is_cordoned)
    create(admin, "later", 4)

    assert numbers_of(admin, "later", Path(cordoned).name) == set()
    assert move_code(broker, cordoned, "orders", 0) == INVALID_ASSIGNMENT
    cordon(admin, "*")
    eventually(lambda: all(each.is_cordoned for each in directories(admin).values()))
    with pytest.raises(InvalidReplicationFactorError, match="log directories cordoned"):
        admin.create_topics([NewTopic("nowhere", partitions=1, replication_factor=1)])
    with pytest.raises(InvalidReplicationFactorError, match="log directories cordoned"):
        admin.create_partitions({"orders": 7})
    create_by_hand(admin, "given")
    broker.restart()
    assert all(each.is_cordoned for each in directories(admin).values())
    cordon(admin, "")
    eventually(lambda: not any(each.is_cordoned for each in directories(admin).values()))
    create(admin, "again", 3)


def test_only_log_directories_can_be_cordoned(broker: Broker, admin: Admin) -> None:
    with pytest.raises(InvalidRequestError, match=r"must be present in log\.dirs .*: /nowhere"):
        cordon(admin, "/nowhere")
    with pytest.raises(InvalidRequestError, match="must not contain other values"):
        cordon(admin, f"{broker.folder / 'a'},*")
    with pytest.raises(InvalidRequestError, match="broker id must be specified"):
        cordon(admin, "", broker="")


def cordon(admin: Admin, paths: str, broker: str = "0") -> None:
    resource = ConfigResource(ConfigResourceType.BROKER, broker)
    admin.incremental_alter_configs({resource: [AlterConfig("cordoned.log.dirs", paths)]})


def create_by_hand(admin: Admin, topic: str) -> None:
    """Create a topic whose replica is assigned by the administrator, and wait for it."""
    admin.create_topics([NewTopic(topic, assignments={0: [0]})])
    eventually(lambda: numbers_of(admin, topic) == {0})
