"""Describe groups, show their lag, reset their committed offsets, and delete them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import click

from pyk.clients import (
    Admin,
    ConsumerGroupDescription,
    GroupIdNotFoundError,
    MemberDescription,
    NonEmptyGroupError,
    PartitionLag,
    ShareGroupDescription,
    ShareMemberDescription,
    StreamsGroupDescription,
    TopicPartition,
)
from pyk.command_line.arguments import confirm
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import (
    Row,
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
from pyk.command_line.work.log_offsets import offsets_at
from pyk.command_line.work.share_groups import (
    SHARE,
    delete_share_offsets,
    found_share_group,
    print_share_lags,
)
from pyk.command_line.work.streams_groups import (
    STREAMS,
    STREAMS_MEMBERS,
    found_streams_group,
    streams_member_row,
)
from pyk.command_line.work.topics import named_partitions

Described = ConsumerGroupDescription | ShareGroupDescription | StreamsGroupDescription

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


def describe(group_ids: Sequence[str]) -> None:
    """Print groups with their members."""
    with admin() as client:
        described = [_described(client, group_id) for group_id in group_ids]
    for one in described:
        columns, members = _members(one)
        if wants_json():
            print_json({**_facts(one), "members": members})
            continue
        print_facts(_facts(one))
        if members:
            print_rows(columns, members)


def _members(group: Described) -> tuple[Sequence[Column], list[Row]]:
    if isinstance(group, StreamsGroupDescription):
        return STREAMS_MEMBERS, list(map(streams_member_row, group.members))
    return MEMBERS, [_member_row(member) for member in group.members]


def _facts(group: Described) -> Row:
    facts: dict[str, object] = {"group": group.group_id, "state": group.state}
    if isinstance(group, ShareGroupDescription):
        facts |= {"type": SHARE}
    elif isinstance(group, StreamsGroupDescription):
        facts |= {"type": STREAMS, "topologyEpoch": group.topology_epoch}
    else:
        facts |= {
            "type": group.group_type,
            "protocolType": group.protocol_type or None,
            "assignor": group.partition_assignor or None,
        }
    return facts | {"coordinator": group.coordinator_id}


def _member_row(member: MemberDescription | ShareMemberDescription) -> Row:
    return {
        "memberId": member.member_id,
        "instanceId": member.group_instance_id if isinstance(member, MemberDescription) else None,
        "clientId": member.client_id,
        "host": member.host,
        "partitions": [str(partition) for partition in sorted(member.assignment)],
    }


def show_lag(group_id: str, topics: Sequence[str], interval: float | None) -> None:
    """Print the lag of a group, every ``interval`` seconds if one is given."""
    with admin() as client:
        described = _described(client, group_id)
        partitions = named_partitions(client, topics) if topics else None
        if interval is None:
            _show_lag_of(client, described, partitions, clears=False)
            return
        try:
            while True:
                _show_lag_of(client, described, partitions, clears=True)
                time.sleep(interval)
        except KeyboardInterrupt:  # the way it ends
            return


def _show_lag_of(
    client: Admin,
    group: Described,
    partitions: Collection[TopicPartition] | None,
    *,
    clears: bool,
) -> None:
    if isinstance(group, ShareGroupDescription):
        show = partial(
            print_share_lags, client.list_share_group_offsets(group.group_id, partitions)
        )
    else:
        show = partial(_print_lags, client.lag(group.group_id, partitions))
    if clears and is_terminal() and not wants_json():
        click.clear()
    show()


def _print_lags(lags: Mapping[TopicPartition, PartitionLag]) -> None:
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
        group = _found(client, group_id)
        before = _offsets(client, group_id, group)
        partitions = named_partitions(client, topics) if topics else list(before)
        if not partitions:
            raise CommandError(
                f"group {group_id!r} has committed no offsets; name topics with --topic"
            )
        after = _new_offsets(client, group_id, group, partitions, moment)
        rows = [
            {
                "group": group_id,
                "topic": one.topic,
                "partition": one.partition,
                "committedOffset": before.get(one),
                "newOffset": after[one],
            }
            for one in sorted(partitions)
        ]
        if dry_run:
            print_rows(RESETS, rows)
            return
        confirm(f"Commit other offsets for {group_id}?", is_sure=is_sure)
        _commit(client, group_id, group, after)
    print_rows(RESETS, rows)


def _offsets(
    client: Admin, group_id: str, group: Described | None
) -> dict[TopicPartition, int | None]:
    """Return where a group is in its partitions, whether it exists or not."""
    if isinstance(group, ShareGroupDescription):
        started = client.list_share_group_offsets(group_id)
        return {one: None if at is None else at.start_offset for one, at in started.items()}
    committed = client.list_consumer_group_offsets(group_id)
    return {one: None if at is None else at.offset for one, at in committed.items()}


def _new_offsets(
    client: Admin,
    group_id: str,
    group: Described | None,
    partitions: Sequence[TopicPartition],
    moment: Moment,
) -> dict[TopicPartition, int]:
    """Return where a reset to a moment leads."""
    target = moment.target
    if target is None or isinstance(group, ShareGroupDescription):
        return offsets_at(client, partitions, moment)
    planned = client.reset_offsets(group_id, to=target, partitions=partitions, dry_run=True)
    return {one: reset.after for one, reset in planned.items()}


def _commit(
    client: Admin, group_id: str, group: Described | None, offsets: Mapping[TopicPartition, int]
) -> None:
    if group is not None and group.members:
        raise CommandError(
            f"group {group_id!r} has members, which would go on where they are: stop them first"
        )
    if isinstance(group, ShareGroupDescription):
        client.alter_share_group_offsets(group_id, offsets)
    else:  # a group that does not exist is made by its first commit
        client.reset_offsets(group_id, to=offsets)


def delete(group_ids: Sequence[str], *, is_sure: bool) -> None:
    """Delete groups of any type."""
    with admin() as client:
        for group_id in group_ids:
            _described(client, group_id)
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
        described = [_described(client, group_id) for group_id in group_ids]
        partitions = named_partitions(client, topics)
        confirm(f"Delete offsets of {', '.join(group_ids)}?", is_sure=is_sure)
        for group in described:
            if isinstance(group, ShareGroupDescription):
                delete_share_offsets(client, group.group_id, topics)
            else:
                client.delete_consumer_group_offsets(group.group_id, partitions)
            tell(f"offsets of group {group.group_id} deleted", {"group": group.group_id})


def _described(client: Admin, group_id: str) -> Described:
    """Return a group of any type; the error of an unknown one suggests the nearest that exists."""
    found = _found(client, group_id)
    if found is not None:
        return found
    known = {one.group_id: one.group_type for one in client.list_groups()}
    if group_id in known:
        raise CommandError(f"group {group_id!r} is of the type {known[group_id]}: not supported")
    advice = did_you_mean(group_id, known) or "see pyk group list"
    raise CommandError(f"group {group_id!r} does not exist; {advice}")


def _found(client: Admin, group_id: str) -> Described | None:
    try:
        return client.describe_consumer_groups([group_id])[group_id]
    except GroupIdNotFoundError:
        return found_share_group(client, group_id) or found_streams_group(client, group_id)
