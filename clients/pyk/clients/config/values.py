"""The kinds of values that options take.

A value comes as Python (a keyword argument) or as text (a properties file). Both go through the
same kind of value, which raises ``ValueError`` with the rest of a sentence that begins with the
option's name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from pyk.runtime import slotted

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
HOST_MAX_LENGTH = 255
PORTS = range(1, 65536)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Kafka allows the name of a listener's security protocol in front of an address."""
JAVA_ASSIGNORS = {
    f"org.apache.kafka.clients.consumer.{name}Assignor": protocol
    for name, protocol in (
        ("Range", "range"),
        ("RoundRobin", "roundrobin"),
        ("Sticky", "sticky"),
        ("CooperativeSticky", "cooperative-sticky"),
    )
}


class Kind(Protocol):
    """One kind of value."""

    def parse(self, given: object) -> Any:
        """Return the value that was given, or raise ``ValueError`` with what is wrong with it."""

    def describe(self) -> str:
        """Return which values are valid, for the reference."""


@slotted.frozen
class Integer:
    """A whole number in a range, both ends included."""

    minimum: int = 0
    maximum: int = INT32_MAX

    def parse(self, given: object) -> int:
        number = self._number(given)
        if number < self.minimum:
            raise ValueError(f"is {number}, but must be {self.describe()}")
        if number > self.maximum:
            raise ValueError(f"is {number}, but must be at most {self.maximum}")
        return number

    def describe(self) -> str:
        if self.maximum in (INT32_MAX, INT64_MAX):
            return f"{self.minimum} or more"
        return f"{self.minimum} to {self.maximum}"

    def _number(self, given: object) -> int:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        if isinstance(given, str):
            try:
                return int(given.strip())
            except ValueError:
                pass
        raise ValueError(f"must be a whole number, not {given!r}")


@slotted.frozen
class OptionalInteger(Integer):
    """A whole number, or None to leave the choice to pyk."""

    def parse(self, given: object) -> int | None:  # type: ignore[override]
        return None if given is None else super().parse(given)


@slotted.frozen
class Fraction:
    """A number in a range, both ends included."""

    minimum: float
    maximum: float

    def parse(self, given: object) -> float:
        try:
            number = float(given) if isinstance(given, str | int | float) else math.nan
        except ValueError:
            number = math.nan
        if isinstance(given, bool) or not self.minimum <= number <= self.maximum:
            raise ValueError(f"is {given!r}, but must be {self.describe()}")
        return number

    def describe(self) -> str:
        return f"{self.minimum} to {self.maximum}"


@slotted.frozen
class Boolean:
    """True or False."""

    def parse(self, given: object) -> bool:
        if isinstance(given, bool):
            return given
        if isinstance(given, str) and given.strip().lower() in ("true", "false"):
            return given.strip().lower() == "true"
        raise ValueError(f"must be True or False, not {given!r}")

    def describe(self) -> str:
        return "True or False"


@slotted.frozen
class AlwaysTrue(Boolean):
    """A safeguard that other clients allow to switch off."""

    def parse(self, given: object) -> bool:
        if not super().parse(given):
            raise ValueError("cannot be switched off: damaged records would be handed out")
        return True

    def describe(self) -> str:
        return "True"


@slotted.frozen
class Text:
    """A str, never empty."""

    max_length: int = 32_767

    def parse(self, given: object) -> str:
        if not isinstance(given, str):
            raise ValueError(f"must be a str, not {given!r}")
        if not 0 < len(given) <= self.max_length:
            raise ValueError(f"must have 1 to {self.max_length} characters")
        return given

    def describe(self) -> str:
        return "str"


@slotted.frozen
class TextOr:
    """A str; an empty one, which is Kafka's default, stands for ``default``."""

    default: str | None

    def parse(self, given: object) -> str | None:
        if given in ("", None):
            return self.default
        return Text().parse(given)

    def describe(self) -> str:
        return "str"


@slotted.frozen
class OptionalText(Text):
    """A str, or None."""

    def parse(self, given: object) -> str | None:  # type: ignore[override]
        return None if given is None else super().parse(given)


@slotted.frozen
class OneOf:
    """One of a few words; capitals do not matter."""

    words: tuple[str, ...]
    is_optional: bool = False
    """Whether None is taken, too."""

    def parse(self, given: object) -> str | None:
        if given is None and self.is_optional:
            return None
        for word in self.words:
            if isinstance(given, str) and word.lower() == given.strip().lower():
                return word
        raise ValueError(f"is {given!r}, but must be {self.describe()}")

    def describe(self) -> str:
        return " or ".join(repr(word) for word in self.words)


@slotted.frozen
class Acks:
    """The number of replicas that must have a batch before it counts as sent; ``"all"`` is -1."""

    def parse(self, given: object) -> int:
        for name, value in (("all", -1), ("-1", -1), ("0", 0), ("1", 1)):
            if not isinstance(given, bool) and str(given).strip().lower() == name:
                return value
        raise ValueError(f"is {given!r}, but must be {self.describe()}")

    def describe(self) -> str:
        return "'all', 1 or 0"


@slotted.frozen
class TextList:
    """Several str: a sequence, or one str with commas."""

    def parse(self, given: object) -> tuple[str, ...]:
        items = [str(item).strip() for item in items_of(given)]
        if not items or not all(items):
            raise ValueError("must name at least one")
        return tuple(dict.fromkeys(items))

    def describe(self) -> str:
        return "a sequence of str, or one str with commas"


@slotted.frozen
class OptionalTextList(TextList):
    """Several str, or None; an empty str, which is Kafka's default, is None."""

    def parse(self, given: object) -> tuple[str, ...] | None:  # type: ignore[override]
        return None if given in (None, "") else super().parse(given)


@slotted.frozen
class Assignors(TextList):
    """Names of assignors, as in Kafka's protocol or as Java classes."""

    def parse(self, given: object) -> tuple[str, ...]:
        return tuple(dict.fromkeys(JAVA_ASSIGNORS.get(name, name) for name in super().parse(given)))


@slotted.frozen
class Callback:
    """A callable of the application, or None for pyk's own."""

    method: str | None = None
    """A method, called with the topic first, that an object may have instead."""
    instead: str = "import it, and give the object as a keyword argument"
    """The advice to use something else, instead of the name."""

    def parse(self, given: object) -> object:
        if isinstance(given, str):
            raise ValueError(f"must be {self.describe()}, not {given!r}; {self.instead}")
        if self.method and isinstance(given, type) and hasattr(given, self.method):
            name = given.__name__
            raise ValueError(f"must be {self.describe()}, not the class {name}: write {name}()")
        if given is None:
            return given
        function = getattr(given, self.method, given) if self.method else given
        if not callable(function):
            raise ValueError(f"must be {self.describe()}, not {type(given).__name__}")
        if self.method:
            _check_conversion(function, () if function is given else ("topic",))
        return given

    def describe(self) -> str:
        if self.method is None:
            return "a callable"
        return f"a callable, or an object with {self.method}(topic, data)"


def _check_conversion(function: Callable[..., object], before: tuple[str, ...]) -> None:
    """Raise for a function that could convert no key or value: each record would fail."""
    if inspect.iscoroutinefunction(function):
        raise ValueError("must not be an async function: nothing would await it")
    arguments = (*before, "data")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ValueError(f"is called with ({', '.join(arguments)}): {error}") from None
    except ValueError:
        return  # a callable of an extension that does not tell its arguments


@slotted.frozen
class ServerAddress:
    """A bootstrap server as it was configured: a name that is still to be resolved, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@slotted.frozen
class Servers:
    """Addresses ``host:port``; IPv6 addresses in brackets."""

    def parse(self, given: object) -> tuple[ServerAddress, ...]:
        servers = [self._server(text) for item in items_of(given) if (text := _named(item))]
        if not servers:
            raise ValueError("is empty; write 'host:port', or several joined by commas")
        return tuple(dict.fromkeys(servers))

    def describe(self) -> str:
        return "'host:port,host:port' or a sequence of 'host:port'"

    def _server(self, text: str) -> ServerAddress:
        if "@" in text:  # what is before it may be a password, so it is not shown
            where = "sasl_username and sasl_password, or auth="
            raise ValueError(f"must name only 'host:port': give user and password by {where}")
        protocol, separator, rest = text.rpartition("://")
        if separator and protocol not in PROTOCOLS:
            raise ValueError(f"has {text!r}; write {rest!r}, without {protocol + separator!r}")
        text = rest
        host, colon, port = text.rpartition(":")
        is_bare = text.endswith("]") or (":" in host and not host.startswith("["))
        if not colon or not host or is_bare:
            raise ValueError(f"has {text!r}, which is not 'host:port' ('[::1]:9092' for IPv6)")
        if not (port.isascii() and port.isdigit() and int(port) in PORTS):
            raise ValueError(f"has {text!r}, whose port is not a number from 1 to 65535")
        host = host.strip("[]")
        if len(host) > HOST_MAX_LENGTH or not host.isprintable() or " " in host:
            raise ValueError(f"has an invalid host name: {host[:64]!r}")
        return ServerAddress(host, int(port))


def _named(item: object) -> str:
    if not isinstance(item, str):
        raise ValueError(f"must name each as a str, 'host:port', not {item!r}")
    return item.strip()


def items_of(given: object) -> Iterable[object]:
    """Return the items of a list that was given as a sequence, or as one str with commas."""
    if isinstance(given, str):
        return given.split(",")
    if isinstance(given, bytes):
        raise ValueError(f"must be a str or a sequence of str, not {given!r}")
    if isinstance(given, Mapping):
        raise ValueError("cannot be a mapping: from_properties() takes one with all options")
    if isinstance(given, Iterable):
        return given
    raise ValueError(f"must be a str or a sequence of str, not {given!r}")
