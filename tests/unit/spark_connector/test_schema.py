"""The columns of Spark's Kafka source, as DDL and as Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pyk.spark_connector.errors import SchemaError
from pyk.spark_connector.schema import Column, arrow_schema, source_schema, wanted_columns

HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
EVERYTHING = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(HEADER)),
    ]
)


def test_columns_are_those_of_sparks_kafka_source() -> None:
    plain = source_schema(include_headers=False)

    assert plain == (
        "key binary, value binary, topic string, partition int, offset bigint, "
        "timestamp timestamp_ltz, timestampType int"
    )
    with_headers = source_schema(include_headers=True)
    assert with_headers == plain + ", headers array<struct<key:string,value:binary>>"


def test_the_arrow_schema_matches_the_one_of_spark() -> None:
    columns = wanted_columns(EVERYTHING)

    assert arrow_schema(columns).equals(to_arrow_schema(EVERYTHING, timezone="UTC"))


def test_a_query_chooses_columns_their_order_and_their_case() -> None:
    schema = StructType(
        [
            StructField("OFFSET", LongType(), nullable=False),
            StructField("timestampType", IntegerType()),
        ]
    )

    columns = wanted_columns(schema)

    assert columns == (Column("offset", "OFFSET", False), Column("timestampType", "timestampType"))
    assert [one.client_name for one in columns] == ["offset", "timestamp_type"]
    assert arrow_schema(columns) == pa.schema(
        [pa.field("OFFSET", pa.int64(), False), pa.field("timestampType", pa.int32())]
    )


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (StructField("body", BinaryType()), "unknown column 'body'; Kafka records have"),
        (StructField("value", StringType()), "column 'value' must be binary, not string"),
        (StructField("timestamp", TimestampNTZType()), "must be timestamp, not timestamp_ntz"),
    ],
)
def test_the_error_for_an_invalid_column_names_it(field: StructField, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        wanted_columns(StructType([field]))
