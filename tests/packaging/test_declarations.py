"""What a ``.pxd`` declares to the compiler is defined in its module, also where nobody compiles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("clients", "command_line", "protocol", "reference_broker", "runtime", "spark_connector")
DECLARATIONS = sorted(
    file
    for part in PARTS
    for file in (ROOT / part).rglob("*.pxd")
    if file.with_suffix(".py").exists()
    and not (file.parent / "compiled" / f"{file.stem}.pyx").exists()
)
CLASS = re.compile(r"cdef class (\w+)")
FUNCTION = re.compile(r"( *)cp?def (?!class\b)[^(=]*?(\w+)\(")


def declared(text: str) -> Iterator[str]:
    """Yield the functions that a ``.pxd`` declares, and ``class.method`` of those of classes."""
    owner = ""
    for line in text.splitlines():
        if found := CLASS.match(line):
            owner = f"{found[1]}."
        elif found := FUNCTION.match(line):
            yield f"{owner if found[1] else ''}{found[2]}"


def defined(text: str) -> set[str]:
    """Return the functions of a module, and ``class.method`` of those of classes."""
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            of_class = (each for each in node.body if isinstance(each, ast.FunctionDef))
            names |= {f"{node.name}.{each.name}" for each in of_class}
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


@pytest.mark.parametrize("file", DECLARATIONS, ids=lambda file: file.stem)
def test_what_is_declared_is_defined(file: Path) -> None:
    assert set(declared(file.read_text())) <= defined(file.with_suffix(".py").read_text())


def test_declarations_are_found_by_their_class() -> None:
    text = (
        "cdef class Part:\n    cdef readonly long long first\n"
        "    cpdef Part after(self,\n        long long last)\n    cdef _drop(self)\n"
        'cdef inline bint is_utf8(const char *text) noexcept\n@cython.locals(a="long long")\n'
    )

    assert [*declared(text)] == ["Part.after", "Part._drop", "is_utf8"]
    assert defined("class Part:\n    def after(self): ...\ndef is_utf8(): ...\n") == {
        "Part.after",
        "is_utf8",
    }
