"""Streams groups: find them, and show what their members run."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients import (
    Admin,
    GroupIdNotFoundError,
    StreamsGroupDescription,
    StreamsMemberDescription,
)
from pyk.clients.errors import UnsupportedVersionError
from pyk.command_line.frame.output import Row
from pyk.command_line.frame.tables import Column

STREAMS = "streams"
STREAMS_MEMBERS = (
    Column("memberId", "Member", style="bold"),
    Column("processId", "Process"),
    Column("clientId", "Client"),
    Column("host"),
    Column("endpoint"),
    Column("activeTasks", "Active"),
    Column("standbyTasks", "Standby"),
)


def found_streams_group(client: Admin, group_id: str) -> StreamsGroupDescription | None:
    """Return a streams group; None if there is no such group, or the broker has none at all."""
    try:
        return client.describe_streams_groups([group_id])[group_id]
    except (GroupIdNotFoundError, UnsupportedVersionError):
        return None


def streams_member_row(member: StreamsMemberDescription) -> Row:
    return {
        "memberId": member.member_id,
        "processId": member.process_id,
        "clientId": member.client_id,
        "host": member.host,
        "endpoint": member.user_endpoint,
        "activeTasks": _names(member.assignment.active_tasks),
        "standbyTasks": _names(member.assignment.standby_tasks),
    }


def _names(tasks: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Return tasks as Kafka Streams names them: subtopology and partition."""
    return [
        f"{subtopology_id}_{number}"
        for subtopology_id, numbers in sorted(tasks.items())
        for number in numbers
    ]
