"""``pyk doctor``: find out why a client cannot work."""

from __future__ import annotations

import click

from pyk.command_line.frame.commands import ClusterCommand
from pyk.command_line.frame.completions import complete_groups, complete_topics


@click.command(cls=ClusterCommand)
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    help="Also check a topic.",
    shell_complete=complete_topics,
)
@click.option(
    "-g",
    "--group",
    "groups",
    multiple=True,
    help="Also check a group.",
    shell_complete=complete_groups,
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds for each step.",
)
def doctor(topics: tuple[str, ...], groups: tuple[str, ...], *, timeout: float) -> int:
    """Find out why a client cannot work.

    Checks each address step by step (DNS, TCP, TLS, ApiVersions, SASL), what the brokers advertise,
    their versions, and the topics and groups that are named: leaders, replicas in sync, what the
    client may do, members, lag, clocks. Each failure comes with what it means and what to do.

    The exit code is 0 if all works, 1 if something fails, 3 if no broker can be reached.
    """
    from pyk.command_line.work.diagnosis import diagnose

    return int(diagnose(topics, groups, timeout))
