"""The file of profiles: named clusters, each with the options of its clients. Pure.

    default = "local"

    [profiles.local]
    bootstrap_servers = "localhost:9092"

    [profiles.shop]
    bootstrap_servers = ["one.example:9093", "two.example:9093"]
    security.protocol = "SASL_SSL"
    sasl_mechanism = "SCRAM-SHA-512"
    sasl_username = "alice"
    sasl_password = "command:pass show kafka/shop"

Options have Kafka's names or those of pyk. A dotted name without quotes is a table to TOML, which
is flattened here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.runtime import slotted

KEYS = ("default", "profiles")
SECRETS = ("password", "secret", "passphrase", "jaas_config", "keystore_key")
"""What the names of options that hold secrets end with."""
REFERENCES = ("env:", "file:", "command:")
"""What begins a value that says where the value is kept."""


@slotted.frozen
class Profiles:
    """The clusters of a file of profiles."""

    path: str
    default: str | None = None
    by_name: Mapping[str, Mapping[str, object]] = slotted.field(factory=dict)

    @property
    def names(self) -> list[str]:
        return sorted(self.by_name)

    @property
    def plain_secrets(self) -> list[str]:
        """Return the options that hold a secret in the file itself, such as shop.sasl_password."""
        return [
            f"{name}.{option}"
            for name in self.names
            for option, value in self.by_name[name].items()
            if option.replace(".", "_").endswith(SECRETS)
            and isinstance(value, str)
            and not value.startswith(REFERENCES)
        ]

    def options_of(self, name: str) -> Mapping[str, object]:
        """Return the options of a profile; raise :class:`CommandError` if there is none."""
        if name in self.by_name:
            return self.by_name[name]
        if not self.by_name:
            raise _wrong(f"there is no profile {name!r}: {self.path} has no profiles")
        advice = did_you_mean(name, self.by_name) or f"it has {', '.join(self.names)}"
        raise _wrong(f"{self.path} has no profile {name!r}; {advice}")


def parse_profiles(text: str, path: str) -> Profiles:
    """Return the profiles in a text; raise :class:`CommandError` that says what is wrong."""
    import tomllib  # not needed where there are no profiles

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(f"{path} is not TOML: {error}") from None
    for key in document:
        if key not in KEYS:
            advice = did_you_mean(key, KEYS) or "it may have 'default' and [profiles.NAME]"
            raise _wrong(f"{path}: {key!r} is unknown; {advice}")
    profiles = document.get("profiles", {})
    default = document.get("default")
    if not isinstance(profiles, dict) or not all(isinstance(p, dict) for p in profiles.values()):
        raise _wrong(f"{path}: a profile is a table: [profiles.NAME]")
    if default is not None and (not isinstance(default, str) or default not in profiles):
        raise _wrong(f"{path}: default = {default!r} is not the name of a profile")
    by_name = {name: dict(_flat(options, path)) for name, options in profiles.items()}
    return Profiles(path, default, by_name)


def _flat(options: Mapping[str, Any], path: str, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in options.items():
        full = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _flat(value, path, f"{full}.")
        elif isinstance(value, str | int | float | bool):
            yield full, value
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield full, ",".join(value)
        else:
            raise _wrong(f"{path}: {full} must be text, a number, true, false, or a list of texts")


def _wrong(message: str) -> CommandError:
    return CommandError(message, ExitCode.USAGE)
