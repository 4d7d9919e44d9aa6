"""The values of ``sasl.jaas.config``: a login module and its options. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"=;]+)|([=;]))""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_FLAGS = ("required", "requisite", "sufficient", "optional")
_FORM = 'use MODULE required name="value" …;'


def jaas_options(text: str, module: str) -> dict[str, str]:
    """Return the options of a login module; raise ``ValueError`` without a word of the text.

    ``module`` is the simple name of its class, such as ``PlainLoginModule``. Names and values may
    stand in quotation marks.
    """
    words = list(_words(text.strip()))
    if len(words) < 3 or words[1].lower() not in _FLAGS or words[-1] != ";":
        raise ValueError(_FORM)
    if words[0].rpartition(".")[2] != module:
        raise ValueError(f"the login module must be {module}")
    options = words[2:-1]
    if len(options) % 3 or any(sign != "=" for sign in options[1::3]):
        raise ValueError(_FORM)
    return dict(zip(options[::3], options[2::3], strict=True))


def plain_users(options: dict[str, str]) -> dict[str, str]:
    """Return the passwords by user of the options of ``PlainLoginModule``: ``user_NAME``."""
    prefix = "user_"
    return {
        name.removeprefix(prefix): password
        for name, password in options.items()
        if name.startswith(prefix)
    }


def quoted(text: str) -> str:
    """Return a name or a value as it may stand in a configuration, whatever its characters."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _words(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise ValueError(_FORM)
        in_marks, bare, sign = match.groups()
        yield bare or sign or _ESCAPE.sub(r"\1", in_marks or "")
        position = match.end()
