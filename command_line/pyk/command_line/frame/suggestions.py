"""Suggest what a user meant by a misspelt word. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'topic'?`` for the nearest known word, or nothing."""
    by_folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(word.casefold(), by_folded, n=1)
    return f"did you mean {by_folded[near[0]]!r}?" if near else ""
