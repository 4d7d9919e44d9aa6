"""Validate the fields of values where they are made, so that a mistake is named there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def check_field(value: object, name: str, kind: type, form: str | None = None) -> None:
    """Raise ``TypeError`` unless a field of a value is of a type; a bool is not a number."""
    found: Any = getattr(value, name)
    if isinstance(found, kind) and not isinstance(found, bool):
        return
    wanted = form or f"{_article(kind.__name__)} {kind.__name__}"
    raise TypeError(f"{name} of {type(value).__name__} must be {wanted}, not {found!r}")


def check_member(value: object, name: str, kind: Any) -> None:
    """Raise ``TypeError`` unless a field of a value is a member of an enum; suggest a member."""
    found: Any = getattr(value, name)
    if isinstance(found, kind):
        return
    members = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
    meant = _meant(kind, found)
    advice = "" if meant is None else f": give {kind.__name__}.{meant}"
    raise TypeError(
        f"{name} of {type(value).__name__} must be one of {members}, not {found!r}{advice}"
    )


def _meant(kind: Any, found: object) -> str | None:
    """Return the name of the member that a name or number is of, None if of none."""
    if isinstance(found, str):
        from difflib import get_close_matches  # only mistakes need it

        near = get_close_matches(found.upper(), [one.name for one in kind], n=1)
        return near[0] if near else None
    return next((one.name for one in kind if found is not True and found == one.value), None)


def check_replicas(what: str, given: object) -> None:
    """Raise ``TypeError`` unless this is a sequence of broker ids."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        ids = list(given)
        if all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
            return
    raise TypeError(f"{what} must be a sequence of broker ids, not {given!r}")


def _article(word: str) -> str:
    return "an" if word[0].lower() in "aeiou" else "a"
