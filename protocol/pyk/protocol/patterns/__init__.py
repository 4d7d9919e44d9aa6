"""Regular expressions in the syntax of RE2, matched in linear time."""

from .pattern import InvalidPatternError, Pattern

__all__ = ["InvalidPatternError", "Pattern"]
