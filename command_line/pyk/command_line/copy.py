"""``pyk copy``: records of one topic into another, here or in another cluster."""

from __future__ import annotations

import click

from pyk.command_line.arguments import MomentType, NameAndValue
from pyk.command_line.frame.commands import CopyingCommand, complete_profiles
from pyk.command_line.frame.completions import complete_groups, complete_topics
from pyk.command_line.frame.settings import Settings
from pyk.command_line.moments import EARLIEST, Moment


@click.command(cls=CopyingCommand)
@click.argument("source", shell_complete=complete_topics)
@click.argument("target", shell_complete=complete_topics)
@click.option("--to-bootstrap", metavar="HOST:PORT", help="The cluster of TARGET, if another.")
@click.option(
    "--to-profile",
    metavar="NAME",
    help="The profile of the cluster of TARGET.",
    shell_complete=complete_profiles,
)
@click.option(
    "--to-option",
    "to_options",
    type=NameAndValue(),
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the client of that cluster; may be repeated.",
)
@click.option("--from", "start", type=MomentType(), metavar="WHEN", help="As of pyk consume.")
@click.option("--until", "end", type=MomentType(), metavar="WHEN", help="As of pyk consume.")
@click.option("-n", "--count", type=click.IntRange(0), help="Stop after this many records.")
@click.option("-F", "--follow", is_flag=True, help="Copy new records too, until Ctrl-C.")
@click.option(
    "-g",
    "--group",
    help="Continue where this group is, and commit what is copied.",
    shell_complete=complete_groups,
)
@click.option(
    "--keep-partitions", is_flag=True, help="Write each record to the partition of its own number."
)
def copy(
    source: str,
    target: str,
    *,
    to_bootstrap: str | None,
    to_profile: str | None,
    to_options: tuple[tuple[str, str], ...],
    start: Moment | None,
    end: Moment | None,
    count: int | None,
    follow: bool,
    group: str | None,
    keep_partitions: bool,
) -> None:
    """Copy the records of topic SOURCE to topic TARGET.

    Keys, values, headers and timestamps stay as they are. Records of a transaction are copied once
    it is committed, unless -X isolation.level=read_uncommitted says otherwise. With --group,
    offsets are committed once the copies are acknowledged: a copy that is stopped repeats at most
    what was not committed.
    """
    if follow and end is not None:
        raise click.UsageError("--follow and --until exclude each other")
    if group is not None and (start is not None or end is not None):
        raise click.UsageError("--group continues where the group is, without --from and --until")
    if start is not None and end is not None and end.is_before(start):
        raise click.UsageError("--until is before --from, so there is nothing to read")
    is_elsewhere = to_bootstrap is not None or to_profile is not None or bool(to_options)
    if source == target and not is_elsewhere:
        raise click.UsageError("SOURCE and TARGET are the same topic")
    to = Settings(to_bootstrap, to_profile, options=dict(to_options)) if is_elsewhere else None
    from pyk.command_line.work.consuming import Wanted
    from pyk.command_line.work.copying import copy_topic

    wanted = Wanted(
        topic=source,
        start=start or EARLIEST,
        end=end,
        count=count,
        is_followed=follow,
        group=group,
    )
    copy_topic(wanted, target, to, keeps_partitions=keep_partitions)
