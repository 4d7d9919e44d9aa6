"""An application of Kafka Streams runs on the brokers, while its instances come and are killed."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from pyk.clients import Admin, Consumer, NewTopic, Producer, StreamsGroupDescription
from support import apache_kafka
from support.brokers import Kafka, RealKafka, ReferenceBroker
from support.real_time import eventually

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("_apache_kafka_can_run")]

SOURCE = Path(apache_kafka.__file__).with_name("WordCount.java")
CONFIG = {
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "3000",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.num.standby.replicas": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
APPLICATION, TEXTS, COUNTS = "counting", "texts", "counts"
WORDS = 7
TASKS = 8
"""Four partitions of two subtopologies."""

Start = Callable[[], "Instance"]


class Instance:
    """A process of the application, with one thread."""

    def __init__(self, kafka: Kafka, classes: Path, folder: Path) -> None:
        (port,) = apache_kafka.free_ports(1)
        self.endpoint = f"127.0.0.1:{port}"
        self._log = folder.with_suffix(".txt")
        class_path = f"{apache_kafka.fetch()}/*:{apache_kafka.fetch_streams()}:{classes}"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [
                    *("java", "-Xmx256m", *apache_kafka.QUICK_START, "-cp", class_path),
                    *("WordCount", kafka.bootstrap, APPLICATION, TEXTS, COUNTS, folder, str(port)),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def states(self) -> list[str]:
        return [line for line in self._log.read_text().splitlines() if line.isupper()]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture(params=["reference", "apache"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kafka]:
    """A broker that gives up members of streams groups after three seconds."""
    kafka: ReferenceBroker | RealKafka = (
        ReferenceBroker(tmp_path / "broker", CONFIG)
        if request.param == "reference"
        else RealKafka(config=CONFIG)
    )
    with kafka:
        yield kafka


@pytest.fixture
def start(broker: Kafka, tmp_path: Path) -> Iterator[Start]:
    """Start an instance of the application; all that still run are killed at the end."""
    classes = tmp_path / "classes"
    classes.mkdir()
    apache_kafka.compile_java(SOURCE, classes, apache_kafka.fetch_streams())
    numbers = itertools.count()
    with contextlib.ExitStack() as running:

        def begin() -> Instance:
            instance = Instance(broker, classes, tmp_path / f"instance-{next(numbers)}")
            running.callback(instance.kill)
            return instance

        yield begin


def produce(broker: Kafka, numbers: range) -> None:
    """Produce texts of two words: one of a few, and one that is in all of them."""
    with Producer(broker.bootstrap) as producer:
        for number in numbers:
            producer.send(TEXTS, f"word{number % WORDS} all".encode(), key=str(number).encode())


def counted(broker: Kafka) -> dict[str, list[int]]:
    """Return all counts of each word that are committed, in their order."""
    found: dict[str, list[int]] = {}
    with Consumer(
        broker.bootstrap,
        topics=[COUNTS],
        group_id="reader",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        while records := consumer.poll(2.0):
            for record in records:
                assert record.key is not None
                assert record.value is not None
                found.setdefault(record.key.decode(), []).append(int(record.value))
    return found


def expected(texts: int) -> dict[str, list[int]]:
    """Return what exactly one count of each word gives."""
    words = {f"word{number}": len(range(number, texts, WORDS)) for number in range(WORDS)}
    return {word: list(range(1, count + 1)) for word, count in (words | {"all": texts}).items()}


@attrs.frozen
class Group:
    """The group of the application, as administrators see it."""

    admin: Admin

    def described(self) -> StreamsGroupDescription:
        return self.admin.describe_streams_groups([APPLICATION])[APPLICATION]

    def is_shared(self, *instances: Instance) -> bool:
        """Return whether these instances have all tasks, equally many, and nobody moves them."""
        group = self.described()
        active = {
            member.user_endpoint: sum(map(len, member.assignment.active_tasks.values()))
            for member in group.members
        }
        each = TASKS // len(instances)
        return group.state == "Stable" and active == {one.endpoint: each for one in instances}

    def standby_tasks(self) -> list[int]:
        """Return the standby tasks of all members, which are all of the same subtopology."""
        members = self.described().members
        return sorted(
            number
            for member in members
            for numbers in member.assignment.standby_tasks.values()
            for number in numbers
        )


@pytest.fixture
def group(broker: Kafka) -> Iterator[Group]:
    """The group, once the topics of the application exist."""
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(TEXTS, 4), NewTopic(COUNTS, 1)])
        yield Group(admin)


def test_words_are_counted_once_while_instances_come_and_are_killed(
    broker: Kafka, start: Start, group: Group
) -> None:
    first = start()
    produce(broker, range(100))
    eventually(lambda: counted(broker) == expected(100), 60)
    assert group.is_shared(first)
    internal = {f"{APPLICATION}-words-repartition", f"{APPLICATION}-counts-changelog"}
    assert set(group.admin.list_topics()) >= internal

    second = start()
    eventually(lambda: group.is_shared(first, second), 60)
    assert group.standby_tasks() == [0, 1, 2, 3]

    produce(broker, range(100, 200))
    first.kill()
    produce(broker, range(200, 250))
    eventually(lambda: group.is_shared(second), 60)
    eventually(lambda: counted(broker) == expected(250), 60)

    third = start()
    eventually(lambda: group.is_shared(second, third), 60)
    second.stop()
    produce(broker, range(250, 300))
    eventually(lambda: group.is_shared(third), 60)
    eventually(lambda: counted(broker) == expected(300), 60)
    assert second.states[-1] == "NOT_RUNNING"

    third.stop()
    eventually(lambda: group.described().state == "Empty", 30)
    group.admin.delete_streams_groups([APPLICATION])
