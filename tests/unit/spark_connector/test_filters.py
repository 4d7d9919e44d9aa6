"""Filters on topic, partition and offset leave out what need not be read."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from pyk.spark_connector.filters import narrow
from pyk.spark_connector.planning import OffsetRange

A0, A1, B0 = OffsetRange("a", 0, 10, 20), OffsetRange("a", 1, 15, 30), OffsetRange("b", 0, 0, 5)
OFFSET, PARTITION, TOPIC = ("offset",), ("Partition",), ("topic",)


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ([], (A0, A1, B0)),
        ([EqualTo(PARTITION, 0)], (A0, B0)),
        ([In(PARTITION, (1, 7))], (A1,)),
        ([EqualTo(TOPIC, "b")], (B0,)),
        ([EqualTo(TOPIC, "a"), EqualTo(PARTITION, 1)], (A1,)),
        ([GreaterThan(OFFSET, 16)], (A0._replace(start=17), A1._replace(start=17))),
        ([GreaterThanOrEqual(OFFSET, 16)], (A0._replace(start=16), A1._replace(start=16))),
        ([LessThan(OFFSET, 12)], (A0._replace(end=12), B0)),
        ([LessThanOrEqual(OFFSET, 12)], (A0._replace(end=13), B0)),
        ([EqualTo(OFFSET, 3)], (B0._replace(start=3, end=4),)),
        ([In(OFFSET, (3, 11))], (A0._replace(end=12), B0._replace(start=3))),
        ([GreaterThan(OFFSET, 11), LessThan(OFFSET, 13)], (A0._replace(start=12, end=13),)),
        ([In(OFFSET, ())], ()),
        ([LessThan(PARTITION, 1)], (A0, A1, B0)),
        ([IsNotNull(OFFSET), Not(EqualTo(OFFSET, 3)), EqualTo(("key",), b"x")], (A0, A1, B0)),
        ([EqualTo(OFFSET, None)], (A0, A1, B0)),
    ],
)
def test_what_is_left_to_read(filters: list[Filter], kept: tuple[OffsetRange, ...]) -> None:
    assert narrow((A0, A1, B0), filters) == kept
