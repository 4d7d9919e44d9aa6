"""Durations of ``auto_offset_reset``, as ``java.time.Duration`` reads them (KIP-1106)."""

from __future__ import annotations

import pytest

from pyk.clients.config.offset_reset import OffsetReset
from pyk.protocol.durations import duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1H", 3_600_000),
        ("P7D", 604_800_000),
        ("P1DT2H30M5.25S", 95_405_250),
        ("PT0S", 0),
        ("PT0.0019S", 1),
        ("pt15m", 900_000),
    ],
)
def test_a_duration_is_read(text, milliseconds):
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "1H", "PT-1H", "-PT1H", "P1Y", "P1M", "P1DT", "PT1,5S"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="PT1H"):
        duration_ms(text)


@pytest.mark.parametrize(
    ("given", "value"),
    [("Latest", "latest"), (" none ", "none"), ("BY_DURATION:pt1h", "by_duration:PT1H")],
)
def test_a_policy_is_read(given, value):
    assert OffsetReset().parse(given) == value


@pytest.mark.parametrize("given", ["by_duration", "by_duration:", "first", None, 5])
def test_what_is_no_policy_is_refused(given):
    with pytest.raises(ValueError, match="PT1H"):
        OffsetReset().parse(given)
