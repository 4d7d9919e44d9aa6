"""The repr of clients, and the end of clients and programs without close or without a broker."""

from __future__ import annotations

import subprocess
import sys
import time

from pyk.clients import (
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    Consumer,
    Producer,
)
from pyk.reference_broker import Cluster
from support.reading import read_topic
from support.real_time import IN_TIME


def test_the_repr_of_a_client_has_its_type_client_id_and_servers() -> None:
    for kind in (Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer):
        shown = repr(kind("one:9092,[::1]:9093", client_id="till"))
        assert shown == f"<{kind.__name__} 'till' at one:9092,[::1]:9093>"

    with Cluster() as cluster:
        assert repr(cluster) == f"<Cluster at {cluster.bootstrap}>"


def test_the_docstring_of_send_mentions_max_block_ms() -> None:
    assert "max_block_ms" in (Producer.send.__doc__ or "")
    assert "max_block_ms" in (AsyncProducer.send.__doc__ or "")


def test_close_does_not_wait_for_the_end_of_an_outage_to_leave_the_group() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders")
        consumer = Consumer(
            cluster.bootstrap,
            topics=["orders"],
            group_id="leaving",
            enable_auto_commit=False,
            heartbeat_interval_ms=50,
        )
        while not consumer.assignment():
            consumer.poll(timeout=0.1)
        cluster.kill(0)
        consumer.poll(timeout=0.5)  # now it searches for a coordinator
        began = time.monotonic()

        consumer.close()

        assert time.monotonic() - began < IN_TIME


FORGETFUL = """
import sys
from pyk.clients import Producer

producer = Producer(sys.argv[1], linger_ms=60_000)
producer.send("forgotten", b"to close")
"""


def test_records_are_delivered_when_a_program_exits_without_closing() -> None:
    with Cluster() as cluster:
        command = [sys.executable, "-c", FORGETFUL, cluster.bootstrap]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)

        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        assert read_values(cluster, "forgotten") == [b"to close"]


BEREFT = """
import sys
from pyk.clients import Producer

producer = Producer(sys.argv[1])
producer.send_and_wait("forgotten", b"delivered")
print("delivered", flush=True)
sys.stdin.readline()
producer.send("forgotten", b"too late")
"""


def test_a_program_exits_and_reports_undelivered_records_when_its_broker_is_down() -> None:
    with Cluster() as cluster:
        command = [sys.executable, "-c", BEREFT, cluster.bootstrap]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "delivered\n"
            cluster.kill(0)

            _, said = program.communicate("go on\n", timeout=20)

    assert program.returncode == 0
    assert "1 record for partition 0 of topic 'forgotten' not delivered" in said
    assert "cannot schedule new futures" not in said
    assert "Traceback" not in said


TOO_LATE = """
import sys
from pyk.clients import Admin, AsyncConsumer, ClosedError, Consumer, Producer, ShareConsumer

class Service:  # a module global, so its finalizer runs while the interpreter shuts down
    def __init__(self):
        bootstrap = sys.argv[1]
        reading = {"topics": ["orders"], "group_id": "late"}
        self.used = Consumer(bootstrap, auto_offset_reset="earliest", **reading)
        assert self.used.poll(timeout=10)
        self.sharing = ShareConsumer(bootstrap, topics=["orders"], group_id="sharing")
        assert not self.sharing.poll(timeout=0)
        self.admin = Admin(bootstrap)
        self.admin.list_topics()
        unused = [Consumer(bootstrap, **reading), ShareConsumer(bootstrap, **reading)]
        producer = Producer(bootstrap)
        self.calls = [
            self.used.commit,
            self.admin.list_topics,
            unused[0].poll,
            unused[1].poll,
            lambda: producer.send("orders", b"late"),
            lambda: self.used.poll(timeout=None),
            lambda: next(self.used),
            lambda: self.sharing.poll(timeout=None),
            # These import something, which is too late as well.
            lambda: producer.send_batch("orders", [b"late"]),
            lambda: self.admin.create_topics(["late"]),
            lambda: unused[0].process(print),
            lambda: unused[1].process(print),
            lambda: Producer(bootstrap, transactional_id="late"),
            lambda: AsyncConsumer(bootstrap, **reading),
            lambda: Admin.from_properties({"bootstrap.servers": bootstrap}),
        ]

    def __del__(self):
        for call in self.calls:
            try:
                call()
            except ClosedError as error:
                print(error)
        self.used.close()
        self.admin.close()
        print("closed")

service = Service()
service.itself = service
"""


def test_clients_in_a_finalizer_at_the_end_of_a_program_raise_and_close_without_waiting() -> None:
    with Cluster() as cluster:
        cluster.seed({"orders": ["one"]})
        command = [sys.executable, "-c", TOO_LATE, cluster.bootstrap]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)

    *refused, closed = ended.stdout.splitlines()
    assert (closed, ended.stderr) == ("closed", "")
    assert len(refused) == 15
    for line in refused[:12]:
        assert " cannot be used while the interpreter shuts down: " in line
    for line in refused[12:]:
        assert "a client cannot be created while the interpreter shuts down: " in line


def read_values(cluster: Cluster, topic: str) -> list[bytes]:
    return [record.value for record in read_topic(cluster.bootstrap, topic)[0]]
