"""Measure one connector in one Spark session: each case several times after a warm-up.

Prints one JSON line for each measurement. Started by ``python -m benchmarks.spark``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.spark import jars
from benchmarks.spark.cpu import children_cpu
from pyk.spark_connector.java import prepare_local_spark

VALUE_BYTES = 100


def session(connector: str, cores: int) -> SparkSession:
    prepare_local_spark()
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.ui.showConsoleProgress", "false")
    )
    if connector == "kafka":
        builder = builder.config("spark.jars", ",".join(map(str, jars.fetch())))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Cases:
    """The cases of a connector; each returns the number of its rows."""

    def __init__(self, spark: SparkSession, connector: str, options: argparse.Namespace) -> None:
        self._spark = spark
        self._connector = connector
        self._bootstrap = options.bootstrap
        self._records = options.records
        self._topic = options.topic

    def all(self) -> dict[str, Callable[[], None]]:
        return {
            "7 columns": lambda: self._drain(self._read()),
            "value only": lambda: self._drain(self._read_value()),
            "sink": self._write,
        }

    def _read(self, schema: str | None = None) -> DataFrame:
        reader = (
            self._spark.read.format(self._connector)
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("subscribe", self._topic)
        )
        return (reader.schema(schema) if schema else reader).load()

    def _read_value(self) -> DataFrame:
        # pyk reads only the columns of the schema; Spark's own connector reads all of them.
        if self._connector == "pyk":
            return self._read("value binary")
        return self._read().select("value")

    def _drain(self, frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def _write(self) -> None:
        self._write_generated(f"{self._topic}-written")

    def fill(self) -> None:
        self._write_generated(self._topic)

    def _write_generated(self, topic: str) -> None:
        text = sf.lpad(sf.col("id").cast("string"), 16, "0")
        frame = self._spark.range(0, self._records, numPartitions=1).select(
            text.alias("key"), sf.concat(sf.lit("x" * (VALUE_BYTES - 16)), text).alias("value")
        )
        (
            frame.write.format(self._connector)
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("topic", topic)
            .mode("append")
            .save()
        )


def measure(case: str, run: Callable[[], None], records: int) -> dict[str, object]:
    before, started = children_cpu(), time.perf_counter()
    run()
    seconds, used = time.perf_counter() - started, children_cpu() - before
    return {
        "case": case,
        "rows_per_second": records / seconds,
        "jvm_us_per_row": used.jvm / records * 1e6,
        "python_us_per_row": used.python / records * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("connector", choices=["kafka", "pyk"])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--fill", action="store_true", help="only fill the topic to read")
    options = parser.parse_args()
    cases = Cases(session(options.connector, options.cores), options.connector, options)
    if options.fill:
        cases.fill()
        return
    for name, run in cases.all().items():
        if options.only in name:
            run()  # the JVM compiles its hot code
            for _ in range(options.repeat):
                print(json.dumps(measure(name, run, options.records)), flush=True)


if __name__ == "__main__":
    main()
