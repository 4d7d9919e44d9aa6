"""How the Python processes of the tests' Spark start."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_workers_import_pyspark_as_it_is_installed(spark: SparkSession) -> None:
    def where(_: int) -> str:
        import pyspark

        return str(pyspark.__file__)

    (file,) = spark.sparkContext.parallelize([1], 1).map(where).collect()

    assert "pyspark.zip" not in file
