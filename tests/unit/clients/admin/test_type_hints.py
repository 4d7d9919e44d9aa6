"""Tools can resolve the type hints of the admin clients, whose classes are loaded on first use."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, get_type_hints

import pytest

from pyk.clients import Admin, AsyncAdmin, NewTopic, TopicDescription, admin

CLASSES = [value for name in admin.__all__ if isinstance(value := getattr(admin, name), type)]


@pytest.mark.parametrize("client", [Admin, AsyncAdmin])
def test_the_type_hints_of_every_call_can_be_resolved(client: Any) -> None:
    calls = [one for name, one in inspect.getmembers(client, inspect.isroutine) if name[0] != "_"]

    assert len(calls) > 60
    assert all(get_type_hints(call) for call in calls)
    assert get_type_hints(client)


@pytest.mark.parametrize("value", CLASSES, ids=lambda value: value.__name__)
def test_the_type_hints_of_every_value_can_be_resolved(value: Any) -> None:
    get_type_hints(value)
    get_type_hints(value.__init__)
    inspect.signature(value, eval_str=True)


def test_the_type_hints_are_the_classes_that_users_import() -> None:
    signature = inspect.signature(Admin.create_topics, eval_str=True)

    assert signature.parameters["new_topics"].annotation == Iterable[NewTopic]
    assert TopicDescription in get_type_hints(Admin.describe_topics)["return"].__args__
