from __future__ import annotations

from pathlib import Path

from docs.broker_apis import COMMAND, LIMITS, PAGE, page
from docs.tested_apis import TESTED
from pyk.reference_broker.handlers.table import APIS

TESTS = Path(__file__).parents[1]


def test_the_page_of_apis_matches_the_code() -> None:
    assert PAGE.read_text("utf-8") == page(), f"run  {COMMAND}"


def test_limits_are_those_of_apis_that_are_served() -> None:
    assert LIMITS.keys() <= APIS.keys()


def test_no_row_of_the_table_has_an_empty_cell() -> None:
    rows = [line for line in page().splitlines() if line[:3].strip("| ")[:1].isdigit()]

    assert len(rows) == len(APIS)
    assert all(cell.strip() for row in rows for cell in row.strip("|").split("|"))


def test_every_api_is_tested_by_files_that_exist() -> None:
    files = {file for some in TESTED.values() for file in some}

    assert TESTED.keys() == APIS.keys(), "name the tests of new APIs in tests/docs/tested_apis.py"
    assert all(TESTED.values())
    assert [file for file in files if not (TESTS / file).is_file()] == []
