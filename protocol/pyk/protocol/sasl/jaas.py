r"""The values of ``sasl.jaas.config``, in which Kafka keeps the secrets of a login. Pure.

::

    CLASS required NAME="VALUE" NAME='VALUE' …;

They are read as Kafka does (its ``JaasConfig``): names and values may stand in quotation marks of
either kind, inside of which ``\n``, ``\t`` and the other escapes of Java hold; ``//`` and ``/* */``
are comments; the last option of a name wins. Two things are taken that Kafka refuses: numbers and
signs in values without quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pyk.runtime import slotted

_FLAGS = ("required", "requisite", "sufficient", "optional")
_WORD = re.compile(
    r"""\s*(?:
        //[^\r\n]* | /\*.*?\*/
        | "(?P<double>(?:\\.|[^"\\\r\n])*)" | '(?P<single>(?:\\.|[^'\\\r\n])*)'
        | (?P<sign>[=;]) | (?P<bare>(?!/\*)[^\s"'=;]+)
    )""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_TO_ESCAPE = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}


class JaasError(ValueError):
    """A value that cannot be read; the text shows nothing of it.

    The text is the rest of a sentence that begins with the name of the option.
    """


@slotted.frozen
class LoginModule:
    """The only entry of a value: the Java class that logs in, and its options."""

    name: str
    """The name of the class, without its package."""
    options: Mapping[str, str] = slotted.field(repr=False)
    """They may be secret."""

    def options_of(self, name: str) -> Mapping[str, str]:
        """Return the options; raise :class:`JaasError` if it is another module."""
        if self.name != name:
            raise JaasError(f"must name the login module {name}")
        return self.options


def parse_jaas(text: str) -> LoginModule:
    """Return the only entry of a value; raise :class:`JaasError`."""
    tokens = list(_tokens(text.strip()))
    signs = [value if is_sign else "" for is_sign, value in tokens]
    words = [value for _, value in tokens]
    if len(tokens) < 3 or any(signs[:2]) or words[1].lower() not in _FLAGS:
        raise JaasError('must read: CLASS required NAME="VALUE" …;')
    if signs[-1] != ";" or signs.count(";") != 1:
        raise JaasError("must have one entry, which ends with a semicolon")
    if signs[2:-1] != ["", "=", ""] * (len(signs[2:-1]) // 3):
        raise JaasError('has an option that is not NAME="VALUE"')
    options = dict(zip(words[2:-1:3], words[4:-1:3], strict=True))
    return LoginModule(words[0].rpartition(".")[2], options)


def jaas_entry(name: str, options: Mapping[str, str]) -> str:
    """Return the value for a login module, whatever the characters of its options."""
    written = "".join(f" {_quoted(key)}={_quoted(value)}" for key, value in options.items())
    return f"{name} required{written};"


def plain_users(options: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords by user of the options of ``PlainLoginModule``: ``user_NAME``."""
    prefix = "user_"
    return {
        name.removeprefix(prefix): password
        for name, password in options.items()
        if name.startswith(prefix)
    }


def _tokens(text: str) -> Iterator[tuple[bool, str]]:
    """Yield whether each word is a sign of the syntax, and the word."""
    position = 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise JaasError("has a quotation mark or a comment that is not closed")
        position = match.end()
        kind, word = match.lastgroup, match[match.lastgroup or 0]
        if kind in ("double", "single"):
            yield False, _ESCAPE.sub(_unescaped, word)
        elif kind is not None:
            yield kind == "sign", word


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped[0] in "01234567":
        return chr(int(escaped, 8))
    return _ESCAPES.get(escaped, escaped)


def _quoted(text: str) -> str:
    return f'"{"".join(_TO_ESCAPE.get(one, one) for one in text)}"'
