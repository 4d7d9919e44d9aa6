"""Java matches the patterns that pyk translates to Python's syntax."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from support.java_patterns import ACCEPTED

pytestmark = pytest.mark.spark


def test_java_accepts_and_matches_the_same_patterns(spark: SparkSession) -> None:
    matches = spark._jvm.java.util.regex.Pattern.matches  # type: ignore[union-attr]

    for pattern, matching, others in ACCEPTED:
        assert [name for name in matching.split() if not matches(pattern, name)] == [], pattern
        assert [name for name in others.split() if matches(pattern, name)] == [], pattern
