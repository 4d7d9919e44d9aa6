"""Every name of ``pyk.clients`` is where the interpreter and type checkers look for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pyk.clients
from pyk.clients import errors

SOURCE = ast.parse(Path(pyk.clients.__file__).read_text())


def names_for_type_checkers() -> set[str]:
    """Return the names that are imported under ``if TYPE_CHECKING``."""
    (block,) = (node for node in SOURCE.body if isinstance(node, ast.If))
    return {
        name.name
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    } - {"*"}


def test_both_lists_name_the_same() -> None:
    assert names_for_type_checkers() == set(pyk.clients._HOMES) == set(pyk.clients.__all__)


@pytest.mark.parametrize("name", [*pyk.clients.__all__, *errors.__all__])
def test_every_name_can_be_imported(name: str) -> None:
    assert getattr(pyk.clients, name).__name__ == name
    assert name in dir(pyk.clients)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="KafkaProducer"):
        pyk.clients.KafkaProducer  # noqa: B018 - that is what is tried
