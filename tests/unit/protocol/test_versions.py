from __future__ import annotations

import pytest

from pyk.protocol import VersionRange


@pytest.mark.parametrize("text", ["3", "0-13", "9+", "none", "0+"])
def test_range_is_written_as_it_was_read(text: str) -> None:
    assert str(VersionRange.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("3", [3], [2, 4]),
        ("1-3", [1, 2, 3], [0, 4]),
        ("9+", [9, 32767], [8, -1]),
        ("none", [], [0]),
    ],
)
def test_range_contains_its_versions(text: str, inside: list[int], outside: list[int]) -> None:
    versions = VersionRange.parse(text)

    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [("0-5", "3+", "3-5"), ("0-5", "6+", "none"), ("none", "0+", "none"), ("2", "0-9", "2")],
)
def test_intersection_has_what_both_have(one: str, other: str, both: str) -> None:
    assert str(VersionRange.parse(one) & VersionRange.parse(other)) == both


def test_range_lists_its_versions() -> None:
    assert list(VersionRange.parse("2-4")) == [2, 3, 4]
