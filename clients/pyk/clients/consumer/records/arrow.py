"""Arrow tables of records, without an object per record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyk.clients.errors import KafkaError
from pyk.protocol.records import BinaryColumn, RecordColumns, RecordSpan, read_columns

if TYPE_CHECKING:
    import pyarrow

try:
    import pyarrow as pa
except ImportError as error:
    raise KafkaError(
        "to_arrow needs pyarrow, which is not installed: pip install 'pyk-kafka[arrow]'"
    ) from error

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestamp_type", pa.int32()),
        ("headers", HEADERS),
    ]
)
DEFAULT_COLUMNS = tuple(name for name in SCHEMA.names if name != "headers")
READ_FIELDS = frozenset({"key", "value", "offset", "timestamp", "headers"})
MICROSECONDS_PER_MILLISECOND = 1000


def to_arrow(spans: Sequence[RecordSpan], columns: Sequence[str] | None) -> pyarrow.Table:
    """Return the named columns of the records in ``spans``, in the order of ``columns``."""
    schema = schema_of(columns)
    names = schema.names
    chunks = read_columns(spans, [name for name in names if name in READ_FIELDS])
    batches = [
        pa.RecordBatch.from_arrays([ARRAYS[name](chunk) for name in names], schema=schema)
        for chunk in chunks
    ]
    return pa.Table.from_batches(batches, schema=schema)


def schema_of(columns: Sequence[str] | None) -> pyarrow.Schema:
    """Return the schema of a table of these columns, of all but ``headers`` for None.

    Raises ``ValueError`` for a column that records do not have, ``TypeError`` for a single name.
    """
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names such as ['{columns}'], not a str")
    names = DEFAULT_COLUMNS if columns is None else tuple(columns)
    unknown = [name for name in names if name not in SCHEMA.names]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}: there are {', '.join(SCHEMA.names)}")
    return pa.schema([SCHEMA.field(name) for name in names])


def _binary(column: BinaryColumn, kind: Any) -> Any:
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    buffers = [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, column.count, buffers)


def _keys(chunk: RecordColumns) -> Any:
    assert chunk.keys is not None
    return _binary(chunk.keys, pa.binary())


def _values(chunk: RecordColumns) -> Any:
    assert chunk.values is not None
    return _binary(chunk.values, pa.binary())


def _offsets(chunk: RecordColumns) -> Any:
    return pa.Array.from_buffers(pa.int64(), chunk.count, [None, pa.py_buffer(chunk.offsets)])


def _timestamps(chunk: RecordColumns) -> Any:
    import pyarrow.compute as pc

    buffers = [None, pa.py_buffer(chunk.timestamps)]
    milliseconds = pa.Array.from_buffers(pa.int64(), chunk.count, buffers)
    microseconds = pc.multiply(milliseconds, MICROSECONDS_PER_MILLISECOND)
    return microseconds.view(pa.timestamp("us", tz="UTC"))


def _per_origin(chunk: RecordColumns, kind: Any, value_of: Callable[[Any], Any]) -> Any:
    """Return a column whose values stay the same over many batches."""
    runs = [
        pa.repeat(pa.scalar(value, kind), sum(count for _, count in run))
        for value, run in groupby(chunk.origins, key=lambda run: value_of(run[0]))
    ]
    return runs[0] if len(runs) == 1 else pa.concat_arrays(runs)


def _headers(chunk: RecordColumns) -> Any:
    headers = chunk.headers
    assert headers is not None
    entries = pa.StructArray.from_arrays(
        [_binary(headers.names, pa.string()), _binary(headers.values, pa.binary())],
        names=["key", "value"],
    )
    validity = None if headers.validity is None else pa.py_buffer(headers.validity)
    buffers = [validity, pa.py_buffer(headers.offsets)]
    return pa.Array.from_buffers(HEADERS, chunk.count, buffers, children=[entries])


ARRAYS: dict[str, Callable[[RecordColumns], Any]] = {
    "key": _keys,
    "value": _values,
    "topic": lambda chunk: _per_origin(chunk, pa.string(), lambda origin: origin.topic),
    "partition": lambda chunk: _per_origin(chunk, pa.int32(), lambda origin: origin.partition),
    "offset": _offsets,
    "timestamp": _timestamps,
    "timestamp_type": lambda chunk: _per_origin(
        chunk, pa.int32(), lambda origin: int(origin.timestamp_type)
    ),
    "headers": _headers,
}
