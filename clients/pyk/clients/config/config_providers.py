"""Replace references in properties, ``${env:NAME}`` and others, as Kafka's clients do. Pure.

``config.providers`` names the providers (KIP-297), ``config.providers.NAME.class`` what each is.
The classes are Kafka's own; the names ``env``, ``file`` and ``directory`` need none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pyk.clients.errors import ConfigurationError
from pyk.runtime import slotted

OPTION = "config.providers"
PACKAGE = "org.apache.kafka.common.config.provider."
KINDS = {
    "env": "EnvVarConfigProvider",
    "file": "FileConfigProvider",
    "directory": "DirectoryConfigProvider",
}
REFERENCE = r"\$\{([^}:]*):(?:([^}]*):)?([^}:]*)\}"


@slotted.frozen
class Sources:
    """Where references lead: the environment, and a function that returns the text of a file.

    The function raises ``OSError``.
    """

    environment: Mapping[str, str] = slotted.field(repr=False)
    read: Callable[[str], str]


def resolved(properties: Mapping[str, object], sources: Sources) -> Mapping[str, object]:
    """Return properties with the values that their references lead to, and without providers.

    Properties without ``config.providers`` stay as they are. A reference to a provider that is not
    named there is left alone. Raises :class:`ConfigurationError` for a reference that leads
    nowhere, and for providers and parameters that pyk does not have.
    """
    if OPTION not in properties:
        return properties
    kinds = _kinds(properties)

    def replace(name: str, value: object) -> object:
        if not isinstance(value, str):
            return value
        return re.sub(REFERENCE, lambda found: _value_of(found, name, kinds, sources), value)

    return {
        name: replace(name, value)
        for name, value in properties.items()
        if not name.startswith(OPTION)
    }


def unreplaced(properties: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the names of properties with a reference to one of Kafka's own providers that
    ``config.providers`` does not name, each with that provider.
    """
    named = {name.strip() for name in str(properties.get(OPTION, "")).split(",")}
    return [
        (name, found[1])
        for name, value in properties.items()
        if isinstance(value, str) and "${" in value
        for found in re.finditer(REFERENCE, value)
        if found[1] in KINDS and found[1] not in named
    ]


def _kinds(properties: Mapping[str, object]) -> dict[str, str]:
    """Return the kind of each provider that is named."""
    names = [name.strip() for name in str(properties[OPTION]).split(",") if name.strip()]
    kinds = {PACKAGE + java: kind for kind, java in KINDS.items()}
    found = {}
    for name in names:
        option = f"{OPTION}.{name}.class"
        given = str(properties.get(option, PACKAGE + KINDS.get(name, "")))
        if given not in kinds:
            known = ", ".join(kinds)
            raise ConfigurationError(f"{option} must be one of {known}")
        found[name] = kinds[given]
    parameters = [name for name in properties if name.startswith(OPTION) and ".param." in name]
    if parameters:
        raise ConfigurationError(f"{parameters[0]}: pyk's providers have no parameters")
    return found


def _value_of(found: re.Match[str], name: str, kinds: Mapping[str, str], sources: Sources) -> str:
    provider, path, key = found.groups()
    kind = kinds.get(provider)
    if kind is None:
        return found[0]
    if kind != "env" and path is None:
        raise ConfigurationError(f"{name}: {found[0]} must be ${{{provider}:PATH:KEY}}")
    try:
        value = _look_up(kind, path, key, sources)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(f"{name}: {found[0]} cannot be read: {reason}") from None
    if value is None:
        where = "the environment" if kind == "env" else f"the file {path}"
        raise ConfigurationError(f"{name}: {found[0]}: {where} has no {key}")
    return value


def _look_up(kind: str, path: str, key: str, sources: Sources) -> str | None:
    if kind == "env":
        return sources.environment.get(key)
    if kind == "file":
        from pyk.clients.config.properties import parse_properties

        return parse_properties(sources.read(path)).get(key)
    return sources.read(f"{path}/{key}")
