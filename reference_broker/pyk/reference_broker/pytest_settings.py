"""The settings of the pytest plugin: options of the command line, and of pytest's configuration.

    [tool.pytest.ini_options]
    kafka_config = ["num.partitions=3"]
    kafka_security = "SASL_SSL"

An option of the command line wins over the configuration, but for ``kafka_config``: of that both
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyk.reference_broker import Cluster

SECURITY = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
DEFAULT_USERS = {"test": "test-only"}
MOST_REQUESTS = 15

_TEXTS = {
    "kafka_config": "a configuration of the broker, NAME=VALUE (several are possible)",
    "kafka_security": f"the protocol of the listener: {', '.join(SECURITY)}",
    "kafka_users": "users of SASL, NAME=PASSWORD (several are possible)",
    "kafka_pretend": "serve the API versions of this release of Kafka, such as 2.1",
    "kafka_data_dir": "keep the data of sessions with failed tests in a folder below this one",
    "kafka_log_level": f"what the brokers log: {', '.join(LOG_LEVELS)}",
    "kafka_seed": "the seed of tests in virtual time that name none",
}
_LISTS = ("kafka_config", "kafka_users")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka", "clusters of pyk's fixtures")
    for name, text in _TEXTS.items():
        is_list = name in _LISTS
        group.addoption(
            f"--{name.replace('_', '-')}",
            action="append" if is_list else "store",
            metavar=name.removeprefix("kafka_").upper(),
            default=[] if is_list else None,
            help=text,
        )
        parser.addini(name, text, type="linelist" if is_list else None, default=None)


def check(config: pytest.Config) -> None:
    """Raise ``UsageError`` for a setting that is not one of its values."""
    _choice(config, "kafka_security", SECURITY)
    _choice(config, "kafka_log_level", LOG_LEVELS)
    _pairs(config, "kafka_config")
    _pairs(config, "kafka_users")
    seed(config)
    if _value(config, "kafka_pretend"):
        from pyk.protocol.releases import RELEASES

        _choice(config, "kafka_pretend", RELEASES)


def cluster_options(config: pytest.Config) -> dict[str, Any]:
    """Return the arguments of a cluster."""
    security = _choice(config, "kafka_security", SECURITY) or "PLAINTEXT"
    options: dict[str, Any] = {}
    if configs := _pairs(config, "kafka_config"):
        options["config"] = configs
    if "SSL" in security.removeprefix("SASL"):
        options["tls"] = True
    if security.startswith("SASL"):
        options["sasl"] = _pairs(config, "kafka_users") or DEFAULT_USERS
    return options


def log_level(config: pytest.Config) -> str | None:
    return _choice(config, "kafka_log_level", LOG_LEVELS)


def release(config: pytest.Config) -> str | None:
    """Return the release of Kafka that clusters pretend to be, None for none."""
    return _value(config, "kafka_pretend")


def seed(config: pytest.Config) -> int:
    text = _value(config, "kafka_seed") or "0"
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"kafka_seed must be an int, not {text!r}") from None


@contextmanager
def usage_errors(where: str, given: Iterable[str], known: tuple[str, ...]) -> Iterator[None]:
    """Raise ``UsageError`` for unknown names of arguments, and for values that are refused."""
    from .errors import ApiError
    from .fault_names import nearest

    for name in given:
        if name not in known:
            raise pytest.UsageError(
                f"{where} has no argument {name!r}{nearest(name, known)}, only {', '.join(known)}"
            )
    try:
        yield
    except (TypeError, ValueError, ApiError) as error:
        raise pytest.UsageError(f"{where}: {error}") from error


@contextmanager
def data_folder(config: pytest.Config) -> Iterator[str | None]:
    """Make a folder for a cluster's data, which stays if a test fails; None for no folder."""
    parent = _value(config, "kafka_data_dir")
    if parent is None:
        yield None
        return
    import os
    import shutil
    import tempfile

    try:
        os.makedirs(parent, exist_ok=True)
        folder = tempfile.mkdtemp(prefix="kafka-", dir=parent)
    except OSError as error:
        reason = error.strerror
        raise pytest.UsageError(
            f"kafka_data_dir: cannot make the folder {parent!r}: {reason}"
        ) from error
    failed = _Failures()
    config.pluginmanager.register(failed)
    try:
        yield folder
    finally:
        config.pluginmanager.unregister(failed)
        if not failed.count:
            shutil.rmtree(folder)


def requests_since(cluster: Cluster, began_ms: int) -> list[str]:
    """Return lines about the latest requests to a cluster, for a test that has failed."""
    seen = [each for each in cluster.requests() if each.time_ms >= began_ms]
    lines = [f"{cluster!r} had {len(seen)} requests during this test"]
    if len(seen) > MOST_REQUESTS:
        lines[0] += f", the last {MOST_REQUESTS} of them:"
    lines += [
        f"  +{(each.time_ms - began_ms) / 1000:.3f} s {each.api} v{each.version} "
        f"of {each.client_id!r}"
        for each in seen[-MOST_REQUESTS:]
    ]
    lines += [f"  {rule!r}" for rule in cluster.faults.rules]
    return lines


class _Failures:
    """A plugin that counts failed tests."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.failed

    def pytest_keyboard_interrupt(self) -> None:
        self.count += 1


def _value(config: pytest.Config, name: str) -> str | None:
    return config.getoption(name) or config.getini(name) or None


def _choice(config: pytest.Config, name: str, known: tuple[str, ...]) -> str | None:
    value = _value(config, name)
    if value is None:
        return None
    chosen = value if value in known else value.upper()
    if chosen not in known:
        raise pytest.UsageError(f"{name} must be one of {', '.join(known)}, not {value!r}")
    return chosen


def _pairs(config: pytest.Config, name: str) -> dict[str, str]:
    pairs = {}
    for text in [*(config.getini(name) or ()), *config.getoption(name)]:
        key, found, value = text.partition("=")
        if not (found and key.strip()):
            raise pytest.UsageError(f"{name} must be NAME=VALUE, not {text!r}")
        pairs[key.strip()] = value.strip()
    return pairs
