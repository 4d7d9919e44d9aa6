"""``pyk dump-log``: the files of a log as text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from pyk.command_line.disk.indexes import (
    dump_offset_index,
    dump_time_index,
    dump_transaction_index,
    sanity_problem,
)
from pyk.command_line.disk.internal_topics import decoder_for
from pyk.command_line.disk.lines import DumpItem, Problem
from pyk.command_line.disk.log_segment import StoredBatch, dump_segment, read_segment
from pyk.command_line.disk.producers import dump_producer_snapshot
from pyk.command_line.frame.commands import PlainCommand, settings_of
from pyk.command_line.readable import Style
from pyk.protocol.records.index_layout import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from pyk.runtime import slotted

_INDEXES: dict[str, Any] = {
    ".index": (OFFSET_INDEX_ENTRY, dump_offset_index),
    ".timeindex": (TIME_INDEX_ENTRY, dump_time_index),
}
_OTHERS = {".txnindex": dump_transaction_index, ".snapshot": dump_producer_snapshot}
_SEGMENTS = (".log", ".checkpoint")
_KNOWN = {*_INDEXES, *_OTHERS, *_SEGMENTS}
# The text files that a broker keeps beside them: `dump-log orders-0/*` names them, too.
_TEXT_FILES = {"leader-epoch-checkpoint", "partition.metadata"}


def _decoder(name: str, topic: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        f"--{name}-decoder",
        "topic",
        flag_value=topic,
        help=f"Decode records as those of {topic}, whatever the name of the folder.",
    )


@click.command(cls=PlainCommand)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--print-data-log", is_flag=True, help="Print the records, with key and value.")
@click.option("--deep-iteration", is_flag=True, help="Print the records, without key and value.")
@click.option(
    "--max-bytes", type=click.IntRange(min=0), help="Read at most this many bytes of a segment."
)
@click.option("--verify-index-only", is_flag=True, help="Check indexes, print no entries.")
@click.option(
    "--index-sanity-check", is_flag=True, help="Only make the check that a starting broker makes."
)
@_decoder("offsets", "__consumer_offsets")
@_decoder("transaction-log", "__transaction_state")
@_decoder("cluster-metadata", "__cluster_metadata")
@_decoder("share-group-state", "__share_group_state")
@_decoder("remote-log-metadata", "__remote_log_metadata")
@click.option("--raw", "topic", flag_value="", help="Show records of internal topics as text.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--show-secrets", is_flag=True, help="Also show credentials in metadata.")
def dump_log(files: tuple[Path, ...], *, as_json: bool, **options: Any) -> None:
    """Show what the files of a log hold, as kafka-dump-log does.

    FILES are segments (.log), snapshots of metadata (.checkpoint), indexes (.index, .timeindex,
    .txnindex) and snapshots of producers (.snapshot). An index is compared with the segment beside
    it. Records of internal topics, known by the name of their folder, are decoded.

    The exit status is 1 if a file is damaged or not one of these; standard error names each
    problem. The text files of a partition's folder are skipped.
    """
    dump, as_json = _Dump(**options), as_json or settings_of().as_json
    has_problems = False
    for path in files:
        if path.name in _TEXT_FILES:
            click.echo(f"{path}: skipped, it is text", err=True)
            continue
        if (reason := _reason_not_to_read(path)) is not None:
            has_problems = True
            click.echo(f"error: {path}: {reason}", err=True)
            continue
        if not as_json:
            click.echo(f"Dumping {path}")
        for dumped in _or_problem(dump.file, path):
            if isinstance(dumped, Problem):
                has_problems = True
                click.echo(f"error: {path}: {dumped.text}", err=True)
            else:
                click.echo(dumped.as_json(str(path)) if as_json else dumped.as_text())
    sys.exit(int(has_problems))


@slotted.frozen(kw_only=True)
class _Dump:
    """The options: which parts of each file to show."""

    print_data_log: bool
    deep_iteration: bool
    max_bytes: int | None
    verify_index_only: bool
    index_sanity_check: bool
    topic: str | None
    """The topic to decode records as; None for the topic that the folder is named after."""
    show_secrets: bool

    def file(self, path: Path) -> Iterator[DumpItem]:
        if path.suffix in _SEGMENTS:
            return self._segment(path)
        if path.suffix in _INDEXES:
            return self._index(path)
        return _OTHERS[path.suffix](path.read_bytes())

    def _segment(self, path: Path) -> Iterator[DumpItem]:
        style = Style(is_full=True, shows_secrets=self.show_secrets)
        is_printed = self.print_data_log or bool(self.topic)
        topic = _topic_of(path) if self.topic is None else self.topic
        decoder = decoder_for(topic, style) if is_printed else None
        with path.open("rb") as file:
            batches = read_segment(file, path.stat().st_size, self.max_bytes)
            deep = is_printed or self.deep_iteration
            yield from dump_segment(batches, style, deep=deep, decoder=decoder)

    def _index(self, path: Path) -> Iterator[DumpItem]:
        entry, dump = _INDEXES[path.suffix]
        if not path.stem.isdecimal():
            yield Problem("its name does not begin with an offset")
            return
        data = path.read_bytes()
        if (problem := sanity_problem(entry, data)) is not None:
            yield Problem(f"a broker rebuilds this index when it starts: {problem}")
        if self.index_sanity_check:
            return
        log = path.with_suffix(".log")
        batches = _batches(log) if log.exists() else None
        if batches is None:
            yield Problem(f"there is no {log.name} beside it to compare it with")
        for dumped in dump(data, int(path.stem), batches):
            if isinstance(dumped, Problem) or not self.verify_index_only:
                yield dumped


def _reason_not_to_read(path: Path) -> str | None:
    """Return what is wrong with a path before its file is opened, None if nothing is."""
    if path.is_dir():
        return f"it is a folder; name the files in it: {path}/*"
    if not path.exists():
        return "No such file or directory"
    if path.suffix not in _KNOWN:
        return f"unknown kind of file; known: {', '.join(sorted(_KNOWN))}"
    return None


def _batches(log: Path) -> Iterator[StoredBatch]:
    with log.open("rb") as file:
        for stored in read_segment(file, log.stat().st_size):
            if isinstance(stored, StoredBatch):
                yield stored


def _topic_of(path: Path) -> str:
    """Return the topic that the folder of ``path`` is named after."""
    return path.absolute().parent.name.rpartition("-")[0]


def _or_problem(dump: Callable[[Path], Iterator[DumpItem]], path: Path) -> Iterator[DumpItem]:
    try:
        yield from dump(path)
    except OSError as error:
        yield Problem(error.strerror or str(error))
