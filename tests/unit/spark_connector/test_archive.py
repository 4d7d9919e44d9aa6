"""An archive that makes pyk importable where it is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from pyk.protocol.records import reader
from pyk.spark_connector.archive import main, write_archive
from pyk.spark_connector.installation import is_compiled

PROGRAM = """
import importlib.util
import pyk.clients, attr, lz4, crc32c, cramjam, zstandard, murmurhash2
from pyk.clients import Consumer
from pyk.protocol.records import reader
print(reader.__file__, importlib.util.find_spec("pyspark_pyk") is not None)
"""


def test_pyk_runs_from_the_archive_as_fast_as_here(tmp_path: Path) -> None:
    write_archive(tmp_path / "pyk.tar.gz")
    with tarfile.open(tmp_path / "pyk.tar.gz") as archive:
        archive.extractall(tmp_path / "pyk", filter="data")

    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM],  # -S: without what is installed
        env={**os.environ, "PYTHONPATH": "pyk"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    file, discovered = done.stdout.split()
    assert Path(tmp_path, file).is_relative_to(tmp_path / "pyk")
    assert Path(file).suffix == Path(str(reader.__file__)).suffix
    assert (Path(file).suffix != ".py") == is_compiled(reader)
    assert discovered == "True"


def test_the_error_for_a_missing_package_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path / "x.tar.gz"), "--with", "no-such-package"])

    assert "'no-such-package' is not installed" in capsys.readouterr().err
