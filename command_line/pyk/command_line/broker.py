"""``pyk broker``: a broker in the foreground."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import click

from pyk.command_line.frame.commands import PlainCommand
from pyk.command_line.hidden_modules import hidden_modules
from pyk.reference_broker.address import format_address
from pyk.reference_broker.cluster import AsyncCluster, until_failed
from pyk.reference_broker.config import InvalidConfigError
from pyk.reference_broker.security.certificates import MissingPackageError
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem import OsFileSystem

HOST, PORT = "127.0.0.1", 9092
LOG_DIRS = frozenset(("log.dirs", "log.dir"))


class _OutputError(Exception):
    """Standard output did not take the line READY; neither files nor sockets are to blame."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


@click.command(cls=PlainCommand)
@click.option("--brokers", default=1, show_default=True, help="How many brokers to run.")
@click.option("--host", show_default=HOST, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    show_default=str(PORT),
    help="The port; 0 chooses a free one.",
)
@click.option(
    "--advertise",
    metavar="HOST[:PORT]",
    help="The address that clients connect to; by default the one at which they reach the broker.",
)
@click.option(
    "--data-dir",
    "data_dirs",
    multiple=True,
    type=click.Path(),
    metavar="DIR",
    help="The folder for all data; without it, data end with the broker. With several, repeated or "
    "separated by commas, logs are spread over them.",
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A broker or topic configuration by Kafka's name; may be repeated.",
)
@click.option("--tls", is_flag=True, help="Encrypt connections, by certificates of its own.")
@click.option(
    "--sasl",
    "users",
    multiple=True,
    metavar="USER[=PASSWORD]",
    help="A user that may log in; may be repeated. Everybody on the machine sees a password that "
    "is given here: USER=@FILE reads it from a file, USER from PYK_PASSWORD_USER in the "
    "environment.",
)
@click.option(
    "--super-user",
    "super_users",
    multiple=True,
    metavar="USER",
    help="A user that may do everything, while ACLs say what others may; may be repeated.",
)
@click.option(
    "--client-properties",
    metavar="FILE",
    type=click.Path(),
    help="Write what a client needs to connect, for Producer.from_properties and Kafka's tools; "
    "the first user logs in.",
)
@click.option(
    "--faults",
    "fault_file",
    metavar="FILE",
    type=click.Path(),
    help="A TOML or JSON file that says which requests go wrong, and how.",
)
def broker(  # noqa: PLR0917 - click passes them by name
    brokers: int,
    host: str | None,
    port: int | None,
    advertise: str | None,
    data_dirs: tuple[str, ...],
    configs: tuple[str, ...],
    tls: bool,
    users: tuple[str, ...],
    super_users: tuple[str, ...],
    client_properties: str | None,
    fault_file: str | None,
) -> None:
    """Run a broker for development and tests, until Ctrl-C, SIGTERM or the end of its terminal.

    Prints one line, READY host:port, once clients can connect.
    """
    config = dict(map(_parse_config, configs))
    if "listeners" not in config:
        host, port = host or HOST, PORT if port is None else port
    has_data = bool(data_dirs) or not LOG_DIRS.isdisjoint(config)
    filesystem = OsFileSystem(is_durable=has_data)
    with _folders(data_dirs, config) as folders:
        try:
            cluster = AsyncCluster(
                brokers,
                data_dir=folders,
                config=config,
                host=host,
                port=port,
                advertise=advertise,
                filesystem=filesystem,
                tls=tls,
                sasl=_users(users) or None,
                super_users=super_users or None,
            )
            if fault_file is not None:
                _set_faults(cluster, fault_file)
            asyncio.run(_serve(cluster, client_properties))
        except (MissingPackageError, StorageError) as error:
            raise click.ClickException(str(error)) from error
        except (InvalidConfigError, ValueError) as error:
            raise _wrong_usage(str(error)) from error
        except _OutputError as error:
            raise error.reason from None
        except OSError as error:
            where = config.get("listeners") or format_address(host or HOST, port or 0)
            raise click.ClickException(_explain(error, where)) from error


@contextmanager
def _folders(data_dirs: tuple[str, ...], config: Mapping[str, str]) -> Iterator[list[str] | None]:
    """Return the folders for the data: a temporary one if none is given or configured."""
    folders = [each for text in data_dirs for each in _split(text)]
    if folders or not LOG_DIRS.isdisjoint(config):
        yield folders or None
        return
    with hidden_modules("bz2", "lzma"):
        import tempfile
    with tempfile.TemporaryDirectory(prefix="pyk-broker-") as folder:
        yield [folder]


def _split(text: str) -> list[str]:
    """Return the folders of one ``--data-dir``: an empty one would be a folder that is deleted."""
    folders = [each for each in text.split(",") if each]
    if not folders:
        raise _wrong_usage(f"--data-dir: it must name a folder, not {text!r}")
    return folders


def _parse_config(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise click.BadParameter(f"it must be NAME=VALUE, not {text!r}", param_hint="--config")
    return name.strip(), value


async def _serve(cluster: AsyncCluster, client_properties: str | None) -> None:
    """Run a cluster until a signal stops it, also while it starts."""
    loop = asyncio.get_running_loop()
    serving = loop.create_task(_run(cluster, client_properties))

    def stop() -> None:
        if not serving.cancelling():  # a second signal must not interrupt a clean stop
            serving.cancel()

    for each in _stop_signals():
        loop.add_signal_handler(each, stop)
    with suppress(asyncio.CancelledError):
        await serving


async def _run(cluster: AsyncCluster, client_properties: str | None) -> None:
    async with cluster:
        if client_properties is not None:
            _tell_clients(cluster, client_properties)
        try:
            click.echo(f"READY {cluster.bootstrap}")
        except OSError as error:
            raise _OutputError(error) from error
        raise await until_failed(cluster)


def _users(given: tuple[str, ...]) -> dict[str, str] | None:
    if not given:
        return None
    from pyk.command_line.broker_users import read_users  # most brokers start without users

    return read_users(given)


def _set_faults(cluster: AsyncCluster, path: str) -> None:
    from pyk.command_line.broker_faults import read_faults  # most brokers start without faults

    read_faults(path, cluster.faults)


def _tell_clients(cluster: AsyncCluster, path: str) -> None:
    from pyk.command_line.broker_users import write_client_properties

    try:
        write_client_properties(path, cluster.client_properties())
    except OSError as error:
        message = f"--client-properties: cannot write {path!r}: {error.strerror}"
        raise click.ClickException(message) from error


def _stop_signals() -> Iterable[signal.Signals]:
    """Return the signals that stop a broker, as they do Apache Kafka.

    SIGHUP says that the terminal is gone, unless ``nohup`` has the process ignore it.
    """
    yield signal.SIGINT
    yield signal.SIGTERM
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        yield signal.SIGHUP


def _wrong_usage(message: str) -> Exception:
    """Return an error of the command line or of a configuration."""
    from pyk.command_line.frame.exit_codes import ExitCode
    from pyk.command_line.frame.failures import CommandError  # most brokers start

    return CommandError(message, ExitCode.USAGE)


def _explain(error: OSError, where: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"another program uses the port of {where}; choose another port with --port, or 0 for "
            "a free one"
        )
    return f"cannot listen on {where}: {error.strerror or error}"
