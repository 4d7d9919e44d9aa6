"""Imports of names that do not exist are found."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from contracts.imported_names import Sources

ROOT = Path(__file__).resolve().parents[2]
CHECKED = ("tests", "benchmarks", "docs", "examples")


def test_everything_that_tests_benchmarks_and_examples_import_exists() -> None:
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    sources = Sources([*(ROOT / folder for folder in mypy["mypy_path"]), ROOT])
    paths = [path for folder in CHECKED for path in sorted((ROOT / folder).rglob("*.py"))]

    assert len(paths) > 1_000
    assert [missing for path in paths for missing in sources.missing_imports(path)] == []


MODULES = {
    "shop/__init__.py": "from shop.prices import *\ndef __getattr__(name): return TABLE['late']",
    "shop/prices.py": "import os.path as files, sys\nlowest: int = 1\nfirst, *others = range(3)",
    "shop/orders/paid.py": "try:\n  class Order: inner = 1\nexcept OSError:\n  refused = True",
    "support/shops.py": "async def opened(): closed = 1",
    "typing/models.py": "",
}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """Modules in two folders, as those of pyk are in several."""
    for name, text in MODULES.items():
        path = tmp_path / name.partition("/")[0] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Sources([tmp_path / "shop", tmp_path / "support", tmp_path / "typing"])


def missing(sources: Sources, text: str, name: str = "orders/test_shop.py") -> list[str]:
    """Return what a file of the package ``shop`` imports that does not exist."""
    path = sources.roots[0] / "shop" / name
    path.write_text(text)
    return [found.removeprefix(f"{path}:") for found in sources.missing_imports(path)]


@pytest.mark.parametrize(
    "statement",
    [
        "import shop.orders.paid",
        "import shop.orders as bought",
        "from shop import prices, late, lowest as least, orders",
        "from shop import *",
        "from shop.prices import files, sys, first, others",
        "from shop.orders.paid import Order, refused",
        "from support.shops import opened",
        "from . import paid",
        "from .paid import Order",
        "from ..prices import lowest",
        "from .. import late",
        "from typing import Any",  # there is a folder of tests that is called so
        "import attrs.nothing",  # of others
    ],
)
def test_an_import_of_what_exists_is_accepted(sources: Sources, statement: str) -> None:
    assert missing(sources, statement) == []


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import shop.customers", "shop.customers"),
        ("from shop.customers import Customer", "shop.customers.Customer"),
        ("from shop.customers import *", "shop.customers.*"),
        ("from shop.prices import lowest, highest", "shop.prices.highest"),
        ("from shop.prices import path", "shop.prices.path"),
        ("from shop.orders import Order", "shop.orders.Order"),
        ("from shop.orders.paid import inner", "shop.orders.paid.inner"),
        ("from support.shops import closed", "support.shops.closed"),
        ("from shop import early", "shop.early"),
        ("from . import unpaid", "shop.orders.unpaid"),
        ("from ..prices import highest", "shop.prices.highest"),
    ],
)
def test_an_import_of_what_does_not_exist_is_found(
    sources: Sources, statement: str, name: str
) -> None:
    assert missing(sources, statement) == [f"1: {name}"]


@pytest.mark.parametrize(
    "block",
    ["def later():", "if TYPE_CHECKING:", "class Shop:", "with shop:", "match shop:\n  case 1:"],
)
def test_imports_in_blocks_are_checked(sources: Sources, block: str) -> None:
    lines = f"{block}\n    from shop import early"

    assert missing(sources, lines) == [f"{lines.count(chr(10)) + 1}: shop.early"]


def test_imports_in_handlers_of_exceptions_are_checked(sources: Sources) -> None:
    lines = "try:\n    shop\nexcept OSError:\n    import shop.late\nelse:\n    import shop.early"

    assert missing(sources, lines) == ["4: shop.late", "6: shop.early"]
