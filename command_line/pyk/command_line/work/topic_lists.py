"""List topics."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.output import print_rows
from pyk.command_line.frame.tables import Column

TOPICS = (Column("topic", style="bold"), Column("partitions"), Column("isInternal", "Internal"))


def show_list(patterns: Sequence[str], *, internal: bool) -> None:
    """Print topics, all or those whose names match a pattern."""
    with admin() as client:
        found = client.list_topics(internal=internal)
    rows = [
        {
            "topic": name,
            "id": None if one.topic_id is None else str(one.topic_id),
            "partitions": one.partition_count,
            "isInternal": one.is_internal,
        }
        for name, one in sorted(found.items())
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    print_rows(TOPICS if internal else TOPICS[:2], rows)
