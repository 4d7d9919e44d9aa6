"""The columns of Spark's Kafka source, those that a query reads, and their Arrow types.

Spark does not tell a Python source which columns it needs, so a query names them with a schema:
``.schema("value binary, offset long")`` makes these two columns only. Spark checks batches against
its own Arrow schema exactly (names, order, types, nullability).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyk.spark_connector.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

HEADERS = "headers"
# In the order of Spark's source; types as Spark prints them.
COLUMN_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    HEADERS: "array<struct<key:string,value:binary>>",
}
# The names of columns in pyk.clients where they differ.
CLIENT_NAMES = {"timestampType": "timestamp_type"}


class Column(NamedTuple):
    """A column to read, and its name in the query."""

    column: str
    name: str
    nullable: bool = True

    @property
    def client_name(self) -> str:
        return CLIENT_NAMES.get(self.column, self.column)


def source_schema(*, include_headers: bool) -> str:
    """Return the DDL of Spark's Kafka source, without or with ``headers``."""
    # The meaning of plain ``timestamp`` depends on spark.sql.timestampType.
    types = COLUMN_TYPES | {"timestamp": "timestamp_ltz"}
    return ", ".join(
        f"{name} {type_}" for name, type_ in types.items() if include_headers or name != HEADERS
    )


def wanted_columns(schema: StructType) -> tuple[Column, ...]:
    """Return the columns of a query's schema; raise :class:`SchemaError` for an unknown column."""
    by_lower_case = {name.lower(): name for name in COLUMN_TYPES}
    columns = []
    for field in schema.fields:
        column = by_lower_case.get(field.name.lower())
        if column is None:
            known = ", ".join(COLUMN_TYPES)
            raise SchemaError(f"unknown column {field.name!r}; Kafka records have {known}")
        type_ = field.dataType.simpleString()
        if type_ != COLUMN_TYPES[column]:
            raise SchemaError(f"column {field.name!r} must be {COLUMN_TYPES[column]}, not {type_}")
        columns.append(Column(column, field.name, field.nullable))
    if not columns:
        raise SchemaError("the schema has no columns")
    return tuple(columns)


def arrow_schema(columns: Sequence[Column]) -> pyarrow.Schema:
    """Return the schema that Spark expects of batches with these columns."""
    import pyarrow as pa

    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    types = {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        HEADERS: pa.list_(pa.field("element", header)),
    }
    return pa.schema([pa.field(one.name, types[one.column], one.nullable) for one in columns])
