"""Modules that an installation must have, and those that it should have."""

from __future__ import annotations

import logging
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from pyk.spark_connector import installation, notices
from pyk.spark_connector.errors import InstallationError
from pyk.spark_connector.installation import is_compiled, warn_if_uncompiled
from pyk.spark_connector.sink import BatchWriter, StreamWriter
from pyk.spark_connector.source import BatchReader
from pyk.spark_connector.stream_source import StreamReader

ROOT = Path(__file__).resolve().parents[3]
SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
MISSING = r"^\[PYK_INSTALLATION\] snappy needs the package cramjam: pip install"


@pytest.fixture(autouse=True)
def nothing_logged_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "_logged", set())


@pytest.mark.parametrize("reader", [BatchReader, StreamReader])
def test_a_read_without_a_codec_fails_on_the_driver(
    reader: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)

    with pytest.raises(InstallationError, match=MISSING):
        reader(SERVERS | {"subscribe": "a"}, StructType([StructField("value", BinaryType())]))


@pytest.mark.parametrize("writer", [BatchWriter, StreamWriter])
def test_a_write_without_its_codec_fails_on_the_driver(
    writer: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    options = SERVERS | {"topic": "a", "kafka.compression.type": "snappy"}
    overwrite = (False,) if writer is BatchWriter else ()

    with pytest.raises(InstallationError, match=MISSING):
        writer(options, StructType([StructField("value", StringType())]), *overwrite)


def test_a_write_needs_no_other_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    options = SERVERS | {"topic": "a", "kafka.compression.type": "lz4"}

    StreamWriter(options, StructType([StructField("value", StringType())]))


@pytest.mark.parametrize(
    ("file", "compiled"),
    [("/x/reader.py", False), ("/x/pyk.zip/reader.pyc", False), ("/x/reader.abi3.so", True)],
)
def test_a_module_without_a_python_file_counts_as_compiled(file: str, compiled: bool) -> None:
    module = ModuleType("reader")
    module.__file__ = file

    assert is_compiled(module) == compiled


@pytest.mark.parametrize("compiled", [True, False])
def test_the_plain_form_is_logged_once(
    compiled: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(installation, "is_compiled", lambda module: compiled)

    with caplog.at_level(logging.WARNING):
        warn_if_uncompiled()
        warn_if_uncompiled()

    assert caplog.text.count("uncompiled") == (0 if compiled else 1)


def test_the_extra_installs_every_codec() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    extra = " ".join([*project["dependencies"], *project["optional-dependencies"]["spark"]])
    assert all(package in extra for package in ("lz4", "zstandard", "cramjam"))
