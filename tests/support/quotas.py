"""Requests about quotas, as tests write them: entities as keyword arguments, None for a default."""

from __future__ import annotations

from typing import Any

from pyk.protocol.messages import alter_client_quotas as alter
from pyk.protocol.messages import describe_client_quotas as describe

EXACT, DEFAULT, ANY = 0, 1, 2
Names = dict[str, str | None]


def change(names: Names, *ops: tuple[str, float | None]) -> alter.RequestEntryData:
    """Return the changes of one entity: limits by name, None lifts one."""
    return alter.RequestEntryData(
        entity=[alter.EntityData(entity_type=each, entity_name=names[each]) for each in names],
        ops=[
            alter.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in ops
        ],
    )


def alteration(*changes: alter.RequestEntryData, **more: Any) -> alter.AlterClientQuotasRequest:
    return alter.AlterClientQuotasRequest(entries=list(changes), **more)


def limit(names: Names, **limits: float | None) -> alter.AlterClientQuotasRequest:
    """Return the request that sets limits of one entity, or lifts those that are None."""
    return alteration(change(names, *limits.items()))


def question(
    *components: tuple[str, int, str | None], strict: bool = False
) -> describe.DescribeClientQuotasRequest:
    """Return a filter: types with how they match, and the name."""
    return describe.DescribeClientQuotasRequest(
        components=[
            describe.ComponentData(entity_type=kind, match_type=how, match=name)
            for kind, how, name in components
        ],
        strict=strict,
    )


def described(
    response: describe.DescribeClientQuotasResponse,
) -> list[tuple[Names, dict[str, float]]]:
    """Return all entities with their limits, in one order."""
    assert (response.error_code, response.error_message) == (0, "")
    found = [
        (
            {each.entity_type: each.entity_name for each in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in response.entries or ()
    ]
    return sorted(found, key=repr)
