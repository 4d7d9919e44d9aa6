"""List groups of all types."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import print_rows
from pyk.command_line.frame.tables import Column

GROUPS = (
    Column("group", style="bold"),
    Column("state"),
    Column("type"),
    Column("protocolType", "Protocol"),
    Column("coordinator"),
)


def show_list(patterns: Sequence[str], states: Sequence[str]) -> None:
    """Print groups."""
    with admin() as client:
        try:
            found = client.list_groups(states=states)
        except ValueError as error:  # of a state that does not exist
            raise CommandError(str(error), ExitCode.USAGE) from None
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
