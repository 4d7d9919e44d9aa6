"""The errors of configuration."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.errors import ErrorCode


class InvalidConfigError(ValueError):
    """A configuration ``name`` that does not exist, or a value it cannot have."""

    code = ErrorCode.INVALID_CONFIG

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(message)
        self.name = name

    @classmethod
    def unknown(cls, name: str, kind: str, known: Iterable[str]) -> InvalidConfigError:
        """Return the error for a name that is in no table, with the nearest that is."""
        from difflib import get_close_matches

        nearest = get_close_matches(name, known, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        return cls(f"unknown {kind} configuration {name[:100]!r}{hint}", name=name)
