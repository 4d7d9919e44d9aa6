"""Run the command-line tools of Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from support import apache_kafka

PACKAGE = "org.apache.kafka.tools."


def run_tool(name: str, *arguments: str, **options: object) -> str:
    """Run a tool, named by its class in ``org.apache.kafka.tools``, and return its output.

    Fails with that output if the tool reports a failure.
    """
    done = apache_kafka.tool(PACKAGE + name, *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def dump_log_segments(files: Iterable[Path], *options: str) -> str:
    """Return what Kafka's DumpLogSegments prints about these files."""
    return run_tool("DumpLogSegments", *options, "--files", ",".join(map(str, files)))
