"""Write a table of Arrow to a topic and read one back, without a Python object per record.

python examples/arrow_in_and_out.py localhost:9092
"""

from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.compute as pc

from pyk.clients import Consumer, Producer

TOPIC = "measurements"


def write(bootstrap: str, count: int) -> None:
    """Write one record for each row."""
    rows = pa.table(
        {
            "key": pa.array([f"sensor-{n % 10}" for n in range(count)]),
            "value": pa.array([str(n % 100) for n in range(count)]),
        }
    )
    with Producer(bootstrap, compression_type="lz4") as producer:
        producer.send_batch(TOPIC, rows).result(timeout=30)


def read(bootstrap: str) -> pa.Table:
    """Read all records that the topic has now, as one table."""
    columns = ["key", "value", "partition", "offset"]
    with Consumer(bootstrap, topics=[TOPIC], auto_offset_reset="earliest") as consumer:
        tables = [consumer.poll(timeout=10, max_records=100_000).to_arrow(columns)]
        while any(consumer.lag().values()):
            tables.append(consumer.poll(timeout=10, max_records=100_000).to_arrow(columns))
    return pa.concat_tables(tables)


def main(bootstrap: str) -> None:
    write(bootstrap, 10_000)
    table = read(bootstrap)
    numbers = pc.cast(pc.cast(table["value"], pa.string()), pa.int64())
    print(f"{table.num_rows} rows, mean {pc.mean(numbers).as_py()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
