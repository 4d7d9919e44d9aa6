from __future__ import annotations

import pytest

from pyk.protocol import ErrorCode


def test_a_code_from_the_future_allows_nothing() -> None:
    error = ErrorCode(31_000)

    assert error == 31_000
    assert error.name == "UNKNOWN_CODE_31000"
    assert not error.retriable
    assert "31000" in repr(error)


def test_codes_from_the_future_are_not_remembered() -> None:
    ErrorCode(31_001)

    assert "UNKNOWN_CODE_31001" not in ErrorCode.__members__


def test_a_value_that_is_not_an_int_is_not_an_error_code() -> None:
    with pytest.raises(ValueError, match="text"):
        ErrorCode("text")  # type: ignore[arg-type]


def test_stale_metadata_is_worth_a_refresh_and_a_retry() -> None:
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER

    assert (error.invalidates_metadata, error.refresh, error.retriable) == (True, True, True)
