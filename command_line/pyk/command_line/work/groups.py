"""Show groups, reset their committed offsets, and delete them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

import click

from pyk.clients import (
    Admin,
    ConsumerGroupDescription,
    GroupIdNotFoundError,
    NonEmptyGroupError,
    PartitionLag,
    TopicPartition,
)
from pyk.command_line.arguments import confirm
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import (
    is_terminal,
    print_facts,
    print_json,
    print_rows,
    tell,
    wants_json,
)
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.frame.tables import Column
from pyk.command_line.moments import Moment
from pyk.command_line.partition_lists import parse_partitions
from pyk.command_line.work.log_offsets import offsets_at
from pyk.command_line.work.topics import described_topics

GROUPS = (
    Column("group", style="bold"),
    Column("state"),
    Column("type"),
    Column("protocolType", "Protocol"),
    Column("coordinator"),
)
MEMBERS = (
    Column("memberId", "Member", style="bold"),
    Column("instanceId", "Instance"),
    Column("clientId", "Client"),
    Column("host"),
    Column("partitions"),
)
LAGS = (
    Column("topic", style="bold"),
    Column("partition"),
    Column("committedOffset", "Committed"),
    Column("endOffset", "Log end"),
    Column("lag"),
)
RESETS = (
    Column("topic", style="bold"),
    Column("partition"),
    Column("committedOffset", "Committed"),
    Column("newOffset", "New"),
)


def show_list(patterns: Sequence[str], states: Sequence[str]) -> None:
    """Print groups."""
    with admin() as client:
        found = client.list_groups(states=states)
    rows = [
        {
            "group": one.group_id,
            "state": one.state or None,
            "type": one.group_type or None,
            "protocolType": one.protocol_type or None,
            "coordinator": one.coordinator_id,
        }
        for one in sorted(found, key=lambda one: one.group_id)
        if not patterns or any(fnmatchcase(one.group_id, pattern) for pattern in patterns)
    ]
    print_rows(GROUPS, rows)


def describe(group_ids: Sequence[str]) -> None:
    """Print groups with their members."""
    with admin() as client:
        described = _described(client, group_ids)
    for one in described.values():
        members = [
            {
                "memberId": member.member_id,
                "instanceId": member.group_instance_id,
                "clientId": member.client_id,
                "host": member.host,
                "partitions": [str(partition) for partition in sorted(member.assignment)],
            }
            for member in one.members
        ]
        facts = {
            "group": one.group_id,
            "state": one.state,
            "protocolType": one.protocol_type or None,
            "assignor": one.partition_assignor or None,
            "coordinator": one.coordinator_id,
        }
        if wants_json():
            print_json({**facts, "members": members})
            continue
        print_facts(facts)
        if members:
            print_rows(MEMBERS, members)


def show_lag(group_id: str, topics: Sequence[str], interval: float | None) -> None:
    """Print the lag of a group, every ``interval`` seconds if one is given."""
    with admin() as client:
        partitions = _partitions(client, topics) if topics else None
        if interval is None:
            _print_lag(_lags(client, group_id, partitions))
            return
        try:
            while True:
                lags = _lags(client, group_id, partitions)
                if is_terminal() and not wants_json():
                    click.clear()
                _print_lag(lags)
                time.sleep(interval)
        except KeyboardInterrupt:  # the way it ends
            return


def _lags(
    client: Admin, group_id: str, partitions: Collection[TopicPartition] | None
) -> Mapping[TopicPartition, PartitionLag]:
    found = client.consumer_group_lag(group_id, partitions)
    if not found:
        _described(client, [group_id])  # which fails for a group that does not exist
    return found


def _print_lag(lags: Mapping[TopicPartition, PartitionLag]) -> None:
    rows = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "committedOffset": at.committed_offset,
            "endOffset": at.end_offset,
            "lag": at.lag,
        }
        for one, at in sorted(lags.items())
    ]
    print_rows(LAGS, rows)
    if is_terminal() and not wants_json():
        click.echo(f"Total lag: {sum(at.lag or 0 for at in lags.values())}")


def reset(
    group_id: str, moment: Moment, topics: Sequence[str], *, dry_run: bool, is_sure: bool
) -> None:
    """Commit the offsets that a moment means, and print them beside those of before."""
    with admin() as client:
        before = client.list_consumer_group_offsets(group_id)
        partitions = _partitions(client, topics) if topics else list(before)
        if not partitions:
            raise CommandError(
                f"group {group_id!r} has committed no offsets; name topics with --topic"
            )
        after = offsets_at(client, partitions, moment)
        rows = []
        for one in sorted(partitions):
            old = before.get(one)
            rows.append(
                {
                    "group": group_id,
                    "topic": one.topic,
                    "partition": one.partition,
                    "committedOffset": None if old is None else old.offset,
                    "newOffset": after[one],
                }
            )
        if dry_run:
            print_rows(RESETS, rows)
            return
        confirm(f"Commit other offsets for {group_id}?", is_sure=is_sure)
        _commit(client, group_id, after)
    print_rows(RESETS, rows)


def _commit(client: Admin, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    members: tuple[object, ...] = ()
    with suppress(CommandError):  # a group that does not exist is made by its first commit
        members = _described(client, [group_id])[group_id].members
    if members:
        raise CommandError(
            f"group {group_id!r} has members, which would go on where they are: stop them first"
        )
    client.alter_consumer_group_offsets(group_id, offsets)


def delete(group_ids: Sequence[str], *, is_sure: bool) -> None:
    """Delete groups."""
    with admin() as client:
        _described(client, group_ids)
        confirm(f"Delete {', '.join(group_ids)}?", is_sure=is_sure)
        try:
            client.delete_consumer_groups(group_ids)
        except NonEmptyGroupError as error:
            raise CommandError(f"{error}; stop its members first") from None
    for group_id in group_ids:
        tell(f"group {group_id} deleted", {"group": group_id})


def delete_offsets(group_ids: Sequence[str], topics: Sequence[str], *, is_sure: bool) -> None:
    """Delete committed offsets of topics."""
    with admin() as client:
        partitions = _partitions(client, topics)
        confirm(f"Delete offsets of {', '.join(group_ids)}?", is_sure=is_sure)
        for group_id in group_ids:
            client.delete_consumer_group_offsets(group_id, partitions)
            tell(f"offsets of group {group_id} deleted", {"group": group_id})


def _described(client: Admin, group_ids: Sequence[str]) -> dict[str, ConsumerGroupDescription]:
    """Return groups by id; the error of an unknown one suggests the nearest that exists."""
    try:
        return client.describe_consumer_groups(group_ids)
    except GroupIdNotFoundError as error:
        if len(group_ids) > 1:
            raise
        known = [one.group_id for one in client.list_groups()]
        if group_ids[0] in known:
            raise
        advice = did_you_mean(group_ids[0], known) or "see pyk group list"
        raise CommandError(f"group {group_ids[0]!r} does not exist; {advice}") from error


def _partitions(client: Admin, topics: Sequence[str]) -> list[TopicPartition]:
    """Return the partitions that options name."""
    try:
        wanted = dict(map(parse_partitions, topics))
    except ValueError as error:
        raise CommandError(str(error), ExitCode.USAGE) from None
    found: list[TopicPartition] = []
    for name, described in described_topics(client, wanted).items():
        existing = {one.partition for one in described.partitions}
        for partition in sorted(set(wanted[name]) - existing):
            raise CommandError(f"topic {name!r} has no partition {partition}")
        found += [TopicPartition(name, number) for number in sorted(wanted[name] or existing)]
    return found
