"""``pyk cluster``: the cluster and its brokers."""

from __future__ import annotations

import click

from pyk.command_line.frame.commands import ClusterCommand


@click.command(cls=ClusterCommand)
def cluster() -> None:
    """Show the id of the cluster, its controller and its brokers."""
    from pyk.command_line.work.cluster import describe

    describe()
