"""Consume a filled topic as the only member of a new share group: every record is acknowledged.

With implicit acknowledgement the next poll accepts a poll's records, with explicit acknowledgement
a call accepts each. The group begins at the start of the topic, and reads all of its partitions.
"""

from __future__ import annotations

import os
from typing import Any

POLL = 500


def _new_group(run: Any) -> str:
    from pyk.clients import Admin, AlterConfig, ConfigResource, ConfigResourceType

    group = f"benchmark-{os.getpid()}"
    resource = ConfigResource(ConfigResourceType.GROUP, group)
    with Admin(run.bootstrap) as admin:
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        admin.incremental_alter_configs({resource: [earliest]})
    return group


def _pyk(run: Any, mode: str) -> None:
    from pyk.clients import ShareConsumer

    options: Any = {"group_id": _new_group(run), "share_acknowledgement_mode": mode}
    is_explicit = mode == "explicit"
    with ShareConsumer(run.bootstrap, topics=[run.topic], **options) as consumer:
        read = 0
        while read < run.records:
            records = consumer.poll(10, POLL)
            if not read and records:
                run.first(len(records))
            for record in records:
                record.value
                if is_explicit:
                    consumer.acknowledge(record)
            read += len(records)
        consumer.commit()
        run.done(read)


def _confluent(run: Any, mode: str) -> None:
    from confluent_kafka import ShareConsumer

    consumer = ShareConsumer(
        {
            "bootstrap.servers": run.bootstrap,
            "group.id": _new_group(run),
            "share.acknowledgement.mode": mode,
        }
    )
    consumer.subscribe([run.topic])
    is_explicit = mode == "explicit"
    read = 0
    while read < run.records:
        messages = consumer.poll(10)
        if not read and messages:
            run.first(len(messages))
        for message in messages:
            message.value()
            if is_explicit:
                consumer.acknowledge(message)
        read += len(messages)
    consumer.commit_sync(60)
    run.done(read)
    consumer.close()


CASES = {
    "pyk share poll": lambda run: _pyk(run, "implicit"),
    "pyk share acknowledge": lambda run: _pyk(run, "explicit"),
    "confluent share poll": lambda run: _confluent(run, "implicit"),
    "confluent share acknowledge": lambda run: _confluent(run, "explicit"),
}
