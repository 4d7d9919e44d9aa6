"""Characters in regular expressions: classes by name, by escape, in both cases. Pure."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable

from pyk.runtime import slotted

from .program import Accepts

DIGITS = frozenset(string.digits)
WORD = frozenset(string.ascii_letters + string.digits + "_")
SPACES = frozenset("\t\n\f\r ")
_ASCII = frozenset(map(chr, range(128)))
_PRINTED = frozenset(map(chr, range(0x21, 0x7F)))

POSIX = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "ascii": _ASCII,
    "blank": frozenset("\t "),
    "cntrl": _ASCII - _PRINTED - {" "},
    "digit": DIGITS,
    "graph": _PRINTED,
    "lower": frozenset(string.ascii_lowercase),
    "print": _PRINTED | {" "},
    "punct": frozenset(string.punctuation),
    "space": frozenset("\t\n\v\f\r "),
    "upper": frozenset(string.ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(string.hexdigits),
}
"""The classes in ``[[:name:]]``, which know ASCII only."""

_PERL = {"d": DIGITS, "s": SPACES, "w": WORD}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CATEGORIES = (
    *(
        "Cc",
        "Cf",
        "Cn",
        "Co",
        "Cs",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "Mc",
        "Me",
        "Mn",
        "Nd",
        "Nl",
        "No",
    ),
    *("Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"),
)
MAX_CODE = 0x10FFFF


@slotted.frozen(kw_only=True, eq=False)
class CharacterClass:
    """A class in brackets: single characters, ranges, and other classes."""

    characters: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    others: tuple[Accepts, ...]
    is_negated: bool

    def __call__(self, character: str) -> bool:
        """Return whether a character is one of the class."""
        is_in = (
            character in self.characters
            or any(first <= character <= last for first, last in self.ranges)
            or any(accepts(character) for accepts in self.others)
        )
        return is_in is not self.is_negated


def one_of(characters: Iterable[str], *, is_negated: bool = False) -> Accepts:
    """Return the class of these characters, or of all others."""
    return CharacterClass(
        characters=frozenset(characters), ranges=(), others=(), is_negated=is_negated
    )


def perl_class(letter: str) -> Accepts | None:
    """Return the class that an escape such as ``\\d`` or ``\\D`` stands for, None if for none."""
    characters = _PERL.get(letter.lower())
    return None if characters is None else one_of(characters, is_negated=letter.isupper())


def control_character(letter: str) -> str | None:
    """Return the character that an escape such as ``\\n`` stands for, None if for none."""
    return _CONTROL.get(letter)


def unicode_class(name: str) -> Accepts | None:
    """Return a general category of Unicode such as ``L`` or ``Lu``, None if there is none.

    Scripts such as ``Greek``, which RE2 knows too, are not known here.
    """
    if name == "Any":
        return one_of((), is_negated=True)
    if not any(category.startswith(name) for category in _CATEGORIES) or not name:
        return None
    return lambda character: unicodedata.category(character).startswith(name)


def negated(accepts: Accepts) -> Accepts:
    """Return the class of all other characters."""
    return lambda character: not accepts(character)


def without_case(accepts: Accepts) -> Accepts:
    """Return the class with the other case of its characters."""
    return lambda character: any(map(accepts, _cases(character)))


def _cases(character: str) -> set[str]:
    upper, lower = character.upper(), character.lower()
    found = {character, upper, lower, upper.lower(), lower.upper()}
    return {each for each in found if len(each) == 1}
