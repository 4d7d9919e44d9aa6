"""Write, show and compile generated Python."""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any


class Source:
    """Python source that is being written, and the objects its names stand for."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._globals: dict[str, Any] = {}
        self._names = {*reserved, *dir(builtins)}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Indent what is written inside the ``with``."""
        self.line(f"{opening}:")
        self._depth += 1
        yield
        self._depth -= 1

    def constant(self, name: str, value: Any) -> str:
        """Return the name by which the source can refer to ``value``."""
        while self._globals.setdefault(name, value) is not value:
            name += "_"
        self._names.add(name)
        return name

    def struct(self, fixed_format: str, method: str) -> str:
        """Return the name of ``struct.Struct(fixed_format).method``."""
        name = f"{method}_{fixed_format.replace('?', 'bool')}"
        if name not in self._globals:
            self._globals[name] = getattr(Struct(f">{fixed_format}"), method)
        return name

    def local(self, name: str) -> str:
        """Return a local name like ``name`` that nothing else uses."""
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self, function: str, label: str) -> Callable[..., Any]:
        """Return the function of that name; tracebacks show its lines under ``<label>``."""
        filename, text = f"<{label}>", self.text()
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), self._globals)  # nosec B102  # noqa: S102 - written from our own field options
        compiled: Callable[..., Any] = self._globals[function]
        return compiled
