"""Spark's interface without a session: pickled readers, limits, SIGTERM."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from pyk.spark_connector import notices
from pyk.spark_connector.data_source import PykDataSource
from pyk.spark_connector.errors import OptionError, SchemaError
from pyk.spark_connector.source import BatchReader
from pyk.spark_connector.stream_source import StreamReader

OPTIONS = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
VALUE = StructType([StructField("value", BinaryType())])


def test_the_format_is_called_pyk() -> None:
    import pyspark_pyk

    assert pyspark_pyk.DefaultSource.name() == "pyk"


def test_columns_depend_on_the_headers() -> None:
    assert "headers" not in PykDataSource(OPTIONS).schema()
    assert "headers" in PykDataSource(OPTIONS | {"includeHeaders": "true"}).schema()


def test_an_invalid_option_is_reported_when_a_table_is_loaded() -> None:
    with pytest.raises(OptionError, match="did you mean 'failOnDataLoss'"):
        PykDataSource(OPTIONS | {"failOnDataLos": "true"}).schema()


@pytest.mark.parametrize("reader", [BatchReader, StreamReader])
def test_client_options_are_checked_before_anything_runs(reader: type) -> None:
    with pytest.raises(OptionError, match=r"kafka.*did you mean 'fetch\.min\.bytes'"):
        reader(OPTIONS | {"kafka.fetch.minn.bytes": "5"}, VALUE)


def test_a_secret_that_spark_would_show_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notices, "_logged", set())
    url = "socks5://alice:canary@localhost:1080"

    with caplog.at_level(logging.WARNING):
        BatchReader(OPTIONS | {"kafka.proxy": url}, VALUE)

    (record,) = caplog.records
    assert "kafka.proxy: Spark shows this in its UI" in record.getMessage()
    assert "canary" not in record.getMessage()


@pytest.mark.parametrize("reader", [BatchReader, StreamReader])
def test_plans_have_references_to_secrets_and_not_the_secrets(
    reader: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PROXY", "socks5://alice:canary@localhost:1080")
    options = OPTIONS | {"kafka.config.providers": "env", "kafka.proxy": "${env:PROXY}"}

    made = reader(options, VALUE)

    assert b"canary" not in pickle.dumps(made)
    assert b"${env:PROXY}" in pickle.dumps(made)
    assert caplog.records == []


@pytest.mark.parametrize("reader", [BatchReader, StreamReader])
def test_client_options_of_spark_are_accepted_and_reported_once(
    reader: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notices, "_logged", set())
    options = OPTIONS | {"kafka.acks": "all", "kafka.send.buffer.bytes": "1", "inferSchema": "true"}

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            reader(options, VALUE)

    (record,) = caplog.records
    assert "option 'inferschema' has no effect on a read" in record.getMessage()
    assert "kafka.acks has no effect: an option of Producer" in record.getMessage()
    assert "kafka.send.buffer.bytes has no effect: the operating system" in record.getMessage()


@pytest.mark.parametrize("reader", [BatchReader, StreamReader])
def test_an_invalid_column_is_reported_before_anything_runs(reader: type) -> None:
    with pytest.raises(SchemaError, match="column 'value' must be binary, not string"):
        reader(OPTIONS, StructType([StructField("value", StringType())]))


@pytest.mark.parametrize("reader", [BatchReader, StreamReader])
def test_readers_can_be_pickled(reader: type) -> None:
    schema = StructType([StructField("offset", LongType())])

    assert pickle.loads(pickle.dumps(reader(OPTIONS, schema))).read is not None


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, ReadAllAvailable()),
        ({"maxOffsetsPerTrigger": "5"}, ReadMaxRows(5)),
        ({"minOffsetsPerTrigger": "3"}, ReadMinRows(3)),
        ({"minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "5"}, ReadMaxRows(5)),
    ],
)
def test_the_reader_reports_its_limit_to_spark(options: dict[str, str], limit: ReadLimit) -> None:
    assert StreamReader(OPTIONS | options, VALUE).getDefaultReadLimit() == limit


PROGRAM = """
import os, signal
from pyk.spark_connector import stream_source

stream_source._exit_on_sigterm()
try:
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    print("stopped")
"""


def test_sigterm_leaves_time_to_stop_even_if_it_comes_twice() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stdout) == (0, "stopped\n")
