"""Modules that exist twice: as plain Python, and written for the compiler."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def load(name: str, path: Path) -> ModuleType:
    """Load a module from a file; the one that is imported under that name stays."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build_extensions: Any = load("build_extensions", ROOT / "build_extensions.py")

PLAIN_FORMS: dict[str, Path] = {
    module.name: module.plain
    for module in build_extensions.hot_modules(ROOT)
    if module.plain is not None
}
"""The plain forms of all twins by the names of their modules."""


def plain_form(name: str) -> ModuleType:
    """Load the plain form of a module; other modules that it imports are those in use."""
    return load(name, PLAIN_FORMS[name])


def form_in_use(name: str) -> ModuleType:
    """Import a module as the program does: compiled, if it is."""
    return importlib.import_module(name)


def is_compiled(module: ModuleType) -> bool:
    """Return whether a module runs compiled."""
    assert module.__file__ is not None
    return not module.__file__.endswith(".py")
