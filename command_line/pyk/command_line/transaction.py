"""``pyk transaction``: transactions, the producers of partitions, and those that hang."""

from __future__ import annotations

import click

from pyk.command_line.frame.commands import CommandGroup
from pyk.command_line.frame.completions import complete_topics

YES = click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")


@click.group(cls=CommandGroup)
def transaction() -> None:
    """List and describe transactions, and abort those that hang."""


@transaction.command("list")
@click.option("--state", "states", multiple=True, help="Only in this state, as Ongoing.")
@click.option(
    "--open-for",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Only transactions that have been open for longer (brokers since 3.8).",
)
def list_transactions(*, states: tuple[str, ...], seconds: float | None) -> None:
    """List the transactional ids that coordinators know."""
    from pyk.command_line.work import transactions

    transactions.show_list(states, seconds)


@transaction.command("describe")
@click.argument("transactional_ids", nargs=-1, required=True, metavar="IDS...")
def describe(transactional_ids: tuple[str, ...]) -> None:
    """Show the state of transactional ids, and the partitions of their open transactions."""
    from pyk.command_line.work import transactions

    transactions.describe(transactional_ids)


@transaction.command("producers")
@click.argument(
    "topics",
    nargs=-1,
    required=True,
    metavar="TOPIC[:PARTITION,…]...",
    shell_complete=complete_topics,
)
@click.option("--open", "is_open", is_flag=True, help="Only those with an open transaction.")
def producers(topics: tuple[str, ...], *, is_open: bool) -> None:
    """Show the producers that partitions know, and where their open transactions start."""
    from pyk.command_line.work import transactions

    transactions.show_producers(topics, is_open=is_open)


@transaction.command("abort")
@click.argument("partition", metavar="TOPIC:PARTITION")
@click.option(
    "--start-offset",
    type=click.IntRange(0),
    required=True,
    help="Where the open transaction starts in the partition: see pyk transaction producers.",
)
@YES
def abort(partition: str, *, start_offset: int, yes: bool) -> None:
    """Abort a transaction that hangs: one that a partition has open and no coordinator will end.

    If its producer still works on it, that producer's transaction breaks.
    """
    from pyk.command_line.work import transactions

    transactions.abort(partition, start_offset, is_sure=yes)


@transaction.command("fence")
@click.argument("transactional_ids", nargs=-1, required=True, metavar="IDS...")
@YES
def fence(transactional_ids: tuple[str, ...], *, yes: bool) -> None:
    """Fence the producers of transactional ids, which aborts their open transactions."""
    from pyk.command_line.work import transactions

    transactions.fence(transactional_ids, is_sure=yes)
