"""``pyk topic``: topics, their partitions, settings and records."""

from __future__ import annotations

import click

from pyk.command_line.arguments import MomentType, NameAndValue
from pyk.command_line.frame.commands import CommandGroup
from pyk.command_line.frame.completions import complete_topics
from pyk.command_line.moments import Moment

CONFIG = click.option(
    "-c",
    "--config",
    "configs",
    type=NameAndValue(),
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting by Kafka's name; may be repeated.",
)
PARTITIONS = click.IntRange(1, (1 << 31) - 1)
YES = click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only check whether it would work.")


@click.group(cls=CommandGroup)
def topic() -> None:
    """Create, list, describe, change and delete topics and their records."""


@topic.command("list")
@click.argument("patterns", nargs=-1, shell_complete=complete_topics)
@click.option("--internal", is_flag=True, help="Also list Kafka's own topics.")
def list_topics(patterns: tuple[str, ...], *, internal: bool) -> None:
    """List topics, all or those whose names match PATTERNS such as 'orders-*'."""
    from pyk.command_line.work import topic_lists

    topic_lists.show_list(patterns, internal=internal)


@topic.command("create")
@click.argument("names", nargs=-1, required=True)
@click.option("-p", "--partitions", type=PARTITIONS, help="By default as the broker says.")
@click.option("-r", "--replication-factor", type=click.IntRange(1, (1 << 15) - 1), help="The same.")
@CONFIG
@click.option("--if-not-exists", is_flag=True, help="Leave topics alone that exist already.")
@DRY_RUN
def create_topics(
    names: tuple[str, ...],
    *,
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[tuple[str, str], ...],
    if_not_exists: bool,
    dry_run: bool,
) -> None:
    """Create topics."""
    from pyk.clients import NewTopic
    from pyk.command_line.work import topics

    new = [
        NewTopic(name, partitions, replication_factor=replication_factor, configs=dict(configs))
        for name in dict.fromkeys(names)
    ]
    topics.create(new, if_not_exists=if_not_exists, dry_run=dry_run)


@topic.command("describe")
@click.argument("names", nargs=-1, required=True, shell_complete=complete_topics)
def describe_topics(names: tuple[str, ...]) -> None:
    """Show partitions with their leaders and replicas, offsets, and settings that were changed."""
    from pyk.command_line.work import topics

    topics.describe(names)


@topic.command("alter")
@click.argument("name", shell_complete=complete_topics)
@click.option("-p", "--partitions", type=PARTITIONS, help="Add partitions up to this many.")
@CONFIG
@click.option("--unset", multiple=True, metavar="NAME", help="Return a setting to its default.")
@DRY_RUN
def alter_topic(
    name: str,
    *,
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    unset: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Add partitions to a topic, and change its settings."""
    if partitions is None and not configs and not unset:
        raise click.UsageError("nothing to change: give --partitions, --config or --unset")
    from pyk.command_line.work import topics

    topics.alter(name, partitions=partitions, configs=dict(configs), unset=unset, dry_run=dry_run)


@topic.command("delete")
@click.argument("names", nargs=-1, required=True, shell_complete=complete_topics)
@click.option("--if-exists", is_flag=True, help="Ignore topics that do not exist.")
@YES
def delete_topics(names: tuple[str, ...], *, if_exists: bool, yes: bool) -> None:
    """Delete topics with all their records."""
    from pyk.command_line.work import topics

    topics.delete(names, if_exists=if_exists, is_sure=yes)


@topic.command("records")
@click.argument("names", nargs=-1, required=True, shell_complete=complete_topics)
@click.option("-p", "--partition", "partitions", type=int, multiple=True, help="Only this one.")
@click.option(
    "--delete-before",
    type=MomentType(),
    metavar="WHEN",
    help="Delete all records before an offset, a time, or latest.",
)
@YES
def records(
    names: tuple[str, ...],
    *,
    partitions: tuple[int, ...],
    delete_before: Moment | None,
    yes: bool,
) -> None:
    """Show where the log of each partition starts and ends, and how many offsets it has.

    Compaction and transactions leave offsets without records, so there may be fewer records.
    """
    from pyk.command_line.work import topics

    topics.show_records(names, partitions=partitions, delete_before=delete_before, is_sure=yes)
