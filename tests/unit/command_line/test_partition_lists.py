from __future__ import annotations

import pytest

from pyk.command_line.partition_lists import parse_partitions


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("orders", ("orders", ())), ("orders:0", ("orders", (0,))), ("a:2,0", ("a", (2, 0)))],
)
def test_a_topic_and_some_of_its_partitions_are_named(
    text: str, parsed: tuple[str, tuple[int, ...]]
) -> None:
    assert parse_partitions(text) == parsed


@pytest.mark.parametrize("text", ["", ":0", "orders:", "orders:x", "orders:0,"])
def test_the_error_for_another_text_says_how_to_name_them(text: str) -> None:
    with pytest.raises(ValueError, match="must be TOPIC or TOPIC:PARTITION,…"):
        parse_partitions(text)
