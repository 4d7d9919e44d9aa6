"""What regular expressions of other languages have and those of RE2 have not, in words. Pure.

Each entry says what it is, and what to write instead.
"""

from __future__ import annotations

_ALTERNATIVES = "list what matches instead, as in (?:a|b)"
_REPEAT = f"write the text again, or {_ALTERNATIVES}"

# What follows "(?", longer texts first.
_GROUPS = (
    ("<=", "a look-behind", "(?<=…)", _ALTERNATIVES),
    ("<!", "a negative look-behind", "(?<!…)", _ALTERNATIVES),
    ("P=", "a back reference", "(?P=…)", _REPEAT),
    ("P>", "a recursion", "(?P>…)", _ALTERNATIVES),
    ("=", "a look-ahead", "(?=…)", _ALTERNATIVES),
    ("!", "a negative look-ahead", "(?!…)", _ALTERNATIVES),
    (">", "an atomic group", "(?>…)", "write (?:…)"),
    ("#", "a comment", "(?#…)", "leave it out"),
    ("(", "a condition", "(?(…)…)", _ALTERNATIVES),
    ("|", "a branch reset", "(?|…)", "write (?:…)"),
    ("'", "a name in quotes", "(?'…'…)", "write (?P<name>…)"),
    ("R", "a recursion", "(?R)", _ALTERNATIVES),
    ("&", "a recursion", "(?&…)", _ALTERNATIVES),
)
_FLAGS = {
    "x": "the flag x, for spaces and comments, is not one of RE2: leave both out",
    "a": "the flag a is not one of RE2, whose classes are those of ASCII anyway",
    "u": r"the flag u is not one of RE2: write a class such as \p{L}",
    "d": "the flag d is not one of RE2: leave it out",
}
# What follows a backslash.
_ESCAPES = {
    "Z": r"write \z, or nothing, as a pattern matches the whole text",
    "G": "leave it out",
    "K": "leave it out",
    "R": r"write (?:\r\n|[\n-\r])",
    "h": r"write [ \t]",
    "H": r"write [^ \t]",
    "N": r"write [^\n]",
    "X": "write .",
    "C": "write .",
    "e": r"write \x1B",
    "c": r"write \x and two digits",
    "u": r"write \x{…} with the digits in braces",
    "U": r"write \x{…} with the digits in braces",
}


def absent_group(following: str) -> str | None:
    """Return what is said of a group of other languages, from what follows ``(?``."""
    for begin, name, form, instead in _GROUPS:
        if following.startswith(begin):
            return f"{name} {form} is not part of RE2: {instead}"
    return None


def absent_flag(letter: str) -> str:
    """Return what is said of a flag that RE2 does not know."""
    return _FLAGS.get(letter, f"unknown flag {letter!r}: RE2 has i, m, s and U")


def absent_escape(letter: str) -> str:
    """Return what is said of a backslash before a character, which means nothing to RE2."""
    if letter.isdecimal() or letter in ("k", "g"):
        return rf"a back reference \{letter} is not part of RE2: {_REPEAT}"
    instead = _ESCAPES.get(letter)
    if instead is None:
        return f"invalid escape \\{letter}"
    return f"\\{letter} is not part of RE2: {instead}"


def absent_repetition(before: str, repetition: str) -> str:
    """Return what is said of a repetition that follows another one."""
    if repetition == "+":
        return f"a possessive quantifier {before}+ is not part of RE2: write {before}"
    return f"{before} is repeated by {repetition}: put what is repeated in (?:…)"
