"""Choose the cluster and the options of its clients from all that was given. Pure.

The address decides, from the command line (``-b`` before ``-X``), a profile that was named, the
environment, a file of properties, or the default profile. The default profile is used only if
nothing else names a cluster: its passwords must not go to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.profiles import REFERENCES, Profiles
from pyk.command_line.frame.settings import Settings
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.runtime import slotted

ADDRESSES = ("bootstrap_servers", "bootstrap", "brokers", "broker_list", "metadata_broker_list")
"""What the addresses of brokers are called, here and in other clients."""

SERIALIZATION = ("key_serializer", "value_serializer", "key_deserializer", "value_deserializer")
"""What the files of Java's clients name, and commands do without."""


@slotted.frozen
class References:
    """How to look up what a reference leads to.

    Each raises ``OSError``, ``LookupError`` or ``ValueError``.
    """

    environment: Mapping[str, str] = slotted.field(repr=False)
    read_file: Callable[[str], str]
    run_command: Callable[[str], str]

    def resolve(self, name: str, value: object) -> object:
        """Return a value, or what it refers to, without the end of its last line."""
        if not isinstance(value, str) or not value.startswith(REFERENCES):
            return value
        kind, _, target = value.partition(":")
        try:
            return self._look_up(kind, target).rstrip("\r\n")
        except KeyError:
            reason = "it is not set"
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except OSError as error:
            reason = error.strerror or str(error)
        except ValueError as error:  # quotes of a command that do not end
            reason = str(error)
        raise CommandError(f"{name}: {value!r} cannot be read: {reason}", ExitCode.USAGE)

    def _look_up(self, kind: str, target: str) -> str:
        if kind == "env":
            return self.environment[target]
        return self.read_file(target) if kind == "file" else self.run_command(target)


def client_options(
    settings: Settings,
    environment: Mapping[str, str],
    properties: Mapping[str, object],
    read_profiles: Callable[[], Profiles],
) -> dict[str, object]:
    """Return the options of clients by the names that were given, references unresolved.

    ``properties`` are those of the file that ``settings`` name. Raises :class:`CommandError` if
    nothing names a cluster.
    """
    named = settings.profile
    if named is None:
        named = environment.get("PYK_PROFILE") or None
    of_profile: Mapping[str, object] = {}
    of_environment: Mapping[str, object] = {}
    if named is not None:
        of_profile = read_profiles().options_of(named)
    elif servers := environment.get("PYK_BOOTSTRAP"):
        of_environment = {"bootstrap_servers": servers}
    given = merged(of_profile, properties, of_environment, settings.options)
    if settings.bootstrap is not None:
        given = merged(given, {"bootstrap_servers": settings.bootstrap})
    if "bootstrap_servers" not in _by_plain_name(given):
        profiles = read_profiles()
        if named is not None:
            problem = f"{profiles.path}: profile {named!r} names no cluster; {_address_in(given)}"
            raise CommandError(problem, ExitCode.USAGE)
        if profiles.default is None:
            raise CommandError(_no_cluster(profiles, given), ExitCode.USAGE)
        given = merged(profiles.options_of(profiles.default), given)
    return given


def has_addresses_alone(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Return whether nothing is given to clients but addresses, so that they do without TLS."""
    is_named = settings.bootstrap is not None or bool(environment.get("PYK_BOOTSTRAP"))
    more = (settings.profile, environment.get("PYK_PROFILE"), settings.properties, settings.options)
    return is_named and not any(more)


def merged(*layers: Mapping[str, object]) -> dict[str, object]:
    """Return options of which the last wins, whether it is written with dots or without."""
    last: dict[str, tuple[str, object]] = {}
    for layer in layers:
        last.update(_by_plain_name(layer))
    return dict(last.values())


def options_of_command(
    options: Mapping[str, object], needed: Mapping[str, object], asked: Mapping[str, object]
) -> dict[str, object]:
    """Return the options of a client of a command that needs some of them, and bytes.

    What a file or a profile says otherwise is for other programs. What was ``asked`` for by ``-X``
    is for this command: raises :class:`CommandError` if that is different.
    """
    by_name = _by_plain_name(needed)
    for name, value in asked.items():
        if (plain := name.replace(".", "_")) in SERIALIZATION:
            raise CommandError(f"keys and values are bytes here; leave out {name}", ExitCode.USAGE)
        if plain not in by_name:
            continue
        if (used := by_name[plain][1]) is None:
            problem = f"{name} has no effect here; pyk consume and pyk copy take --group"
            raise CommandError(problem, ExitCode.USAGE)
        if str(value).lower() != str(used).lower():
            problem = f"{name}={value} has no effect here: this command uses {used}"
            raise CommandError(problem, ExitCode.USAGE)
    rest = {
        name: value
        for name, value in options.items()
        if name.replace(".", "_") not in SERIALIZATION
    }
    return merged(rest, needed)


def _by_plain_name(options: Mapping[str, object]) -> dict[str, tuple[str, object]]:
    return {name.replace(".", "_"): (name, value) for name, value in options.items()}


def _address_in(given: Mapping[str, object]) -> str:
    """Return how to name the cluster where a profile or ``-X`` may have misspelt it."""
    if (written := _misspelt(given)) is not None:
        return f"did you mean 'bootstrap_servers' by {written!r}?"
    return 'give it bootstrap_servers = "HOST:PORT", or add -b HOST:PORT'


def _misspelt(given: Mapping[str, object]) -> str | None:
    return next((one for one in given if did_you_mean(one.replace(".", "_"), ADDRESSES)), None)


def _no_cluster(profiles: Profiles, given: Mapping[str, object]) -> str:
    if _misspelt(given) is not None:
        return f"no cluster was named; {_address_in(given)}"
    also = f"; {profiles.path} has {', '.join(profiles.names)}" if profiles.names else ""
    return (
        f"no cluster was named: give -b HOST:PORT, set PYK_BOOTSTRAP, or choose a --profile{also}"
    )
