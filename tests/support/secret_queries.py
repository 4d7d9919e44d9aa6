"""Run Spark queries on a cluster with TLS and a login: ``python -m support.secret_queries JOB``.

JOB is a file in JSON: ``options`` of batch queries, ``stream_options`` of a streaming one, a
``folder``, and ``confs`` of Spark.
Everything that Spark tells of the queries is printed or in the folder.
"""

from __future__ import annotations

import json
import logging
import sys
import urllib.request
from pathlib import Path
from typing import Any

from pyk.spark_connector import prepare_local_spark

PAGES = (
    "api/v1/applications/{id}/environment",
    "api/v1/applications/{id}/jobs",
    "api/v1/applications/{id}/stages?details=true",
    "api/v1/applications/{id}/sql?details=true&planDescription=true&length=1000",
    "environment",
    "SQL",
    *(f"SQL/execution?id={number}" for number in range(8)),
    "StreamingQuery",
)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    logging.basicConfig(level=logging.DEBUG)
    logging.getLogger("py4j").setLevel(logging.INFO)  # at DEBUG it logs all calls of Spark
    prepare_local_spark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("secrets")
    for name, value in job["confs"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("DEBUG")
    _batches(spark, job["options"])
    _stream(spark, job["stream_options"], f"{job['folder']}/checkpoint")
    spark.sparkContext.setLogLevel("OFF")
    for page in PAGES:
        url = f"{spark.sparkContext.uiWebUrl}/{page.format(id=spark.sparkContext.applicationId)}"
        with urllib.request.urlopen(url) as answer:
            print(f"== {page}", answer.read().decode(), sep="\n")
    spark.stop()


def _batches(spark: Any, options: dict[str, str]) -> None:
    written = spark.createDataFrame([("a", "one"), ("b", "two")], "key string, value string")
    written.write.format("pyk").options(**options, topic="in").mode("append").save()
    table = spark.read.format("pyk").options(**options, subscribe="in").load()
    print("== rows", table.count())
    for mode in ("extended", "formatted"):
        table.explain(mode=mode)
    table.createOrReplaceTempView("records")
    spark.sql("EXPLAIN EXTENDED SELECT value FROM records").show(100, truncate=False)
    jaas = "kafka.sasl.jaas.config"
    wrong = options | {jaas: options[jaas].replace("alice", "eve"), "subscribe": "in"}
    try:
        spark.read.format("pyk").options(**wrong).load().count()
    except Exception as error:
        print("== refused", repr(error), str(error))


def _stream(spark: Any, options: dict[str, str], checkpoint: str) -> None:
    stream = spark.readStream.format("pyk").options(**options, subscribe="in")
    query = (
        stream.option("startingOffsets", "earliest")
        .load()
        .writeStream.format("pyk")
        .options(**options, topic="out", checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    query.explain(True)
    print("== progress", query.lastProgress)


if __name__ == "__main__":
    main()
