from __future__ import annotations

import pytest

from pyk.command_line.frame.tables import Column, cell, cells, is_numeric


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (True, "yes"), (False, "no"), (7, "7"), ([1, 2], "1,2"), ([], "-"),
        ("a\tb\x1b", "a\\tb\\x1b"),
    ],
)  # fmt: skip
def test_values_are_cells_without_control_characters(value: object, text: str) -> None:
    assert cell(value) == text


def test_a_row_has_the_cells_of_the_columns() -> None:
    assert cells([Column("b"), Column("c")], {"a": 1, "b": 2}) == ["2", "-"]


def test_a_title_is_the_name_in_words_unless_it_is_given() -> None:
    assert [Column("endOffset").title, Column("id", "Broker").title] == ["End offset", "Broker"]


def test_columns_of_numbers_stand_to_the_right() -> None:
    assert is_numeric(Column("a"), [{"a": 1}, {"a": None}])
    assert not is_numeric(Column("a"), [{"a": 1}, {"a": "x"}])
    assert not is_numeric(Column("a"), [{"a": True}, {"a": None}])
    assert not is_numeric(Column("a"), [{"a": None}])
