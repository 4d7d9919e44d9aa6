"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from pyk.runtime.first_use import loaded_on_first_use


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a package of one module, whose names are loaded when they are first used."""
    package, home = ModuleType("shop"), ModuleType("shop.till")
    vars(home).update(Till=object(), Receipt=object())
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.till", home)
    homes = {"Till": "till", "Receipt": "till", "Clock": "pyk.runtime.clock"}
    vars(package)["__getattr__"] = loaded_on_first_use(vars(package), homes)
    return package


def test_a_name_is_that_of_the_module_it_is_in(package: ModuleType) -> None:
    assert package.Till is sys.modules["shop.till"].Till


def test_a_name_is_loaded_once(package: ModuleType) -> None:
    assert "Till" not in vars(package)

    found = package.Till

    assert vars(package)["Till"] is found
    assert "Receipt" not in vars(package)


def test_a_name_may_be_in_another_package(package: ModuleType) -> None:
    from pyk.runtime.clock import Clock

    assert package.Clock is Clock


def test_a_name_that_the_package_has_not_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'shop' has no attribute 'Tilll'"):
        _ = package.Tilll
