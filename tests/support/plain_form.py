"""The plain Python form of a package, beside the compiled one that the program may have loaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class PlainForm:
    """A package loaded from its ``.py`` files. Its classes are not those of the other form."""

    def __init__(self, package: str) -> None:
        self._name = package
        loaded = importlib.import_module(package)
        assert loaded.__file__ is not None
        self._folder = Path(loaded.__file__).parent
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def imported(self) -> Iterator[ModuleType]:
        """Make imports of the package mean the plain form while the block runs, and return it."""
        others = self._swap(self._modules)
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        try:
            yield importlib.import_module(self._name)
        finally:
            sys.meta_path.remove(self)  # type: ignore[arg-type]
            self._modules = self._swap(others)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find modules of the package in their sources only; part of the import protocol."""
        if not self._holds(name):
            return None
        place = self._folder.joinpath(*name[len(self._name) + 1 :].split("."))
        if not place.is_dir():
            return spec_from_file_location(name, place.with_suffix(".py"))
        return spec_from_file_location(
            name, place / "__init__.py", submodule_search_locations=[str(place)]
        )

    def _swap(self, modules: dict[str, ModuleType]) -> dict[str, ModuleType]:
        """Replace modules of the package by ``modules``, and return the original ones."""
        others = {name: module for name, module in sys.modules.items() if self._holds(name)}
        for name in others:
            del sys.modules[name]
        sys.modules.update(modules)
        parent, _, child = self._name.rpartition(".")
        if self._name in modules:
            setattr(sys.modules[parent], child, modules[self._name])
        return others

    def _holds(self, name: str) -> bool:
        return name == self._name or name.startswith(f"{self._name}.")
