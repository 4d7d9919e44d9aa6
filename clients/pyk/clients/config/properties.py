"""Parse Java's properties files, in which Kafka's own tools keep their configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# The key ends at the first '=', ':' or white space that no backslash protects.
KEY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
LINE_END = re.compile(r"\r\n?|\n")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """Return the entries of a properties file's text; the last one wins where a key repeats."""
    entries = {}
    for line in _logical_lines(text):
        match = KEY.fullmatch(line)
        if match is not None:
            entries[_unescaped(match[1])] = _unescaped(match[2])
    return entries


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines that hold entries; one that ends in a backslash is joined with the next."""
    begun = ""
    for line in LINE_END.split(text):  # str.splitlines ends lines at other characters, too
        part = line.lstrip()
        if not begun and (not part or part[0] in "#!"):
            continue
        backslashes = len(part) - len(part.rstrip("\\"))
        if backslashes % 2:
            begun += part[:-1]
            continue
        yield begun + part
        begun = ""
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, escape)

    # Java writes a character beyond 16 bits as two escapes.
    units = ESCAPE.sub(replace, text).encode("utf-16", errors="surrogatepass")
    return units.decode("utf-16", errors="surrogatepass")
