"""Show and change settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyk.clients import (
    Admin,
    AlterConfig,
    AlterConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import print_rows, tell
from pyk.command_line.frame.tables import Column
from pyk.command_line.work.topics import check_settings, described_topics

SETTINGS = (Column("name", "Setting", style="bold"), Column("value"), Column("source"))
ALL_BROKERS = "default"
OWN = {
    "topic": (ConfigSource.TOPIC,),
    "broker": (ConfigSource.BROKER, ConfigSource.ALL_BROKERS, ConfigSource.BROKER_FILE),
    "broker-logger": (ConfigSource.BROKER_LOGGER,),
    "group": (ConfigSource.GROUP,),
    "client-metrics": (ConfigSource.CLIENT_METRICS,),
}
"""The sources of settings that were changed."""


def show(kind: str, name: str, settings: Sequence[str], *, is_all: bool) -> None:
    """Print the settings of a resource that were changed, those that are named, or all."""
    resource = _resource(kind, name)
    with admin() as client:
        _check_name(client, kind, name)
        entries = client.describe_configs([resource])[resource]
    check_settings(kind, name, settings, entries)
    rows = [
        {
            "name": entry.name,
            "value": "<hidden>" if entry.is_sensitive else entry.value,
            "source": entry.source.name.lower().replace("_", " "),
            "isReadOnly": entry.is_read_only,
        }
        for entry in sorted(entries.values(), key=lambda entry: entry.name)
        if (entry.name in settings if settings else is_all or entry.source in OWN[kind])
    ]
    print_rows(SETTINGS, rows)


def change(kind: str, name: str, settings: Mapping[str, str | None], *, dry_run: bool) -> None:
    """Set settings, or return those that are None to their defaults."""
    changes = [
        AlterConfig(setting, operation=AlterConfigOperation.DELETE)
        if value is None
        else AlterConfig(setting, value)
        for setting, value in settings.items()
    ]
    unset = [setting for setting, value in settings.items() if value is None]
    with admin() as client:
        _check_name(client, kind, name)
        if unset and kind == "topic":  # brokers ignore the name of a setting that does not exist
            resource = _resource(kind, name)
            check_settings(kind, name, unset, client.describe_configs([resource])[resource])
        client.incremental_alter_configs({_resource(kind, name): changes}, validate_only=dry_run)
    done = "would be changed" if dry_run else "changed"
    tell(f"{kind} {name} {done}: {', '.join(settings)}", {"type": kind, "name": name})


def _check_name(client: Admin, kind: str, name: str) -> None:
    """Fail at once for what does not exist; a misspelt topic gets a suggestion."""
    if kind == "topic":
        described_topics(client, [name])
    if kind in ("broker", "broker-logger") and name.isdecimal():  # the client would wait for it
        brokers = sorted(node.node_id for node in client.describe_cluster().nodes)
        if int(name) not in brokers:
            known = ", ".join(map(str, brokers))
            raise CommandError(f"there is no broker {name}; the cluster has {known}")


def _resource(kind: str, name: str) -> ConfigResource:
    shown = "" if kind == "broker" and name == ALL_BROKERS else name
    return ConfigResource(ConfigResourceType[kind.upper().replace("-", "_")], shown)
