"""Passwords and records of share consumers show in no log, error or repr."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    AcknowledgeType,
    Admin,
    AlterConfig,
    AuthenticationError,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    Producer,
    ShareConsumer,
)
from pyk.reference_broker import Cluster

PASSWORD = "k4n4rienv0gel-password"
PAYLOAD = "k4n4rienv0gel-payload"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with Cluster(sasl={"alice": PASSWORD}) as cluster:
        options = cluster.client_options(user="alice")
        group = ConfigResource(ConfigResourceType.GROUP, "g")
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        with Admin(**options) as admin:
            admin.create_topics([NewTopic("orders", partitions=1)])
            admin.incremental_alter_configs({group: [earliest]})
        with Producer(**options) as producer:
            for _ in range(4):
                producer.send("orders", PAYLOAD.encode(), PAYLOAD.encode())
        yield cluster


def share_consumer(cluster: Any, **more: Any) -> ShareConsumer[Any, Any]:
    options = {**cluster.client_options(user="alice"), **more}
    return ShareConsumer(**options, topics=["orders"], group_id="g")


def shown_by(consumer: ShareConsumer[Any, Any]) -> list[str]:
    core = consumer._core
    parts = (consumer, core, core.client, core.group, core.fetcher, core.commits)
    states = [f"{part!r} {vars(part)!r}" for part in parts if hasattr(part, "__dict__")]
    return [*states, repr(consumer.health()), repr(consumer.stats()), repr(core.config)]


def assert_hidden(texts: list[str], caplog: pytest.LogCaptureFixture) -> None:
    logged = [record.getMessage() for record in caplog.records]
    assert logged
    for text in (*texts, *logged, caplog.text):
        assert PASSWORD not in text
        assert PAYLOAD not in text


def test_a_working_consumer_shows_no_secret(cluster: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    with share_consumer(cluster, share_acknowledgement_mode="explicit") as consumer:
        records = consumer.poll(20, max_records=3)
        for record, kind in zip(records, list(AcknowledgeType)[:3], strict=True):
            consumer.acknowledge(record, kind)
        consumer.commit()
        shown = shown_by(consumer)

    assert_hidden(shown, caplog)


def test_a_handler_that_fails_shows_no_record(
    cluster: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    with share_consumer(cluster) as consumer:

        def fail(record: object) -> None:
            consumer.wakeup()
            raise ValueError("not now")

        consumer.process(fail)
        shown = shown_by(consumer)

    assert "A handler failed" in caplog.text
    assert_hidden(shown, caplog)


def test_a_refused_login_shows_no_secret(cluster: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    consumer = share_consumer(cluster, sasl_password=PASSWORD + "-wrong")

    with pytest.raises(AuthenticationError) as refusal:
        consumer.start()

    told = traceback.TracebackException.from_exception(refusal.value, capture_locals=True)
    shown = [*shown_by(consumer), repr(refusal.value), "".join(told.format())]
    consumer.close()
    assert_hidden(shown, caplog)
