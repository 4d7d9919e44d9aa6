"""The daemon that forks Spark's Python workers."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.argv = ["daemon", "pyspark.worker"]
from pyk.spark_connector import daemon
daemon.preload()
import gc, threading
print(threading.active_count(), gc.get_freeze_count() > 10_000)
print(all(name in sys.modules for name in (
    "pyarrow", "pyspark.sql.worker.plan_data_source_read", "pyk.clients.consumer.faces.consumer",
    "pyk.clients.producer.faces.producer", "pyk.spark_connector.range_reader",
    "pyk.spark_connector.sink",
)))
"""


def test_modules_that_workers_need_are_imported_before_the_fork() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout == "1 True\nTrue\n", done.stderr
