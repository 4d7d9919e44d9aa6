"""Spark's daemon of Python workers, with the imports of the workers done before it forks them.

Set ``spark.python.daemon.module`` to ``pyk.spark_connector.daemon``. Spark forks a worker for each
task that runs at once, and several kinds of them to plan a query; each imports pyarrow and the
clients, which takes longer than reading a small topic. A worker that is forked from here has them.
"""

from __future__ import annotations

import gc
from importlib import import_module

MODULES = (
    "pyarrow.compute",
    "pyspark.sql.conversion",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.worker",
    "pyk.clients.admin.admin",
    "pyk.clients.consumer.faces.consumer",
    "pyk.clients.producer.faces.producer",
    "pyk.spark_connector.kafka_cluster",
    "pyk.spark_connector.range_reader",
    "pyk.spark_connector.sink",
    "pyk.spark_connector.source",
    "pyk.spark_connector.workers",
)


def preload() -> None:
    """Import what workers need, and take it out of the garbage collector's sight.

    Importing starts no thread, which a fork would not take along. A module that this version of
    Spark does not have is left out: workers import what they need anyway.
    """
    for name in MODULES:
        try:
            import_module(name)
        except ImportError:
            continue
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    preload()
    from pyspark.daemon import manager

    manager()
