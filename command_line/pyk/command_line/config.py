"""``pyk config``: settings of topics, brokers, their loggers, groups and client metrics."""

from __future__ import annotations

import click

from pyk.command_line.arguments import NameAndValue
from pyk.command_line.frame.commands import CommandGroup
from pyk.command_line.frame.completions import complete_resources

TYPES = ("topic", "broker", "broker-logger", "group", "client-metrics")
RESOURCE = (
    click.argument("kind", type=click.Choice(TYPES), metavar="TYPE"),
    click.argument("name", shell_complete=complete_resources),
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only check whether it would work.")


@click.group(cls=CommandGroup)
def config() -> None:
    """Show and change the settings of a resource.

    TYPE is topic, broker, broker-logger, group or client-metrics. The NAME of a broker is its id,
    or 'default' for what all brokers share. With broker-logger and a broker's id, the settings are
    loggers, and the values TRACE, DEBUG, INFO, WARN, ERROR or FATAL.
    """


@config.command("show")
@RESOURCE[0]
@RESOURCE[1]
@click.argument("settings", nargs=-1)
@click.option("-a", "--all", "is_all", is_flag=True, help="Also show settings at their default.")
def show(kind: str, name: str, settings: tuple[str, ...], *, is_all: bool) -> None:
    """Show the settings that were changed, or those that are named."""
    from pyk.command_line.work import configs

    configs.show(kind, name, settings, is_all=is_all)


@config.command("set")
@RESOURCE[0]
@RESOURCE[1]
@click.argument("settings", nargs=-1, required=True, type=NameAndValue(), metavar="SETTING=VALUE…")
@DRY_RUN
def set_configs(
    kind: str, name: str, settings: tuple[tuple[str, str], ...], *, dry_run: bool
) -> None:
    """Change settings, and leave the others as they are."""
    from pyk.command_line.work import configs

    configs.change(kind, name, dict(settings), dry_run=dry_run)


@config.command("unset")
@RESOURCE[0]
@RESOURCE[1]
@click.argument("settings", nargs=-1, required=True)
@DRY_RUN
def unset(kind: str, name: str, settings: tuple[str, ...], *, dry_run: bool) -> None:
    """Return settings to their defaults."""
    from pyk.command_line.work import configs

    configs.change(kind, name, dict.fromkeys(settings), dry_run=dry_run)
