r"""Translate regular expressions of Java for names of topics. Pure.

``subscribePattern`` is a regular expression of Java in Spark's own source. Most are the same in
Python; this module translates the others (``\p{Alnum}``, ``[a-z&&[^q]]``, ``\Q…\E``,
``(?<name>…)``). Names of topics consist of 65 characters, so every class of Java becomes a list of
some of these; tables of Unicode are not needed.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable

LETTERS = frozenset(string.ascii_letters)
DIGITS = frozenset(string.digits)
PUNCTUATION = frozenset("._-")
ALPHABET = LETTERS | DIGITS | PUNCTUATION
NOTHING = frozenset[str]()

LOWER, UPPER = frozenset(string.ascii_lowercase), frozenset(string.ascii_uppercase)
NAMED_CLASSES = {
    "Lower": LOWER,
    "Upper": UPPER,
    "ASCII": ALPHABET,
    "Alpha": LETTERS,
    "Digit": DIGITS,
    "Alnum": LETTERS | DIGITS,
    "Punct": PUNCTUATION,
    "Graph": ALPHABET,
    "Print": ALPHABET,
    "Blank": NOTHING,
    "Cntrl": NOTHING,
    "XDigit": frozenset(string.hexdigits),
    "Space": NOTHING,
    "javaLowerCase": LOWER,
    "javaUpperCase": UPPER,
    "javaLetter": LETTERS,
    "javaDigit": DIGITS,
    "javaLetterOrDigit": LETTERS | DIGITS,
    "javaWhitespace": NOTHING,
    "IsAlphabetic": LETTERS,
    "IsLetter": LETTERS,
    "IsDigit": DIGITS,
    "IsLowercase": LOWER,
    "IsUppercase": UPPER,
    "IsPunctuation": PUNCTUATION,
    "IsWhite_Space": NOTHING,
    "IsLatin": LETTERS,
    "InBasicLatin": ALPHABET,
    "InBASIC_LATIN": ALPHABET,
    "LC": LETTERS,
    "L1": ALPHABET,
}
GENERAL_CATEGORY = re.compile(r"(?:Is|gc=|general_category=)?([LMNPSZC][a-z]?)")
SHORT_CLASSES = {
    "d": DIGITS,
    "D": ALPHABET - DIGITS,
    "w": LETTERS | DIGITS | {"_"},
    "W": frozenset("-."),
    "s": NOTHING,
    "S": ALPHABET,
    "h": NOTHING,
    "H": ALPHABET,
    "v": NOTHING,
    "V": ALPHABET,
    "R": NOTHING,
}
SAME_OUTSIDE_CLASSES = frozenset("AbB")
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
FLAGS = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]+)?([:)])")
UNICODE_FLAGS = str.maketrans("", "", "duU")  # they make no difference to names of topics


def compile_java_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern whose ``fullmatch`` accepts the same names as ``matches`` in Java.

    Raises ``ValueError`` for an invalid pattern.
    """
    try:
        return re.compile(_Translator(text).pattern(), re.ASCII)
    except re.error as error:
        raise ValueError(str(error)) from None


class _Translator:
    """Reads a pattern from left to right; ``_at`` is the next character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def pattern(self) -> str:
        """Return the same pattern in Python's notation."""
        parts: list[str] = []
        while self._at < len(self._text):
            if self._takes("\\Q"):
                parts.append(re.escape(self._quoted()))
            elif self._takes("\\"):
                parts.append(self._escape())
            elif self._takes("["):
                parts.append(self._class_text())
            elif self._text.startswith("(?", self._at):
                parts.append(self._group())
            else:
                parts.append(self._next())
        return "".join(parts)

    def _group(self) -> str:
        flags = FLAGS.match(self._text, self._at)
        if flags is not None:
            self._at = flags.end()
            on, off = flags[1].translate(UNICODE_FLAGS), (flags[2] or "").translate(UNICODE_FLAGS)
            off = "" if off == "-" else off
            return f"(?{on}{off}{flags[3]}" if on or off or flags[3] == ":" else ""
        self._at += 2
        if self._peek() == "<" and self._text[self._at + 1 : self._at + 2] not in ("=", "!"):
            return "(?P"  # a named group
        return "(?"

    def _escape(self) -> str:
        letter = self._next()
        if letter in SAME_OUTSIDE_CLASSES:
            return "\\" + letter
        if letter in "zZ":
            return r"\Z"
        if letter in "123456789":
            return f"(?:\\{letter})"
        if letter == "k":
            return f"(?P={self._until('>').removeprefix('<')})"
        found = self._set_of(letter)
        return re.escape(self._character(letter)) if found is None else _written(found)

    def _class_text(self) -> str:
        negated = self._takes("^")
        characters = self._members()
        return _written(characters, negated=negated)

    def _class(self) -> frozenset[str]:
        negated = self._takes("^")
        characters = self._members()
        return ALPHABET - characters if negated else characters

    def _members(self) -> frozenset[str]:
        """Return the characters of a class up to and with its closing bracket."""
        result: frozenset[str] | None = None
        union: frozenset[str] = NOTHING
        is_first = True
        while not (self._takes("]") and not is_first):
            if self._takes("&&"):
                result = union if result is None else result & union
                union = NOTHING
            elif self._takes("["):
                union |= self._class()
            elif self._takes("\\Q"):
                union |= frozenset(self._quoted())
            else:
                union |= self._range_or_set()
            is_first = False
        return union if result is None else result & union

    def _range_or_set(self) -> frozenset[str]:
        first = self._member()
        if not isinstance(first, str):
            return first
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", "[", ""):
            return frozenset(first)
        self._at += 1
        last = self._member()
        if not isinstance(last, str) or last < first:
            raise ValueError(f"bad range in a class before position {self._at}")
        return frozenset(one for one in ALPHABET if first <= one <= last)

    def _member(self) -> str | frozenset[str]:
        if not self._takes("\\"):
            return self._next()
        letter = self._next()
        found = self._set_of(letter)
        return self._character(letter) if found is None else found

    def _set_of(self, letter: str) -> frozenset[str] | None:
        """Return the set that an escape means, None if it means one character."""
        if letter in "pP":
            name = self._until("}")[1:] if self._peek() == "{" else self._next()
            found = _property(name)
            return found if letter == "p" else ALPHABET - found
        return SHORT_CLASSES.get(letter)

    def _character(self, letter: str) -> str:
        """Return the character that an escape means."""
        if letter == "x" and self._peek() == "{":
            return chr(int(self._until("}")[1:], 16))
        if letter in "xu":
            return chr(int(self._take(2 if letter == "x" else 4), 16))
        if letter == "0":
            digits = re.compile(r"[0-3]?[0-7]{1,2}").match(self._text, self._at)
            return chr(int(self._take(len(digits[0]) if digits else 0), 8))
        if letter == "c":
            return chr(ord(self._next()) ^ 64)
        if letter in LETTERS and letter not in CONTROLS:
            raise ValueError(f"\\{letter} before position {self._at} has no meaning")
        return CONTROLS.get(letter, letter)

    def _quoted(self) -> str:
        end = self._text.find("\\E", self._at)
        quoted = self._text[self._at :] if end < 0 else self._text[self._at : end]
        self._at = len(self._text) if end < 0 else end + 2
        return quoted

    def _until(self, last: str) -> str:
        """Take the text before the next ``last``, and that character too."""
        end = self._text.find(last, self._at)
        if end < 0:
            raise ValueError(f"{last!r} is missing after position {self._at}")
        return self._take(end - self._at + 1)[:-1]

    def _takes(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _take(self, count: int) -> str:
        taken = self._text[self._at : self._at + count]
        self._at += count
        return taken

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise ValueError("it ends too early")
        return self._take(1)


def _property(name: str) -> frozenset[str]:
    found = NAMED_CLASSES.get(name)
    if found is not None:
        return found
    category = GENERAL_CATEGORY.fullmatch(name)
    if category is None:
        raise ValueError(f"unknown property \\p{{{name}}}")
    return _where(lambda one: unicodedata.category(one).startswith(category[1]))


def _where(holds: Callable[[str], bool]) -> frozenset[str]:
    return frozenset(filter(holds, ALPHABET))


def _written(characters: frozenset[str], *, negated: bool = False) -> str:
    """Return a class of Python; a negated one stays negated, since (?i) widens its members."""
    known = characters & ALPHABET
    if not known:
        return r"[\s\S]" if negated else r"[^\s\S]"
    return f"[{'^' if negated else ''}{''.join(re.escape(one) for one in sorted(known))}]"
