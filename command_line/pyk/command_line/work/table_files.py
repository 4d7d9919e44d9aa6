"""Read tables of records from Parquet and Arrow, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from pyk.command_line.frame.failures import CommandError
from pyk.command_line.records.sources import STANDARD_INPUT, shown
from pyk.command_line.standard_input import standard_input

COLUMNS = ("key", "value", "headers", "partition", "timestamp")
ARROW_FILE = b"ARROW1"
"""How an Arrow file starts; anything else is a stream of Arrow."""


def read_tables(name: str, kind: str) -> Iterator[Any]:
    """Yield tables with the columns of records; other columns are left out."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise CommandError(
            "tables need pyarrow; install it with  pip install 'pyk-kafka[arrow]'"
        ) from None
    with closing(_opened(pa, name)) as source:
        try:
            for batch in _parquet(source) if kind == "parquet" else _arrow(pa, source):
                yield _chosen(name, pa.Table.from_batches([batch]))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise CommandError(f"{shown(name)} is not a table in {kind}: {error}") from None


def _opened(pa: Any, name: str) -> Any:
    if name == STANDARD_INPUT:
        return pa.BufferReader(standard_input().read())
    with open(name, "rb"):  # whose error names the file as those of other files do
        return pa.OSFile(name)


def _parquet(source: Any) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with closing(pq.ParquetFile(source)) as file:
        yield from file.iter_batches()


def _arrow(pa: Any, source: Any) -> Iterator[Any]:
    start = source.read(len(ARROW_FILE))
    source.seek(0)
    if start != ARROW_FILE:
        with pa.ipc.open_stream(source) as stream:
            yield from stream
        return
    with pa.ipc.open_file(source) as file:
        for index in range(file.num_record_batches):
            yield file.get_batch(index)


def _chosen(name: str, table: Any) -> Any:
    found = table.schema.names
    if "value" not in found:
        others = ", ".join(column for column in COLUMNS if column != "value")
        raise CommandError(
            f"{shown(name)} has the columns {', '.join(found) or '(none)'}; "
            f"there must be 'value', and may be {others}"
        )
    return table.select([column for column in COLUMNS if column in found])
