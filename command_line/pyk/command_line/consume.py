"""``pyk consume``: read records, as text, JSON or a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pyk.command_line.arguments import MomentType
from pyk.command_line.frame.commands import ClusterCommand, settings_of
from pyk.command_line.frame.completions import complete_groups, complete_topics
from pyk.command_line.moments import EARLIEST, Moment
from pyk.command_line.records.filters import RecordFilter, parse_header, parse_pattern
from pyk.command_line.records.format_string import compile_format


def _check_output(*, formatted: object, raw: bool, parquet: str | None) -> None:
    chosen = {
        "--format": formatted is not None,
        "--json": settings_of().as_json,
        "--parquet": parquet is not None,
        "--raw": raw,
    }
    names = [name for name, is_chosen in chosen.items() if is_chosen]
    if len(names) > 1:
        raise click.UsageError(f"{' and '.join(names)} exclude each other")


def _parsed(parse: Callable[[str], Any]) -> Any:
    """Return a callback that parses the value, or each of the values, of an option."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            if isinstance(value, tuple):
                return tuple(map(parse, value))
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from None

    return callback


@click.command(cls=ClusterCommand)
@click.argument("topic", shell_complete=complete_topics)
@click.option(
    "--from",
    "start",
    type=MomentType(),
    metavar="WHEN",
    help="earliest (the default), latest, an offset, -N for the last N of each partition, a time "
    "such as 2026-03-01T12:00, or 15m for that long ago.",
)
@click.option(
    "--until",
    "end",
    type=MomentType(),
    metavar="WHEN",
    help="Stop before an offset or a time; by default at the end that the log has now.",
)
@click.option("-n", "--count", type=click.IntRange(0), help="Stop after this many records.")
@click.option("-F", "--follow", is_flag=True, help="Wait for new records, until Ctrl-C.")
@click.option("-p", "--partition", "partitions", type=int, multiple=True, help="Only this one.")
@click.option(
    "-g",
    "--group",
    help="Read as a member of a group, and commit what was printed.",
    shell_complete=complete_groups,
)
@click.option(
    "-f",
    "--format",
    "formatted",
    metavar="FORMAT",
    callback=_parsed(compile_format),
    help="What to print of a record: %s value, %k key, %h headers, %t topic, %p partition, "
    "%o offset, %T timestamp, %S and %K lengths, %R length in 4 bytes, \\n and other escapes.",
)
@click.option("--raw", is_flag=True, help="Print values only, with nothing in between.")
@click.option(
    "--parquet",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the records into a Parquet file instead.",
)
@click.option("--grep", metavar="REGEX", callback=_parsed(parse_pattern), help="Only such values.")
@click.option(
    "--key", metavar="REGEX", callback=_parsed(parse_pattern), help="Only records with such keys."
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME[=REGEX]",
    callback=_parsed(parse_header),
    help="Only records with such a header; may be repeated.",
)
def consume(
    topic: str,
    *,
    start: Moment | None,
    end: Moment | None,
    count: int | None,
    follow: bool,
    partitions: tuple[int, ...],
    group: str | None,
    formatted: Any,
    raw: bool,
    parquet: str | None,
    grep: Any,
    key: Any,
    headers: tuple[Any, ...],
) -> None:
    """Print the records of TOPIC, up to its end or with --follow from now on.

    Order holds within each partition. With --json, keys and values are text, or {"base64": …} where
    they are not; pyk produce --format json reads it.
    """
    _check_output(formatted=formatted, raw=raw, parquet=parquet)
    if follow and end is not None:
        raise click.UsageError("--follow and --until exclude each other")
    if start is not None and end is not None and end.is_before(start):
        raise click.UsageError("--until is before --from, so there is nothing to read")
    if group is not None and (start is not None or end is not None or partitions):
        raise click.UsageError(
            "--group continues where the group is, in the partitions that it gets; without "
            "--from, --until and --partition"
        )
    from pyk.command_line.work.consuming import Wanted, consume_topic

    consume_topic(
        Wanted(
            topic=topic,
            start=start or EARLIEST,
            end=end,
            count=count,
            is_followed=follow,
            partitions=frozenset(partitions),
            group=group,
            record_filter=RecordFilter(value=grep, key=key, headers=headers),
        ),
        formatted=(lambda record: record.value or b"") if raw else formatted,
        parquet=parquet,
    )
