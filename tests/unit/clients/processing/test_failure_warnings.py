"""Failures of handlers are logged once in a while, and all are counted."""

from __future__ import annotations

from pyk.clients.processing.failure_warnings import WARNING_INTERVAL_SECONDS, FailureWarnings


def test_the_first_failure_is_logged_and_others_are_counted_by_the_next_warning() -> None:
    warnings = FailureWarnings()

    assert warnings.take_warning(100.0) == 0
    assert warnings.take_warning(100.0) is None
    assert warnings.take_warning(100.0 + WARNING_INTERVAL_SECONDS - 0.1) is None
    assert warnings.take_warning(100.0 + WARNING_INTERVAL_SECONDS) == 2
    assert warnings.take_warning(100.0 + WARNING_INTERVAL_SECONDS) is None
    assert warnings.take_warning(100.0 + 3 * WARNING_INTERVAL_SECONDS) == 1
    assert warnings.take_warning(100.0 + 5 * WARNING_INTERVAL_SECONDS) == 0


def test_what_no_warning_has_counted_is_reported_once_at_the_end() -> None:
    warnings = FailureWarnings()
    warnings.take_warning(0.0)
    warnings.take_warning(1.0)

    assert warnings.take_rest() == 1
    assert warnings.take_rest() == 0
