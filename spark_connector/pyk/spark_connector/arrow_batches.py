"""Arrow record batches between the clients' columns and Spark's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyk.clients.reading.batch_size import TARGET_BYTES
from pyk.spark_connector.schema import Column


def spark_batch(table: pa.Table, columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns that Spark asked for, in exactly the schema that Spark expects."""
    arrays = [
        _converted(table.column(column.client_name), field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch that is far above the target size: the JVM holds a whole batch in memory."""
    parts = max(1, batch.nbytes // TARGET_BYTES)
    rows = max(1, -(-batch.num_rows // parts))
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)


def _converted(column: pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_list(type_):
        return _null_if_empty(array, type_)
    return array if array.type == type_ else pc.cast(array, type_)


def _null_if_empty(headers: pa.ListArray, type_: pa.ListType) -> pa.Array:
    """Replace empty arrays by null, as Spark's own source does for a record without headers."""
    is_empty = pc.fill_null(pc.equal(pc.list_value_length(headers), 0), True)
    return pa.ListArray.from_arrays(headers.offsets, headers.values, type=type_, mask=is_empty)
