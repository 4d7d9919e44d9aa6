from __future__ import annotations

from pyk.command_line.measurements import histogram, percentile, summary


def test_percentiles_are_values_that_were_measured() -> None:
    ordered = [float(number) for number in range(1, 101)]

    assert [percentile(ordered, one) for one in (0, 50, 90, 99, 100)] == [1, 50, 90, 99, 100]
    assert percentile([7.0], 50) == 7.0
    assert summary([3.0, 1.0, 2.0]) == {"p50Ms": 2.0, "p90Ms": 3.0, "p99Ms": 3.0, "maxMs": 3.0}
    assert summary([]) == {}


def test_a_histogram_has_a_bar_for_each_power_of_two() -> None:
    assert list(histogram([0.1, 3.0, 3.5, 100.0])) == [
        f"<     0.125 ms  {'#' * 20:<40}  1",
        f"<         4 ms  {'#' * 40:<40}  2",
        f"<       128 ms  {'#' * 20:<40}  1",
    ]
    assert list(histogram([])) == []
