"""Convert the rows of a query to the columns of ``send_batch``, by the rules of Spark's sink.

``value`` (string or binary) is required, ``key`` is optional; ``topic`` is a column or an option,
and the option wins; ``partition`` (int) and ``headers`` are as in Spark. In addition, a column
``timestamp`` of Spark's type timestamp is the time of the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pyk.spark_connector.errors import SchemaError, WriteError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

HEADERS = "array<struct<key:string,value:binary>>"
TIMESTAMP = "timestamp"
COLUMN_TYPES = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (HEADERS,),
    "partition": ("int",),
    TIMESTAMP: ("timestamp",),
}
RECORD_COLUMNS = ("key", "value", "headers", "partition", TIMESTAMP)


def check_columns(schema: StructType, topic: str | None) -> tuple[str, ...]:
    """Return the columns that make up a record; raise :class:`SchemaError` for an invalid type.

    A column ``timestamp`` of another type is ignored: Spark's sink has no such column, so it may
    hold anything.
    """
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "value" not in types:
        raise SchemaError(f"column 'value' is missing; there are {', '.join(types) or 'none'}")
    if topic is None and "topic" not in types:
        raise SchemaError("option 'topic' must be given if there is no column 'topic'")
    for name, allowed in COLUMN_TYPES.items():
        if name in types and types[name] not in allowed and name != TIMESTAMP:
            raise SchemaError(f"column {name!r} must be {' or '.join(allowed)}, not {types[name]}")
    unused = () if timestamp_notice(schema) is None else (TIMESTAMP,)
    return tuple(name for name in RECORD_COLUMNS if name in types and name not in unused)


def timestamp_notice(schema: StructType) -> str | None:
    """Return the notice about a column ``timestamp`` of another type; None if there is none."""
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    type_ = types.get(TIMESTAMP, TIMESTAMP)
    if type_ in COLUMN_TYPES[TIMESTAMP]:
        return None
    return (
        f"column {TIMESTAMP!r} has no effect: its type is {type_}, not timestamp; "
        "records get the time at which they are written"
    )


def records_by_topic(
    batch: pa.RecordBatch, topic: str | None, columns: Sequence[str] = RECORD_COLUMNS
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each topic with its rows, in order, as the columns that ``send_batch`` takes.

    Raises :class:`WriteError` for a row without a topic.
    """
    names = [name for name in columns if name in batch.schema.names]
    records = pa.table([batch.column(name) for name in names], names=names)
    if topic is not None:
        yield topic, records
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise WriteError("a row has no topic: its column 'topic' is null; set the option 'topic'")
    distinct = pc.unique(topics).to_pylist()
    for name in distinct:
        mine = records if len(distinct) == 1 else records.filter(pc.equal(topics, name))
        yield name, mine
