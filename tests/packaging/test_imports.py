"""Importing a part loads only that part."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pyk.reference_broker import Cluster


def modules_after(statement: str) -> set[str]:
    """Return the modules of a new interpreter after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "unwanted", ["pyspark", "pyarrow", "pyk.reference_broker", "click", "rich"]
)
def test_the_clients_do_not_load(unwanted: str) -> None:
    assert unwanted not in modules_after("import pyk.clients; from pyk.clients import Producer")


def test_importing_the_clients_loads_few_modules_beyond_asyncio() -> None:
    beyond_asyncio = modules_after("import pyk.clients") - modules_after("import asyncio")

    assert not {name for name in beyond_asyncio if name.startswith("pyk.protocol.messages.")}
    assert len(beyond_asyncio) < 40


def test_the_protocol_does_not_load_asyncio() -> None:
    assert "asyncio" not in modules_after("import pyk.protocol")


def test_the_module_that_spark_discovers_loads_neither_pyarrow_nor_the_broker() -> None:
    loaded = modules_after("import pyspark_pyk")

    assert not {"pyarrow", "pyk.reference_broker", "pyk.clients"} & loaded


@pytest.mark.parametrize("words", [["--help"], ["topic", "create", "--help"]])
def test_the_help_of_commands_loads_no_clients(words: list[str]) -> None:
    loaded = modules_after(
        "import io, sys\n"
        "out, sys.stdout = sys.stdout, io.StringIO()\n"
        "from pyk.command_line.main import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: sys.stdout = out"
    )

    assert "click" in loaded
    assert not {"asyncio", "pyk.clients", "rich", "tomllib"} & loaded


CONNECTED = {"api_versions", "headers", "metadata"}
"""Messages of every client that connects."""
LIGHT = [
    ("topic list", "admin", set(), 162),
    ("group list", "admin", {"list_groups"}, 164),
    ("produce orders /dev/null", "producer", {"init_producer_id", "produce"}, 209),
    ("consume orders --until end", "consumer", {"fetch", "list_offsets"}, 234),
]
"""Commands that should start at once: their client, the messages that they need besides, and how
many modules of pyk they may load. Each costs about a quarter of a millisecond of CPU."""
NOT_NEEDED = {
    "attr",
    "encodings.idna",
    "hashlib",
    "json",
    "pathlib",
    "pyk.clients.config.keyword_arguments",
    "pyk.clients.security.credentials",
    "pyk.clients.security.tls",
    "pyk.protocol.sasl",
    "rich",
    "shlex",
    "ssl",
    "tempfile",
    "tomllib",
}

CLIENTS = {"pyk.clients.admin", "pyk.clients.consumer", "pyk.clients.producer", "pyk.clients.share"}


def modules_of_command(words: str) -> set[str]:
    """Return the modules of a command that worked, with a cluster that has a topic."""
    with Cluster() as cluster:
        cluster.create_topic("orders")
        return modules_after(
            "import io, sys\n"
            "out, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())\n"
            "from pyk.command_line.main import main\n"
            f"try: main({[*words.split(), '-b', cluster.bootstrap]!r})\n"
            "except SystemExit as ended: code = ended.code\n"
            "sys.stdout = out\n"
            "assert code == 0, code"
        )


def loaded_messages(loaded: set[str]) -> set[str]:
    prefix = "pyk.protocol.messages."
    return {name.removeprefix(prefix) for name in loaded if name.startswith(prefix)}


def loaded_from_pyk(loaded: set[str]) -> list[str]:
    return sorted(name for name in loaded if name.startswith("pyk."))


@pytest.mark.parametrize(("words", "client", "needed", "most_modules"), LIGHT)
def test_a_light_command_loads_little_more_than_its_client(
    words: str, client: str, needed: set[str], most_modules: int
) -> None:
    loaded = modules_of_command(words)

    assert (NOT_NEEDED | CLIENTS) - {f"pyk.clients.{client}"} & loaded == set()
    assert loaded_messages(loaded) == CONNECTED | needed
    assert len(loaded_from_pyk(loaded)) <= most_modules


@pytest.mark.parametrize(
    ("words", "message"),
    [("cluster", "describe_cluster"), ("config show topic orders", "describe_configs")],
)
def test_another_command_loads_the_messages_of_one_kind_of_call(words: str, message: str) -> None:
    loaded = modules_of_command(words)

    assert (NOT_NEEDED | CLIENTS) - {"pyk.clients.admin"} & loaded == set()
    assert loaded_messages(loaded) >= CONNECTED | {message}
    assert len(loaded_messages(loaded)) < 20
    assert len(loaded_from_pyk(loaded)) < 190


def test_a_producer_loads_no_other_client() -> None:
    loaded = modules_after("from pyk.clients import Producer")

    unwanted = {
        "attr",
        "pyk.clients.admin",
        "json",
        "pyk.clients.config.keyword_arguments",
        "pyk.clients.share",
        "pyk.protocol.sasl",
    }
    assert unwanted & loaded == set()
