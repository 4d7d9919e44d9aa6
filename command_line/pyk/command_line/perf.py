"""``pyk perf``: measure how fast records are sent and read."""

from __future__ import annotations

import click

from pyk.command_line.frame.commands import CommandGroup
from pyk.command_line.frame.completions import complete_topics

COUNT = click.option("-n", "--count", type=click.IntRange(1), default=100_000, show_default=True)
SIZE = click.option("--size", type=click.IntRange(0), default=100, show_default=True, help="Bytes.")


@click.group(cls=CommandGroup)
def perf() -> None:
    """Measure how fast records are sent and read; --json prints the figures."""


@perf.command("produce")
@click.argument("topic", shell_complete=complete_topics)
@COUNT
@SIZE
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="Records per second; without it, as fast as possible.",
)
def produce(topic: str, *, count: int, size: int, rate: float | None) -> None:
    """Send records, and show the rate and the times until acknowledgement."""
    from pyk.command_line.work import perf as work

    work.produce(topic, count, size, rate)


@perf.command("consume")
@click.argument("topic", shell_complete=complete_topics)
@COUNT
def consume(topic: str, *, count: int) -> None:
    """Read records from the start of a topic, and show the rate."""
    from pyk.command_line.work import perf as work

    work.consume(topic, count)


@perf.command("latency")
@click.argument("topic", shell_complete=complete_topics)
@click.option("-n", "--count", type=click.IntRange(1), default=1_000, show_default=True)
@SIZE
def latency(topic: str, *, count: int, size: int) -> None:
    """Send records one after the other, and show the time until each is read again."""
    from pyk.command_line.work import perf as work

    work.latency(topic, count, size)
