"""The patterns of topic names that a consumer may subscribe to. Pure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.protocol.patterns import Pattern


@slotted.frozen
class SubscriptionPattern:
    """A pattern of whole topic names in the syntax of RE2, which brokers and Java share.

    With ``group_protocol="consumer"`` the coordinator finds the topics (KIP-848); otherwise the
    consumer does. Raises ``ValueError`` for a text that RE2 does not accept.
    """

    pattern: str

    def __attrs_post_init__(self) -> None:
        _re2(self.pattern)


AnyPattern = str | re.Pattern[str] | SubscriptionPattern


@slotted.frozen
class TopicPattern:
    """A pattern that the consumer resolves."""

    text: str
    matches: Callable[[str], bool]
    """Returns whether a whole name matches."""

    @classmethod
    def of(cls, pattern: AnyPattern) -> TopicPattern:
        """Return the pattern that an application gave.

        Raises ``TypeError`` or ``ValueError`` if it is invalid.
        """
        if isinstance(pattern, SubscriptionPattern):
            return cls(pattern.pattern, _re2(pattern.pattern).matches)
        if not isinstance(getattr(pattern, "pattern", pattern), str):
            raise TypeError(
                f"pattern must be a str, re.compile(str) or SubscriptionPattern, not {pattern!r}"
            )
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise ValueError(f"pattern {pattern!r} is not a regular expression: {error}") from error
        return cls(compiled.pattern, lambda name: compiled.fullmatch(name) is not None)


def _re2(text: str) -> Pattern:
    if not isinstance(text, str):
        raise TypeError(f"the pattern of a SubscriptionPattern must be a str, not {text!r}")
    from pyk.protocol.patterns import InvalidPatternError, Pattern  # few consumers have one

    try:
        return Pattern(text)
    except InvalidPatternError as error:
        hint = "; Python's syntax, that of a plain str, has it" if _is_of_python(text) else ""
        raise ValueError(f"pattern {text!r} is not in the syntax of RE2: {error}{hint}") from error


def _is_of_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            re.compile(text)
        except (re.error, Warning):
            return False
    return True
