"""``pyk produce``: send records from lines, JSON, files or tables."""

from __future__ import annotations

import click
from click.core import ParameterSource

from pyk.command_line.arguments import NameAndBytes
from pyk.command_line.frame.commands import ClusterCommand
from pyk.command_line.frame.completions import complete_topics
from pyk.command_line.records.escapes import unescape
from pyk.command_line.records.outgoing import Additions, LineReader
from pyk.command_line.records.sources import FORMATS, STANDARD_INPUT, USED_BY, check_options


def _bytes(context: click.Context, parameter: click.Parameter, value: str | None) -> bytes | None:
    return None if value is None else unescape(value)


def _separator(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> bytes | None:
    if value == "":
        raise click.BadParameter("it must not be empty", context, parameter)
    return _bytes(context, parameter, value)


@click.command(cls=ClusterCommand)
@click.argument("topic", shell_complete=complete_topics)
@click.argument("files", nargs=-1, type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--format",
    "source",
    type=click.Choice(FORMATS),
    help="What the input holds: a record a line (the default), a JSON object a line, one record "
    "(the whole file), or a table. The names *.jsonl, *.ndjson, *.parquet, *.arrow and *.feather "
    "say it by themselves.",
)
@click.option("-K", "--key-separator", callback=_separator, help="Between the key and the value.")
@click.option(
    "--header-separator",
    callback=_separator,
    help="After the headers, NAME=VALUE,…, with which a line then begins.",
)
@click.option(
    "-D",
    "--delimiter",
    callback=_separator,
    default="\\n",
    show_default=True,
    help="Between records.",
)
@click.option("-k", "--key", callback=_bytes, help="The key of records without one.")
@click.option(
    "-H",
    "--header",
    "headers",
    type=NameAndBytes(),
    multiple=True,
    metavar="NAME=VALUE",
    help="A header of every record; may be repeated.",
)
@click.option("-p", "--partition", type=click.IntRange(0), help="The partition of all records.")
@click.option(
    "--null",
    callback=_bytes,
    metavar="TEXT",
    help="Send null for keys and values that are TEXT; '' for empty ones.",
)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Records per second.")
@click.option("-z", "--compression", help="none, gzip, snappy, lz4 or zstd.")
@click.option("--acks", help="all (the default), 1 or 0.")
def produce(
    topic: str,
    files: tuple[str, ...],
    *,
    source: str | None,
    key_separator: bytes | None,
    header_separator: bytes | None,
    delimiter: bytes,
    key: bytes | None,
    headers: tuple[tuple[str, bytes], ...],
    partition: int | None,
    null: bytes | None,
    rate: float | None,
    compression: str | None,
    acks: str | None,
) -> None:
    """Send records to TOPIC, from FILES or standard input: a record a line.

    The command ends when all records are acknowledged, with status 1 if one is not. With --json it
    prints the partition and the offset of each.
    """
    named = files or (STANDARD_INPUT,)
    try:
        check_options(named, source, _given(click.get_current_context()))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    options = {"compression_type": compression, "acks": acks}
    from pyk.command_line.work.producing import produce_files

    produce_files(
        topic,
        named,
        source,
        delimiter=delimiter,
        reader=LineReader(separator=key_separator, header_separator=header_separator, null=null),
        additions=Additions(
            key=key,
            headers=headers,
            partition=partition,
        ),
        rate=rate,
        options={name: value for name, value in options.items() if value is not None},
    )


def _given(context: click.Context) -> list[str]:
    """Return those options about the input that were given."""
    by_name = {option.removeprefix("--").replace("-", "_"): option for option in USED_BY}
    by_name["headers"] = by_name.pop("header")
    return [
        option
        for name, option in by_name.items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
