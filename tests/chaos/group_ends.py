"""The end of a run for groups and share groups: wait for them, and check what they did."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Self

import attrs

from pyk.clients import (
    Admin,
    AlterConfig,
    AsyncConsumer,
    ConfigResource,
    ConfigResourceType,
    OffsetSpec,
    TopicPartition,
)
from pyk.clients.errors import KafkaError
from pyk.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from pyk.protocol.persisted import decode_coordinator_key, decode_coordinator_value
from support.recorded_clients import partition_name
from support.recorded_groups import PARTITIONS

from .deliveries import Note, Place, ShareAudit, commits_that_went_back, two_owners, unhandled
from .group_roles import PROTOCOLS, SHARE_GROUP

SECONDS_TO_CATCH_UP = 240
DELIVERY_LIMIT = 5
"""Kafka's default of ``group.share.delivery.count.limit``."""
OFFSETS_TOPIC = "__consumer_offsets"


def begin_at_the_start(admin: Admin) -> None:
    """Let the share group read what was written before it came."""
    group = ConfigResource(ConfigResourceType.GROUP, SHARE_GROUP)
    admin.incremental_alter_configs({group: [AlterConfig("share.auto.offset.reset", "earliest")]})


def wait_for_groups(bootstrap: str, replace_ended: Callable[[], object]) -> list[str]:
    """Wait until all groups have finished all records; return which have not, and where."""
    deadline = time.monotonic() + SECONDS_TO_CATCH_UP
    with Admin(bootstrap) as admin:
        while (behind := _behind(admin)) and time.monotonic() < deadline:
            replace_ended()
            time.sleep(1.0)
    return behind


def _behind(admin: Admin) -> list[str]:
    try:
        found = admin.list_offsets(dict.fromkeys(PARTITIONS, OffsetSpec.LATEST))
        ends = {each: end.offset for each, end in found.items() if end is not None}
        reached = {group: _committed(admin, group) for group in PROTOCOLS}
        shared = admin.list_share_group_offsets(SHARE_GROUP, PARTITIONS)
    except KafkaError as error:
        return [f"nobody knows how far groups are: {error}"]
    # The start offset that is stored lags behind: it counts with the next acknowledgement.
    reached[SHARE_GROUP] = {
        each: end if (offset := shared.get(each)) is not None and offset.lag == 0 else 0
        for each, end in ends.items()
    }
    return [
        f"{group} stopped at {offsets.get(each, 0)} of {end} in {partition_name(each)}"
        for group, offsets in reached.items()
        for each, end in ends.items()
        if offsets.get(each, 0) < end
    ]


def _committed(admin: Admin, group: str) -> dict[TopicPartition, int]:
    found = admin.list_consumer_group_offsets(group, PARTITIONS)
    return {each: offset.offset for each, offset in found.items() if offset is not None}


async def read_all(bootstrap: str, partitions: list[TopicPartition]) -> list[Any]:
    """Return all records of partitions; those of one are in the order of its log."""
    records: list[Any] = []
    async with AsyncConsumer(
        bootstrap, auto_offset_reset="earliest", isolation_level="read_uncommitted"
    ) as consumer:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            records += await consumer.poll(1.0)
    return records


async def _offsets_partitions(bootstrap: str) -> list[TopicPartition]:
    async with AsyncConsumer(bootstrap) as consumer:
        found = await consumer.partitions_for(OFFSETS_TOPIC)
    return [TopicPartition(OFFSETS_TOPIC, number) for number in sorted(found)]


def stored_commits(records: Iterable[Any]) -> list[tuple[str, str, int]]:
    """Return group, partition and offset of the commits that a coordinator has stored."""
    found = []
    for record in records:
        key = decode_coordinator_key(record.key)
        if isinstance(key, OffsetCommitKey) and key.group in PROTOCOLS:
            value = decode_coordinator_value(key, record.value)
            if isinstance(value, OffsetCommitValue):
                partition = partition_name((key.topic, key.partition))
                found.append((key.group, partition, value.offset))
    return found


@attrs.frozen
class GroupReport:
    """How often what happened, by role, and what must not have happened."""

    counts: Counter[str] = attrs.Factory(Counter)
    anomalies: list[str] = attrs.Factory(list)

    @classmethod
    async def of(cls, bootstrap: str, notes: Iterable[Note], stalled: list[str]) -> Self:
        """Check the notes of all members against what the cluster has stored."""
        notes = list(notes)
        log: dict[Place, str] = {
            (partition_name((record.topic, record.partition)), record.offset): (
                record.value.decode()
            )
            for record in await read_all(bootstrap, PARTITIONS)
        }
        commits = stored_commits(await read_all(bootstrap, await _offsets_partitions(bootstrap)))
        shared = ShareAudit(DELIVERY_LIMIT)
        for note in notes:
            shared.add(note)
        anomalies = [
            *stalled,
            *(each for group in PROTOCOLS for each in unhandled(group, notes, log)),
            *(each for group in PROTOCOLS for each in two_owners(group, notes)),
            *commits_that_went_back(commits),
            *shared.anomalies(log),
        ]
        counts = Counter(f"{_role(note)} {note['f']}" for note in notes if _role(note))
        counts.update({f"{SHARE_GROUP} {kind}": n for kind, n in shared.outcomes.items()})
        counts.update(f"{group} commits stored" for group, _, _ in commits)
        counts["values"] = len(log)
        return cls(counts, anomalies)

    def __str__(self) -> str:
        counts = ", ".join(f"{what} {count}" for what, count in sorted(self.counts.items()))
        lines = [f"groups: {counts}", f"anomalies of groups: {len(self.anomalies)}"]
        return "\n  ".join(["\n".join(lines), *self.anomalies[:20]])


def _role(note: Note) -> str:
    """Return the role of a process of a group, of others an empty text."""
    role = str(note["process"]).partition("-")[0]
    return role if role in (*PROTOCOLS, "sharer") else ""
