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


LIGHT = {
    "topic list": {"metadata", "describe_topic_partitions"},
    "group list": {"metadata", "list_groups"},
    "cluster": {"metadata", "describe_cluster"},
    "config show topic orders": {"metadata", "describe_configs"},
}
"""Commands that should start at once, and messages that they need."""
NOT_NEEDED = {
    "attr",
    "encodings.idna",
    "hashlib",
    "json",
    "pathlib",
    "pyk.clients.config.keyword_arguments",
    "pyk.clients.consumer",
    "pyk.clients.producer",
    "pyk.clients.security.credentials",
    "pyk.clients.security.tls",
    "pyk.clients.share",
    "pyk.protocol.sasl",
    "rich",
    "shlex",
    "ssl",
    "tempfile",
    "tomllib",
}


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


@pytest.mark.parametrize("words", LIGHT)
def test_a_light_command_loads_little_more_than_a_client(words: str) -> None:
    loaded = modules_of_command(words)

    prefix = "pyk.protocol.messages."
    messages = {name.removeprefix(prefix) for name in loaded if name.startswith(prefix)}
    assert NOT_NEEDED & loaded == set()
    assert LIGHT[words] <= messages
    assert len(messages) < 30
    assert len({name for name in loaded if name.startswith("pyk.")}) < 240


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("produce orders /dev/null", {"pyk.clients.admin", "pyk.clients.consumer"}),
        ("consume orders --until end", {"pyk.clients.admin", "pyk.clients.producer"}),
    ],
)
def test_producing_and_consuming_load_only_their_client(words: str, others: set[str]) -> None:
    loaded = modules_of_command(words)

    unwanted = NOT_NEEDED - {"pyk.clients.consumer", "pyk.clients.producer"} | others
    assert unwanted & loaded == set()
    assert len({name for name in loaded if name.startswith("pyk.")}) < 310


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
