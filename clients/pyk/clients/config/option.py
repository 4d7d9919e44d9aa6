"""Declare one line of the table of options."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pyk.clients.config.values import Kind
from pyk.runtime import slotted


@slotted.frozen
class Option:
    """The facts of one option, a field of one of the config classes."""

    name: str
    """As a keyword: ``linger_ms``."""
    kind: Kind
    default: object
    doc: str

    @property
    def kafka_name(self) -> str:
        """Kafka's own, dotted name: ``linger.ms``."""
        return self.name.replace("_", ".")


@slotted.frozen
class _Line:
    """An option before it knows its name."""

    kind: Kind
    doc: str


def option(kind: Kind, default: object, doc: str) -> Any:
    """Declare an option: its valid values, its default, and one sentence on what it is for."""
    return slotted.field(default=default, metadata={_Line: _Line(kind, doc)})


def required(kind: Kind, doc: str) -> Any:
    """Declare an option that must be given."""
    return slotted.field(metadata={_Line: _Line(kind, doc)})


_TABLES: dict[type, Mapping[str, Option]] = {}
"""The options of each config class, once they were asked for."""


def options_of(config: type) -> Mapping[str, Option]:
    """Return the options of a config class by name, in the order of the table."""
    if config not in _TABLES:
        found = {}
        for field in slotted.fields(config):
            line = field.metadata[_Line]
            found[field.name] = Option(field.name, line.kind, field.default, line.doc)
        _TABLES[config] = MappingProxyType(found)
    return _TABLES[config]
