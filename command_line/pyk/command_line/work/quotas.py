"""List, set and lift limits of users, client ids and addresses."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.clients import (
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
)
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import print_rows, tell
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.frame.tables import Column

QUOTAS = (
    Column("user", style="bold"),
    Column("clientId", style="bold"),
    Column("ip", style="bold"),
    Column("limit"),
    Column("value"),
)
DEFAULT = "<default>"
KEYS = {"user": "user", "client-id": "clientId", "ip": "ip"}
LIMITS = (
    "connection_creation_rate",
    "consumer_byte_rate",
    "controller_mutation_rate",
    "producer_byte_rate",
    "request_percentage",
)


def show_list(names: Mapping[str, str | None]) -> None:
    """Print the limits of entities that have these names, whatever others they have."""
    wanted = ClientQuotaFilter.contains(
        ClientQuotaFilterComponent(kind, name) for kind, name in names.items()
    )
    with admin() as client:
        found = client.describe_client_quotas(wanted)
    rows = [
        {**_form(entity.entries), "limit": limit, "value": _number(value)}
        for entity, limits in found.items()
        for limit, value in limits.items()
    ]
    shown = [*KEYS.values(), "limit"]
    rows.sort(key=lambda row: [str(row.get(key) or "") for key in shown])
    print_rows(QUOTAS, rows)


def change(
    names: Mapping[str, str | None], limits: Mapping[str, float | None], *, dry_run: bool
) -> None:
    """Set the limits of an entity, or lift those that are None."""
    for limit in limits:
        if limit not in LIMITS:
            advice = did_you_mean(limit, LIMITS) or f"use one of {', '.join(LIMITS)}"
            raise CommandError(f"there is no limit {limit!r}; {advice}", ExitCode.USAGE)
    alteration = ClientQuotaAlteration(ClientQuotaEntity(names), limits)
    with admin() as client:
        client.alter_client_quotas([alteration], validate_only=dry_run)
    done = "would be changed" if dry_run else "changed"
    whom = ", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in names.items())
    tell(f"{whom}: {done}: {', '.join(limits)}", _form(names))


def _form(names: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the names of an entity under all types: ``<default>``, or None where it has none."""
    return {
        key: (DEFAULT if names[kind] is None else names[kind]) if kind in names else None
        for kind, key in KEYS.items()
    }


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value
