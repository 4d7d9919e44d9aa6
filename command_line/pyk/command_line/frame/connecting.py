"""Make the clients of a command from the options that it was given."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from pyk.command_line.frame.client_options import client_options, merged, options_of_command
from pyk.command_line.frame.commands import settings_of
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.profile_files import others_may_read, read_profiles, references
from pyk.command_line.frame.profiles import Profiles
from pyk.command_line.frame.settings import Settings

if TYPE_CHECKING:
    from pyk.clients import Admin, Consumer, Producer
    from pyk.clients.config import ClientConfig

LEVELS = (logging.ERROR, logging.INFO, logging.DEBUG)


def admin(settings: Settings | None = None) -> Admin:
    """Return an admin client of the cluster that the command was given."""
    from pyk.clients import Admin
    from pyk.clients.config import AdminConfig

    return Admin.from_properties(options_for(AdminConfig, settings))


def producer(
    overrides: Mapping[str, object] | None = None, settings: Settings | None = None
) -> Producer:
    """Return a producer; ``overrides`` are options that the command needs.

    Raises :class:`CommandError` for one with transactions, which no command begins.
    """
    from pyk.clients import Producer
    from pyk.clients.config import ProducerConfig

    given = settings_of() if settings is None else settings
    options = options_of_command(options_for(ProducerConfig, given), overrides or {}, given.options)
    for name in options:
        if name.replace(".", "_") == "transactional_id":
            problem = f"this command sends without transactions; leave out {name}"
            raise CommandError(problem, ExitCode.USAGE)
    return Producer.from_properties(options)


def consumer(
    overrides: Mapping[str, object], defaults: Mapping[str, object] = MappingProxyType({})
) -> Consumer[Any, Any]:
    """Return a consumer; ``overrides`` are options that the command needs.

    ``defaults`` are those that the command has in place of the consumer's.
    """
    from pyk.clients import Consumer
    from pyk.clients.config import ConsumerConfig

    asked = settings_of().options
    options = options_of_command(options_for(ConsumerConfig), overrides, asked)
    return Consumer.from_properties(merged(defaults, options))


def options_for(
    config: type[ClientConfig], settings: Settings | None = None
) -> Mapping[str, object]:
    """Return the options for one kind of client, without those of the other kinds.

    A profile, and ``-X``, serve several kinds of clients.
    """
    given = settings_of() if settings is None else settings
    _log(given.verbosity)
    properties: Mapping[str, object] = {}
    if given.properties is not None:
        properties = _properties_in(given.properties)
    options = client_options(given, os.environ, properties, lambda: _profiles_for(given))
    unused = config.without_effect(options)
    lookup = references()
    return {
        name: lookup.resolve(name, value)
        for name, value in options.items()
        if not unused.get(name, "").startswith("an option of")
    }


def _properties_in(path: str) -> Mapping[str, object]:
    from pyk.clients.config.properties_file import read_properties

    try:
        return read_properties(path)
    except OSError as error:
        where = error.filename or path
        raise CommandError(f"--properties: {where}: {error.strerror}", ExitCode.USAGE) from None


def _profiles_for(settings: Settings) -> Profiles:
    """Return the profiles; warn once if other users can read passwords in their file."""
    profiles = read_profiles()
    if (
        not settings.has_warned
        and (secrets := profiles.plain_secrets)
        and others_may_read(profiles.path)
    ):
        settings.has_warned = True
        click.echo(
            f"warning: other users can read {', '.join(secrets)} in {profiles.path}: "
            f"chmod 600 it, or write env:NAME, file:PATH or command:… instead",
            err=True,
        )
    return profiles


def _log(verbosity: int) -> None:
    """Log to standard error what the user wants to know; warnings of options always."""
    level = LEVELS[min(verbosity, len(LEVELS) - 1)]
    handler = _Echo()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("pyk")
    logger.handlers = [handler]
    logger.setLevel(level)
    logging.getLogger("pyk.clients.config").setLevel(min(level, logging.WARNING))


class _Echo(logging.Handler):
    """Writes lines to the standard error of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)
