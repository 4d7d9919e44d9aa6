"""Java patterns that match names of topics; tests/spark checks the same cases with Java itself."""

from __future__ import annotations

import pytest

from pyk.spark_connector.java_pattern import compile_java_pattern
from support.java_patterns import ACCEPTED, REFUSED


@pytest.mark.parametrize(("pattern", "matching", "others"), ACCEPTED)
def test_a_pattern_matches_the_same_names_as_in_java(
    pattern: str, matching: str, others: str
) -> None:
    compiled = compile_java_pattern(pattern)

    assert [name for name in matching.split() if not compiled.fullmatch(name)] == []
    assert [name for name in others.split() if compiled.fullmatch(name)] == []


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_java_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        compile_java_pattern(pattern)
