"""How many tasks Spark runs at once, from the command line of its JVM."""

from __future__ import annotations

import pytest

from pyk.spark_connector.parallelism import UNKNOWN, default_parallelism, parallelism_of

SUBMIT = "java -cp x org.apache.spark.deploy.SparkSubmit"


@pytest.mark.parametrize(
    ("command", "parallelism"),
    [
        (f"{SUBMIT} --conf spark.master=local[3] pyspark-shell", 3),
        (f"{SUBMIT} --master local[3] job.py", 3),
        (f"{SUBMIT} --conf spark.master=local[3,4] pyspark-shell", 3),
        (f"{SUBMIT} --conf spark.master=local[*] pyspark-shell", 8),
        (f"{SUBMIT} --master local job.py", 1),
        (f"{SUBMIT} --master local[3] --conf spark.default.parallelism=7 job.py", 7),
        (f"{SUBMIT} --master local-cluster[2,3,1024] job.py", 6),
        (f"{SUBMIT} --master yarn --conf spark.default.parallelism=200 job.py", 200),
        (f"{SUBMIT} --master yarn --num-executors 5 --executor-cores 4 job.py", 20),
        (f"{SUBMIT} --conf spark.executor.instances=5 --conf spark.executor.cores=4 job.py", 20),
        (f"{SUBMIT} --master yarn job.py", None),
        ("python -m pyspark.daemon", None),
    ],
)
def test_parallelism_is_that_of_the_command_line(command: str, parallelism: int | None) -> None:
    assert parallelism_of(command.split(), cpus=8) == parallelism


def test_parallelism_is_high_where_it_is_unknown() -> None:
    assert default_parallelism() == UNKNOWN  # no JVM is above these tests
