"""What clients say of themselves, and how they end where nobody answers any more."""

from __future__ import annotations

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


def test_a_client_shown_says_which_it_is_and_whose() -> None:
    for kind in (Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer):
        shown = repr(kind("one:9092,[::1]:9093", client_id="till"))
        assert shown == f"<{kind.__name__} 'till' at one:9092,[::1]:9093>"

    with Cluster() as cluster:
        assert repr(cluster) == f"<Cluster at {cluster.bootstrap}>"


def test_send_explains_itself() -> None:
    assert "max_block_ms" in (Producer.send.__doc__ or "")
    assert "max_block_ms" in (AsyncProducer.send.__doc__ or "")


def test_a_member_does_not_wait_out_an_outage_to_leave_its_group() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders")
        consumer = Consumer(
            cluster.bootstrap, topics=["orders"], group_id="leaving", enable_auto_commit=False
        )
        while not consumer.assignment():
            consumer.poll(timeout=0.1)
        cluster.kill(0)
        began = time.monotonic()

        consumer.close()

        assert time.monotonic() - began < 10
