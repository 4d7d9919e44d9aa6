"""Suggest what a user meant by a misspelt word. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'topic'?`` for the nearest known word, or nothing."""
    from difflib import get_close_matches  # only a mistake needs it

    by_folded = {each.casefold(): each for each in known}
    near = get_close_matches(word.casefold(), by_folded, n=1)
    return f"did you mean {by_folded[near[0]]!r}?" if near else ""
