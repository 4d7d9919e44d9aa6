"""Share groups: find them, show how far they are, and let them forget topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyk.clients import (
    Admin,
    GroupIdNotFoundError,
    ShareGroupDescription,
    SharePartitionOffset,
    TopicPartition,
)
from pyk.clients.errors import UnsupportedVersionError
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import print_rows
from pyk.command_line.frame.tables import Column
from pyk.command_line.partition_lists import parse_partitions

SHARE = "share"
LAGS = (
    Column("topic", style="bold"),
    Column("partition"),
    Column("startOffset", "Start"),
    Column("lag"),
)


def found_share_group(client: Admin, group_id: str) -> ShareGroupDescription | None:
    """Return a share group; None if there is no such group, or the broker has no share groups."""
    try:
        return client.describe_share_groups([group_id])[group_id]
    except (GroupIdNotFoundError, UnsupportedVersionError):
        return None


def print_share_lags(offsets: Mapping[TopicPartition, SharePartitionOffset | None]) -> None:
    """Print how far a share group is: it has a start offset, and no committed one."""
    rows = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "startOffset": None if at is None else at.start_offset,
            "lag": None if at is None else at.lag,
        }
        for one, at in sorted(offsets.items())
    ]
    print_rows(LAGS, rows)


def delete_share_offsets(client: Admin, group_id: str, topics: Sequence[str]) -> None:
    """Let a share group forget topics, of which it can forget all partitions only."""
    wanted = dict(map(parse_partitions, topics))
    for topic, partitions in wanted.items():
        if partitions:
            raise CommandError(
                f"{group_id!r} is a share group, which forgets whole topics: "
                f"name {topic} without partitions",
                ExitCode.USAGE,
            )
    client.delete_share_group_offsets(group_id, wanted)
