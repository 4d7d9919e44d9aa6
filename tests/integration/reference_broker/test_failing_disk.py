"""A disk that fails under a cluster of a blocking test."""

from __future__ import annotations

import errno

import pytest

from pyk.clients import KafkaError, Producer
from pyk.reference_broker import Cluster
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem


def test_a_full_disk_refuses_records_and_keeps_those_before() -> None:
    disk = FaultyFileSystem(MemoryFileSystem())
    options = {"delivery_timeout_ms": 1000, "request_timeout_ms": 500, "linger_ms": 0}
    with Cluster(filesystem=disk) as cluster:
        with Producer(cluster.bootstrap, **options) as producer:
            producer.send_and_wait("orders", b"before")
            disk.on("write", "*/orders-0/*.log").fail(errno.ENOSPC)

            with pytest.raises(KafkaError):
                producer.send_and_wait("orders", b"too much")
        disk.heal()
        cluster.kill()
        cluster.start()

        assert [record.value for record in cluster.records("orders")] == [b"before"]
