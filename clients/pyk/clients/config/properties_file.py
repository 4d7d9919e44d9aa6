"""Read properties from a file, where a client is given the name of one."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from pyk.clients.config.config_providers import Sources, resolved, unreplaced
from pyk.clients.errors import ConfigurationError

log = logging.getLogger(__name__)


def read_properties(source: str | os.PathLike[str] | Mapping[str, object]) -> Mapping[str, object]:
    """Return the properties in a file, or those of a mapping, with references replaced.

    Raises ``OSError`` if the file cannot be read, and :class:`ConfigurationError` for one that is
    not in UTF-8, and for a reference that leads nowhere.
    """
    if isinstance(source, str | os.PathLike):
        from pyk.clients.config.properties import parse_properties

        return resolve(parse_properties(_read(source)))
    return resolve(source)


def resolve(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return properties with what their references to files and to the environment lead to."""
    for name, provider in unreplaced(properties):
        log.warning(
            "%s: ${%s:…} is used as it is written: config.providers does not name %r",
            name,
            provider,
            provider,
        )
    return resolved(properties, Sources(os.environ, _read))


def _read(path: str | os.PathLike[str]) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:  # Windows may begin it with a mark
            return file.read()
    except UnicodeDecodeError:
        # Without its cause, which has the whole file.
        raise ConfigurationError(f"{os.fspath(path)!r} is not a text in UTF-8") from None
