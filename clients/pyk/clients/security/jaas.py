"""Read ``sasl.jaas.config``, in which Java's clients keep user name and password. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

FLAGS = ("required", "requisite", "sufficient", "optional")
WORD = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s="';]+)|([=;]))""", re.S)
ESCAPE = re.compile(r"\\(.)", re.S)


@attrs.frozen
class LoginModule:
    """One entry: the Java class that logs in, and its options, which may be secret."""

    name: str
    """The name of the class, without its package."""
    options: Mapping[str, str] = attrs.field(repr=False)


def parse_jaas(text: str) -> LoginModule:
    """Return the only entry in a value of ``sasl.jaas.config``.

    Raises ``ValueError`` with the rest of a sentence that begins with the option's name, and that
    shows nothing of the value.
    """
    words = _words(text)
    if len(words) < 3 or words[1].lower() not in FLAGS:
        raise ValueError('must read: CLASS required NAME="VALUE" …;')
    if words[-1] != ";" or words.count(";") != 1:
        raise ValueError("must have one entry, which ends with a semicolon")
    rest = words[2:-1]
    if len(rest) % 3 or any(equals != "=" for equals in rest[1::3]):
        raise ValueError('has an option that is not NAME="VALUE"')
    options = dict(zip(rest[::3], rest[2::3], strict=True))
    return LoginModule(words[0].rpartition(".")[2], options)


def _words(text: str) -> list[str]:
    words, position = [], 0
    text = text.strip()
    while position < len(text):
        match = WORD.match(text, position)
        if match is None:
            raise ValueError("has a quotation mark that is not closed")
        double, single, bare, sign = match.groups()
        quoted = double if double is not None else single
        words.append(ESCAPE.sub(r"\1", quoted) if quoted is not None else bare or sign)
        position = match.end()
    return words
