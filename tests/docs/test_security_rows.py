"""The page of security rows names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "security-rows.md"
ROW = re.compile(r"^\| ([SR][0-9]+) \|.*\| (.*) \|$", re.M)
NAME = re.compile(r"`([a-z_/0-9]+\.py)(?:::(test_[a-z_0-9]+))?`")
# Of the requirements of security that this release is held to.
EXPECTED = [f"S{n}" for n in (1, 3, 5, 7, 9, 10, 11, 12, 14, 16, 17, 19, 20, 21, 22, 23)] + ["R37"]

rows = dict(ROW.findall(PAGE.read_text()))


def test_every_row_is_there() -> None:
    assert list(rows) == EXPECTED


@pytest.mark.parametrize("row", rows)
def test_the_tests_of_a_row_exist(row: str) -> None:
    named = NAME.findall(rows[row])

    assert len(named) == rows[row].count("`") // 2 > 0
    for path, test in named:
        source = (TESTS / path).read_text()
        assert re.search(rf"^(async )?def {test or 'test_'}", source, re.M), f"{path}::{test}"
