"""What files of records hold."""

from __future__ import annotations

import pytest

from pyk.command_line.records.sources import check_options, format_of


@pytest.mark.parametrize(
    ("name", "given", "held"),
    [
        ("a.jsonl", None, "json"),
        ("folder.jsonl/a", None, "lines"),
        ("a.b.parquet", None, "parquet"),
        ("a.feather", None, "arrow"),
        ("a.parquet", "whole", "whole"),
        ("jsonl", None, "lines"),
        ("-", None, "lines"),
    ],
)
def test_a_file_holds_what_the_user_or_its_name_says(
    name: str, given: str | None, held: str
) -> None:
    assert format_of(name, given) == held


def test_an_option_without_a_meaning_for_one_of_the_files_is_refused() -> None:
    check_options(["a", "b.jsonl"], None, ["--delimiter", "--key"])

    with pytest.raises(ValueError, match=r"--null has no meaning for b\.jsonl, which holds json"):
        check_options(["a", "b.jsonl"], None, ["--key", "--null"])
    with pytest.raises(ValueError, match="--key has no meaning for standard input, which holds"):
        check_options(["-"], "arrow", ["--key"])
