"""Every name of ``pyk.clients`` is where the interpreter and type checkers look for it."""

from __future__ import annotations

import ast
from importlib import import_module, metadata
from pathlib import Path

import pytest

import pyk.clients
from pyk.clients import errors

SOURCE = ast.parse(Path(pyk.clients.__file__).read_text())


def block_for_type_checkers() -> list[ast.stmt]:
    (block,) = (node for node in SOURCE.body if isinstance(node, ast.If))
    return block.body


def imported_for_type_checkers() -> set[str]:
    """Return the names that are imported under ``if TYPE_CHECKING``."""
    return {
        name.name
        for statement in block_for_type_checkers()
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    } - {"*", "errors"}


def exported_for_type_checkers() -> set[str]:
    (listed,) = (node for node in block_for_type_checkers() if isinstance(node, ast.Assign))
    return set(ast.literal_eval(listed.value))


def test_all_lists_name_the_same() -> None:
    assert imported_for_type_checkers() == set(pyk.clients._HOMES) == exported_for_type_checkers()


def test_all_of_it_is_imported_by_a_star_errors_too() -> None:
    namespace: dict[str, object] = {}
    exec("from pyk.clients import *", namespace)

    assert set(pyk.clients.__all__) == {*pyk.clients._HOMES, *errors.__all__}
    assert set(pyk.clients.__all__) <= set(namespace)
    assert namespace["KafkaError"] is errors.KafkaError


@pytest.mark.parametrize(
    "part", ["protocol", "clients", "reference_broker", "spark_connector", "command_line"]
)
def test_every_part_has_the_version_of_the_distribution(part: str) -> None:
    version = import_module(f"pyk.{part}").__version__

    assert version == metadata.version("pyk-kafka")


@pytest.mark.parametrize("name", pyk.clients.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    assert getattr(pyk.clients, name).__name__ == name
    assert name in dir(pyk.clients)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="KafkaProducer"):
        pyk.clients.KafkaProducer  # noqa: B018 - that is what is tried
