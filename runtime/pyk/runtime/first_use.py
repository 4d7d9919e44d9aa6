"""Packages whose names are loaded when they are first used: who needs one does not pay for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loaded_on_first_use(
    namespace: dict[str, Any], homes: Mapping[str, str]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package (PEP 562).

    ``namespace`` are the package's globals, ``homes`` its names with the module of each: one of the
    package, or a full name that begins with ``pyk.``.
    """
    package = namespace["__name__"]

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = home if home.startswith("pyk.") else f"{package}.{home}"
        found = namespace[name] = getattr(import_module(module), name)
        return found

    return load
