"""Find imports of names that do not exist, without importing anything.

mypy does not read tests, benchmarks and examples, and no target of the Makefile runs them all:
otherwise a name that moved would break one of them unseen.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


@attrs.frozen(eq=False)
class Sources:
    """The modules in some folders, which Python searches in this order."""

    roots: Sequence[Path]

    def missing_imports(self, path: Path) -> list[str]:
        """Return the modules and names of these folders that a file imports and nothing defines."""
        return [
            f"{path}:{statement.lineno}: {name}"
            for statement in _statements(ast.parse(path.read_text()))
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for name in self._missing(statement, path)
        ]

    def _missing(self, statement: ast.Import | ast.ImportFrom, path: Path) -> Iterator[str]:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if self._is_ours(alias.name) and not self._exists(alias.name):
                    yield alias.name
            return
        module = self._origin(statement, path)
        if self._is_ours(module):
            for alias in statement.names:
                if not self._offers(module, alias.name):
                    yield f"{module}.{alias.name}"

    def _origin(self, statement: ast.ImportFrom, path: Path) -> str:
        """Return the absolute name of the module that names are imported from."""
        if not statement.level:
            return statement.module or ""
        folder = path.parents[statement.level - 1]
        root = next(root for root in self.roots if folder.is_relative_to(root))
        return ".".join(filter(None, [*folder.relative_to(root).parts, statement.module]))

    def _is_ours(self, module: str) -> bool:
        # The standard library comes first where a folder of tests has the same name.
        top = module.partition(".")[0]
        return top not in sys.stdlib_module_names and self._exists(top)

    def _offers(self, module: str, name: str) -> bool:
        if name == "*":
            return self._exists(module)
        return name in self._names(module) or self._exists(f"{module}.{name}")

    @functools.cache  # noqa: B019 - as long as the check
    def _exists(self, module: str) -> bool:
        paths = [root.joinpath(*module.split(".")) for root in self.roots]
        return any(path.is_dir() or path.with_suffix(".py").is_file() for path in paths)

    @functools.cache  # noqa: B019
    def _names(self, module: str) -> set[str]:
        """Return the names that a module defines or imports at its top level."""
        path = self._file(module)
        if path is None:
            return set()
        tree = ast.parse(path.read_text())
        names = set(_bound_names(tree))
        for statement in _statements(tree):
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                names |= self._names(self._origin(statement, path))
        if "__getattr__" in names:  # it makes the names that the module has as text
            constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
            names |= {each.value for each in constants if isinstance(each.value, str)}
        return names

    def _file(self, module: str) -> Path | None:
        for root in self.roots:
            path = root.joinpath(*module.split("."))
            for file in (path / "__init__.py", path.with_suffix(".py")):
                if file.is_file():
                    return file
        return None


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in a node, at any depth."""
    for block in BLOCKS:
        for statement in getattr(node, block, ()):
            yield statement
            yield from _statements(statement)


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a module binds, in the order of its text."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFINITIONS):
            yield child.name
        elif isinstance(child, ast.alias):
            yield child.asname or child.name.partition(".")[0]
        else:
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield child.id
            yield from _bound_names(child)
