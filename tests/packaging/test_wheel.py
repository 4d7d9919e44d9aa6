"""The content of the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("runtime", "protocol", "clients", "reference_broker", "spark_connector", "command_line")


BUILT = {".so", ".pyd", ".c", ".pyc"}
SHIPPED = {".py", ".pyx", ".pxd", ".tsv", ".typed"}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def build(folder: Path) -> Path:
    """Build a wheel from a copy of the tree, as on a machine without a compiler."""
    tree = folder / "tree"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in files:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "benchmarks/", "docs/")):
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, tree],
        env={**os.environ, "PYK_EXTENSIONS": "skip"}, capture_output=True, check=True,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_wheel_without_compiled_modules_runs_anywhere(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_every_part_is_in_the_wheel_and_typed(wheel: Path) -> None:
    held = names(wheel)

    assert {f"pyk/{part}/py.typed" for part in PARTS} <= set(held)
    assert {f"pyk/{part}/__init__.py" for part in PARTS} <= set(held)
    assert "pyspark_pyk.py" in held


def test_pyk_stays_a_namespace_package(wheel: Path) -> None:
    assert "pyk/__init__.py" not in names(wheel)
    assert list(ROOT.glob("*/pyk/__init__.py")) == []


def test_the_wheel_has_no_other_files(wheel: Path) -> None:
    parts = tuple(f"pyk/{part}/" for part in PARTS)
    others = [name for name in names(wheel) if not name.startswith(parts)]

    assert {Path(name).suffix for name in names(wheel) if name.startswith(parts)} == SHIPPED
    assert {name.split(".dist-info/")[-1] for name in others} == {"pyspark_pyk.py", *METADATA}


def test_every_file_of_the_parts_is_in_the_wheel(wheel: Path) -> None:
    expected = {
        str(path.relative_to(ROOT / part))
        for part in PARTS
        for path in (ROOT / part / "pyk").rglob("*")
        if "__pycache__" not in path.parts  # where another process may write a file just now
        and path.is_file()
        and path.suffix not in BUILT
    }

    assert expected - set(names(wheel)) == set()


def test_two_builds_of_the_wheel_are_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = build(tmp_path)

    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()
