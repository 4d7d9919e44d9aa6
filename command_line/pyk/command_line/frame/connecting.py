"""Make the clients of a command from the options that it was given."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from pyk.clients.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from pyk.command_line.frame.client_options import client_options, merged
from pyk.command_line.frame.commands import settings_of
from pyk.command_line.frame.profile_files import read_profiles, references
from pyk.command_line.frame.settings import Settings

if TYPE_CHECKING:
    from pyk.clients import Admin, Consumer, Producer

LEVELS = (logging.ERROR, logging.INFO, logging.DEBUG)


def admin(settings: Settings | None = None) -> Admin:
    """Return an admin client of the cluster that the command was given."""
    from pyk.clients import Admin

    return Admin.from_properties(options_for(AdminConfig, settings))


def producer(
    overrides: Mapping[str, object] | None = None, settings: Settings | None = None
) -> Producer:
    """Return a producer; ``overrides`` are options that the command needs."""
    from pyk.clients import Producer

    return Producer.from_properties(merged(options_for(ProducerConfig, settings), overrides or {}))


def consumer(
    overrides: Mapping[str, object] | None = None, settings: Settings | None = None
) -> Consumer[Any, Any]:
    """Return a consumer; ``overrides`` are options that the command needs."""
    from pyk.clients import Consumer

    return Consumer.from_properties(merged(options_for(ConsumerConfig, settings), overrides or {}))


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
        from pyk.clients.config.properties_file import read_properties

        properties = read_properties(given.properties)
    options = client_options(given, os.environ, properties, read_profiles)
    unused = config.without_effect(options)
    lookup = references()
    return {
        name: lookup.resolve(name, value)
        for name, value in options.items()
        if not unused.get(name, "").startswith("an option of")
    }


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
