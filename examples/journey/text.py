"""The text that the journey sends: lines with keys, and their counts made without Kafka."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

WORD = re.compile(rb"\S+")  # words as Spark counts them: runs without ASCII white space


@attrs.define
class Count:
    """Lines and words of one package."""

    lines: int = 0
    words: int = 0


@attrs.frozen
class Line:
    """A line of text, without its end, and the module that it is from."""

    module: str
    text: bytes

    @property
    def package(self) -> str:
        return package_of(self.module)


class Counts(dict[str, Count]):
    """Counts by package."""

    def add(self, package: str, text: bytes) -> None:
        count = self.setdefault(package, Count())
        count.lines += 1
        count.words += len(WORD.findall(text))

    @property
    def lines(self) -> int:
        return sum(count.lines for count in self.values())


def package_of(module: str) -> str:
    return module.partition(".")[0]


def standard_library() -> Iterator[Line]:
    """Yield every line of the standard library's Python source, without its tests."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if not {"site-packages", "test", "tests"} & set(parts):
            yield from _lines(".".join(parts), path.read_bytes())


def lines_of(name: str) -> Iterator[Line]:
    """Yield the lines of a file, or of standard input where the name is ``-``."""
    if name == "-":
        yield from _lines("stdin", sys.stdin.buffer.read())
    else:
        path = Path(name)
        yield from _lines(path.stem, path.read_bytes())


def count_directly(lines: Iterable[Line]) -> Counts:
    """Count with no Kafka in between: what every other count must equal."""
    counts = Counts()
    for line in lines:
        counts.add(line.package, line.text)
    return counts


def _lines(module: str, content: bytes) -> Iterator[Line]:
    return (Line(module, text) for text in content.splitlines())
