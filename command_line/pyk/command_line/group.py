"""``pyk group``: groups, their members, lag and committed offsets."""

from __future__ import annotations

import click

from pyk.command_line.arguments import MomentType
from pyk.command_line.frame.commands import CommandGroup
from pyk.command_line.frame.completions import complete_groups, complete_topics
from pyk.command_line.moments import Moment

YES = click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")
TOPIC = click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:PARTITION,…]",
    help="Only this topic, or some of its partitions; may be repeated.",
    shell_complete=complete_topics,
)


@click.group(cls=CommandGroup)
def group() -> None:
    """List, describe, reset and delete groups, and watch their lag."""


@group.command("list")
@click.argument("patterns", nargs=-1, shell_complete=complete_groups)
@click.option("--state", "states", multiple=True, help="Only groups in this state, as Empty.")
def list_groups(patterns: tuple[str, ...], *, states: tuple[str, ...]) -> None:
    """List groups, all or those whose ids match PATTERNS such as 'billing-*'."""
    from pyk.command_line.work import group_lists

    group_lists.show_list(patterns, states)


@group.command("describe")
@click.argument(
    "group_ids", nargs=-1, required=True, metavar="GROUPS...", shell_complete=complete_groups
)
def describe_groups(group_ids: tuple[str, ...]) -> None:
    """Show the state of groups, their members, and who has which partition."""
    from pyk.command_line.work import groups

    groups.describe(group_ids)


@group.command("lag")
@click.argument("group_id", metavar="GROUP", shell_complete=complete_groups)
@TOPIC
@click.option("-w", "--watch", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="Seconds between two looks with --watch.",
)
def lag(group_id: str, *, topics: tuple[str, ...], watch: bool, interval: float) -> None:
    """Show how far a group is behind in each partition.

    Partitions in which the group has committed nothing have no lag.
    """
    from pyk.command_line.work import groups

    groups.show_lag(group_id, topics, interval if watch else None)


@group.command("reset")
@click.argument("group_id", metavar="GROUP", shell_complete=complete_groups)
@click.option(
    "--to",
    "moment",
    type=MomentType(),
    required=True,
    metavar="WHEN",
    help="earliest, latest, an offset, -N for the last N, a time such as 2026-03-01T12:00, or 15m.",
)
@TOPIC
@click.option("--dry-run", is_flag=True, help="Only show what would be committed.")
@YES
def reset(
    group_id: str, *, moment: Moment, topics: tuple[str, ...], dry_run: bool, yes: bool
) -> None:
    """Let a group without members continue elsewhere: commit other offsets for it.

    Without --topic, in all partitions in which it has committed offsets.
    """
    from pyk.command_line.work import groups

    groups.reset(group_id, moment, topics, dry_run=dry_run, is_sure=yes)


@group.command("delete")
@click.argument(
    "group_ids", nargs=-1, required=True, metavar="GROUPS...", shell_complete=complete_groups
)
@click.option(
    "--offsets-of",
    "topics",
    multiple=True,
    metavar="TOPIC[:PARTITION,…]",
    help="Delete only the committed offsets of this topic; may be repeated.",
)
@YES
def delete(group_ids: tuple[str, ...], *, topics: tuple[str, ...], yes: bool) -> None:
    """Delete groups without members, with their committed offsets."""
    from pyk.command_line.work import groups

    if topics:
        groups.delete_offsets(group_ids, topics, is_sure=yes)
    else:
        groups.delete(group_ids, is_sure=yes)
