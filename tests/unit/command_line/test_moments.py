from __future__ import annotations

import pytest

from pyk.command_line.moments import EARLIEST, LATEST, Moment, parse_moment, time_text

NOW = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("earliest", EARLIEST),
        ("Latest", LATEST),
        ("42", Moment(offset=42)),
        ("-10", Moment(offset=-10)),
        ("@1700000000000", Moment(time_ms=1_700_000_000_000)),
        ("15m", Moment(time_ms=NOW - 900_000)),
        ("1.5h ago", Moment(time_ms=NOW - 5_400_000)),
        ("2026-03-01", Moment(time_ms=1_772_323_200_000)),
        ("2026-03-01T12:00:00Z", Moment(time_ms=1_772_366_400_000)),
        ("2026-03-01T13:00+01:00", Moment(time_ms=1_772_366_400_000)),
    ],
)
def test_moments_are_names_offsets_times_and_durations(text: str, moment: Moment) -> None:
    assert parse_moment(text, NOW) == moment


def test_the_error_for_another_text_names_the_forms() -> None:
    with pytest.raises(ValueError, match=r"'yesterday' must be earliest, latest, an offset, -N"):
        parse_moment("yesterday", NOW)


@pytest.mark.parametrize("text", ["-0", "-00"])
def test_minus_zero_is_refused_because_tools_differ_on_it(text: str) -> None:
    problem = (
        rf"'{text}' may mean the start or the end: write 0 for offset 0, or latest for the end"
    )

    with pytest.raises(ValueError, match=problem):
        parse_moment(text, NOW)


@pytest.mark.parametrize(
    "text", ["0001-01-01", "0001-01-01T00:00+14:00", "999999w", "9" * 400 + "w"]
)
def test_a_time_before_all_records_is_the_first_that_a_record_may_have(text: str) -> None:
    assert parse_moment(text, NOW) == Moment(time_ms=0)


def test_a_time_after_all_records_is_the_last_that_a_record_may_have() -> None:
    assert parse_moment("@" + "9" * 23, NOW) == Moment(time_ms=2**63 - 1)


@pytest.mark.parametrize(
    ("end", "start", "is_before"),
    [
        (Moment(offset=2), Moment(offset=5), True),
        (Moment(offset=5), Moment(offset=5), False),
        (Moment(offset=-5), Moment(offset=-2), True),
        (Moment(offset=2), Moment(offset=-5), False),
        (Moment(offset=-5), Moment(offset=2), False),
        (Moment(time_ms=1), Moment(time_ms=2), True),
        (Moment(time_ms=2), Moment(time_ms=2), False),
        (Moment(time_ms=1), Moment(offset=2), False),
        (EARLIEST, LATEST, True),
        (LATEST, LATEST, False),
        (EARLIEST, Moment(offset=2), False),
    ],
)
def test_a_range_that_ends_before_it_starts_is_known_where_it_can_be(
    end: Moment, start: Moment, is_before: bool
) -> None:
    assert end.is_before(start) is is_before


@pytest.mark.parametrize(
    ("moment", "at_time", "offset"),
    [
        (EARLIEST, None, 10),
        (LATEST, None, 100),
        (Moment(offset=42), None, 42),
        (Moment(offset=5), None, 10),
        (Moment(offset=500), None, 100),
        (Moment(offset=-3), None, 97),
        (Moment(offset=-500), None, 10),
        (Moment(time_ms=1), 55, 55),
        (Moment(time_ms=1), None, 100),
    ],
)
def test_a_moment_is_an_offset_within_the_log(
    moment: Moment, at_time: int | None, offset: int
) -> None:
    assert moment.resolve(10, 100, at_time) == offset


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (None, None), (-1, None), (0, "1970-01-01T00:00:00.000Z"),
        (1_772_366_400_123, "2026-03-01T12:00:00.123Z"),
        (2**60, f"@{2**60}"),
    ],
)  # fmt: skip
def test_a_time_is_shown_in_utc(time_ms: int | None, text: str | None) -> None:
    assert time_text(time_ms) == text
