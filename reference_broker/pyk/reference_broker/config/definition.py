"""One configuration: its name, type, range and meaning, and how its text is read.

Tables of them are slotted classes. Each field is a configuration of the same name, dots written as
underscores, so that code says ``config.segment_bytes`` and type checkers know it:

    class LogConfig:
        segment_bytes: int = integer(1 << 30, minimum=1 << 20, doc="…")     # segment.bytes
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, IntEnum
from functools import cache
from typing import Any, TypeVar

from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.runtime import slotted

ConfigValue = bool | int | float | str | tuple[str, ...] | None


class Password(str):
    """A value of type PASSWORD, which ``repr`` does not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'[hidden]'"


_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")

T = TypeVar("T")


class ConfigType(IntEnum):
    """The type numbers of DescribeConfigs responses (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(Enum):
    """Whether a broker configuration can change while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


_BOUNDS = {
    ConfigType.SHORT: (-(1 << 15), (1 << 15) - 1),
    ConfigType.INT: (-(1 << 31), (1 << 31) - 1),
    ConfigType.LONG: (-(1 << 63), (1 << 63) - 1),
}


@slotted.frozen(kw_only=True)
class Fallback:
    """A configuration that is used if another is not set; ``unit`` converts its value."""

    name: str
    unit: int = 1


@slotted.frozen(kw_only=True)
class ConfigDefinition:
    """The definition of one configuration. ``fallbacks`` are asked in order while it is not set.

    One with ``has_effect=False`` is known to Kafka, and only kept and shown here.
    """

    name: str = ""
    type: ConfigType
    default: ConfigValue
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    check: Callable[[str], bool] | None = None
    """Returns whether a value is valid, as a str, where neither choices nor a range can say so."""
    update_mode: UpdateMode = UpdateMode.READ_ONLY
    is_internal: bool = False
    has_effect: bool = True
    fallbacks: tuple[Fallback, ...] = ()

    @property
    def is_read_only(self) -> bool:
        return self.update_mode is UpdateMode.READ_ONLY

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is hidden; Kafka hides those of unknown configurations, too."""
        return self.type in (ConfigType.PASSWORD, ConfigType.UNKNOWN)

    def parse(self, value: object) -> ConfigValue:
        """Return the typed value of a str, or of a Python value; raise ``InvalidConfigError``."""
        if value is None:
            if self.default is None:
                return None
            raise self._error(value, "the value must not be null")
        return _PARSERS[self.type](self, value)

    def check_items(self, value: object) -> None:
        """Raise ``InvalidConfigError`` if a list that is set has an empty item (KIP-1161).

        Lists that were stored with such items before are read without them.
        """
        items = str(value).split(",") if self.type is ConfigType.LIST and self.check is None else ()
        if len(items) > 1 and not all(map(str.strip, items)):
            raise self._error(value, "values must not be empty")

    def format(self, value: ConfigValue) -> str | None:
        """Return the text Kafka shows for a value."""
        if value is None or self.is_sensitive:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return str(value).replace("e+", "E").replace("e", "E")  # as Java writes it
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def _parse_boolean(self, value: object) -> bool:
        text = str(value).strip().lower()
        if text not in ("true", "false"):
            raise self._error(value, "use true or false")
        return text == "true"

    def _parse_integer(self, value: object) -> int:
        text = str(value).strip()
        if isinstance(value, bool) or not _INTEGER.fullmatch(text):
            raise self._error(value, f"not a number of type {self.type.name}")
        number = int(text)
        least, most = _BOUNDS[self.type]
        if not least <= number <= most:
            raise self._error(value, f"does not fit into type {self.type.name}")
        self._check_range(number)
        self._check_text(str(number), value)
        return number

    def _parse_double(self, value: object) -> float:
        try:
            number = float(str(value))
        except ValueError:
            raise self._error(value, "not a number") from None
        self._check_range(number)
        return number

    def _parse_string(self, value: object) -> str:
        text = str(value).strip()
        if self.choices and text not in self.choices:
            named = ", ".join(choice or "'' (none)" for choice in self.choices)
            raise self._error(value, f"use one of {named}")
        self._check_text(text, value)
        return text

    def _parse_list(self, value: object) -> tuple[str, ...]:
        names = value if isinstance(value, list | tuple) else str(value).split(",")
        parsed = tuple(dict.fromkeys(str(name).strip() for name in names if str(name).strip()))
        wrong = [name for name in parsed if self.choices and name not in self.choices]
        if wrong:
            raise self._error(value, f"{wrong[0]!r} is not one of {', '.join(self.choices)}")
        self._check_text(",".join(parsed), value)
        return parsed

    def _check_text(self, text: str, value: object) -> None:
        if self.check is not None and not self.check(text):
            raise self._error(value, f"not valid. {self.doc}")

    def _check_range(self, number: float) -> None:
        is_above = self.minimum is None or number >= self.minimum
        is_below = self.maximum is None or number <= self.maximum
        if not (is_above and is_below):
            least = "" if self.minimum is None else f" from {self.minimum:.15g}"
            most = "" if self.maximum is None else f" to {self.maximum:.15g}"
            raise self._error(number, f"use a value{least}{most}")

    def _error(self, value: object, reason: str) -> InvalidConfigError:
        return InvalidConfigError(f"{self.name}={str(value)[:100]!r}: {reason}", name=self.name)


_PARSERS: dict[ConfigType, Callable[[ConfigDefinition, object], ConfigValue]] = {
    ConfigType.BOOLEAN: ConfigDefinition._parse_boolean,
    ConfigType.STRING: ConfigDefinition._parse_string,
    ConfigType.SHORT: ConfigDefinition._parse_integer,
    ConfigType.INT: ConfigDefinition._parse_integer,
    ConfigType.LONG: ConfigDefinition._parse_integer,
    ConfigType.DOUBLE: ConfigDefinition._parse_double,
    ConfigType.LIST: ConfigDefinition._parse_list,
    ConfigType.CLASS: ConfigDefinition._parse_string,
    ConfigType.PASSWORD: lambda _, value: Password(value),
    ConfigType.UNKNOWN: ConfigDefinition._parse_string,
}


@cache
def definitions_of(table: type) -> dict[str, ConfigDefinition]:
    """Return the configurations of a table by name, in its order."""
    found = {}
    for field in slotted.fields(table):
        name = field.name.replace("_", ".")
        found[name] = slotted.evolve(field.metadata, name=name)
    return found


def from_parsed(table: type[T], values: dict[str, ConfigValue]) -> T:
    """Return the table's object for parsed values by configuration name."""
    return table(**{name.replace(".", "_"): value for name, value in values.items()})


def boolean(default: bool, **more: Any) -> Any:
    """Declare a configuration that is true or false."""
    return _field(ConfigType.BOOLEAN, default, more)


def string(default: str | None, **more: Any) -> Any:
    """Declare a configuration that is a str, one of ``choices`` if they are given."""
    return _field(ConfigType.STRING, default, more)


def class_name(**more: Any) -> Any:
    """Declare a configuration that names a Java class, and null while it is not set."""
    return _field(ConfigType.CLASS, None, more)


def password(**more: Any) -> Any:
    """Declare a configuration that is secret, and null while it is not set."""
    return _field(ConfigType.PASSWORD, None, {"update_mode": UpdateMode.PER_BROKER, **more})


def strings(*default: str, **more: Any) -> Any:
    """Declare a configuration that is a list, each of ``choices`` if they are given."""
    return _field(ConfigType.LIST, default, more)


def optional_strings(**more: Any) -> Any:
    """Declare a configuration that is a list, or null while it is not set."""
    return _field(ConfigType.LIST, None, more)


def short(default: int, **more: Any) -> Any:
    """Declare a configuration of 16 bits."""
    return _field(ConfigType.SHORT, default, more)


def integer(default: int | None, **more: Any) -> Any:
    """Declare a configuration of 32 bits."""
    return _field(ConfigType.INT, default, more)


def long(default: int | None, **more: Any) -> Any:
    """Declare a configuration of 64 bits."""
    return _field(ConfigType.LONG, default, more)


def double(default: float, **more: Any) -> Any:
    """Declare a configuration that is a floating-point number."""
    return _field(ConfigType.DOUBLE, default, more)


def _field(kind: ConfigType, default: ConfigValue, more: dict[str, Any]) -> Any:
    definition = ConfigDefinition(type=kind, default=default, **more)
    return slotted.field(default=default, metadata=definition)
