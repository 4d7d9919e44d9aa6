"""Spark's daemon of Python workers, which here imports the modules of the workers before it forks.

Set ``spark.python.daemon.module`` to ``pyk.spark_connector.daemon``. Spark forks a worker for each
task that runs at once, and several kinds of them to plan a query; each imports pyarrow and the
clients, which takes longer than reading a small topic. Workers of this daemon have them already.
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
    """Import the modules that workers need, and exempt them from garbage collection.

    Importing starts no thread, since threads do not survive a fork. A module that this version of
    Spark does not have is skipped: workers import what they need anyway.
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
