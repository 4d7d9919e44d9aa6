"""Ship pyk to the executors of a cluster: ``python -m pyk.spark_connector.archive pyk.tar.gz``.

The archive holds pyk as it is installed here, compiled modules included, and the packages it needs.
Spark unpacks it beside each executor; ``PYTHONPATH`` makes it importable::

    spark-submit --archives pyk.tar.gz#pyk --conf spark.executorEnv.PYTHONPATH=pyk job.py

A zip of ``--py-files`` cannot do that: Python imports no compiled module from a zip, pyk's
dependencies are compiled too, and Spark looks for data sources in folders only. The executors need
the same Python version and platform as this one, and pyarrow, which ``--with pyarrow`` adds.
"""

from __future__ import annotations

import argparse
import tarfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pyk.spark_connector

DEPENDENCIES = ("attrs", "cramjam", "crc32c", "lz4", "murmurhash2", "zstandard")
DISCOVERY_MODULE = "pyspark_pyk"
SKIPPED_SUFFIXES = frozenset({".pyc", ".c", ".pxd", ".pyx"})


def write_archive(target: Path, extra: Sequence[str] = ()) -> None:
    """Write a ``.tar.gz`` of pyk, its dependencies and the packages named in ``extra``.

    Raises ``PackageNotFoundError`` for a package that is not installed.
    """
    # Most of it is machine code, shipped once: the fastest compression is enough.
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        for name, file in sorted({**dict(_own_files()), **dict(_files_of(extra))}.items()):
            archive.add(file, name)


def _own_files() -> Iterator[tuple[str, Path]]:
    """Yield pyk's files by their names in the archive; its parts may be in several folders."""
    for folder in map(Path, pyk.__path__):
        for file in folder.rglob("*"):
            if file.is_file() and file.suffix not in SKIPPED_SUFFIXES:
                yield str(Path("pyk", file.relative_to(folder))), file
    spec = find_spec(DISCOVERY_MODULE)
    assert spec is not None  # every installation has it
    assert spec.origin is not None
    yield f"{DISCOVERY_MODULE}.py", Path(spec.origin)


def _files_of(extra: Sequence[str]) -> Iterator[tuple[str, Path]]:
    for package in (*DEPENDENCIES, *extra):
        for file in distribution(package).files or ():
            # Scripts are outside the folder of packages, and cannot be used from an archive.
            if file.suffix not in SKIPPED_SUFFIXES and ".." not in file.parts:
                yield str(file), Path(str(file.locate()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the archive that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m pyk.spark_connector.archive")
    parser.add_argument("target", type=Path, help="the file to write, NAME.tar.gz")
    parser.add_argument("--with", dest="extra", action="append", default=[], metavar="PACKAGE")
    options = parser.parse_args(arguments)
    try:
        write_archive(options.target, options.extra)
    except PackageNotFoundError as error:
        parser.error(f"the package {error.name!r} is not installed here")


if __name__ == "__main__":
    main()
