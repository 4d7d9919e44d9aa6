from __future__ import annotations

from docs.broker_apis import (
    COMMAND,
    LIMITS,
    NOT_SERVED,
    PAGE,
    TESTS,
    THROUGH_CLIENTS,
    files_testing,
    page,
)
from pyk.reference_broker.handlers.table import APIS


def test_the_page_of_apis_matches_the_code() -> None:
    assert PAGE.read_text("utf-8") == page(), f"run  {COMMAND}"


def test_an_api_is_served_or_said_to_be_missing() -> None:
    assert not APIS.keys() & NOT_SERVED.keys()
    assert LIMITS.keys() <= APIS.keys()


def test_no_row_of_the_table_has_an_empty_cell() -> None:
    rows = [line for line in page().splitlines() if line[:3].strip("| ")[:1].isdigit()]

    assert len(rows) == len(APIS) + len(NOT_SERVED)
    assert all(cell.strip() for row in rows for cell in row.strip("|").split("|"))


def test_every_api_is_tested_by_files_that_exist() -> None:
    untested = [key.api_name for key in APIS if not files_testing(key)]

    assert untested == [], "name the tests in THROUGH_CLIENTS"
    assert all((TESTS / file).is_file() for files in THROUGH_CLIENTS.values() for file in files)
