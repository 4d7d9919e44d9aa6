"""Seed, read and expect records from code that blocks."""

from __future__ import annotations

import pytest

from pyk.clients import Producer
from pyk.reference_broker import Cluster


def test_a_blocking_test_seeds_reads_and_expects_records() -> None:
    with Cluster() as cluster, Producer(cluster.bootstrap) as producer:
        cluster.seed({"orders": [b"first"]})
        producer.send("orders", b"second")

        cluster.expect("orders", b"first", b"second")

        assert [record.value for record in cluster.records("orders")] == [b"first", b"second"]
        with pytest.raises(AssertionError, match="1 of 2 missing"):
            cluster.expect("orders", b"second", b"first", timeout=0)
