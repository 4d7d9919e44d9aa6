"""What is compiled is current, and a machine without a compiler still gets a package."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
IN_2100 = (4_102_444_800, 4_102_444_800)


def load_build_extensions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_extensions", ROOT / "build_extensions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build_extensions = load_build_extensions()


def make_project(root: Path) -> Path:
    """Make a project with one hot module and return the module's path."""
    package = root / "protocol" / "pyk" / "protocol"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "hot.pxd").write_text("cpdef long add(long a, long b)\n")
    source = package / "hot.py"
    source.write_text("def add(a, b):\n    return a + b\n")
    return source


def test_no_compiled_module_in_this_tree_is_older_than_its_source() -> None:
    compiled = list(ROOT.glob("*/pyk/**/*.so"))

    assert not compiled or build_extensions.stale_modules(ROOT) == []


def test_an_edited_source_makes_its_compiled_module_stale(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    (source.parent / "hot.cpython-311.so").touch()
    assert build_extensions.stale_modules(tmp_path) == []

    os.utime(source, IN_2100)

    assert build_extensions.stale_modules(tmp_path) == ["pyk.protocol.hot"]


def test_an_edited_declaration_makes_every_compiled_module_stale(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    other = source.with_name("other.py")
    other.write_text("")
    other.with_suffix(".pxd").write_text("")
    for name in ("hot", "other"):
        (source.parent / f"{name}.cpython-311.so").touch()

    os.utime(source.with_suffix(".pxd"), IN_2100)

    assert build_extensions.stale_modules(tmp_path) == ["pyk.protocol.hot", "pyk.protocol.other"]


def test_what_is_left_of_a_module_that_is_hot_no_longer_is_stale(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    for name in ("hot", "once_hot"):
        (source.parent / f"{name}.cpython-311.so").touch()

    assert build_extensions.stale_modules(tmp_path) == [
        "protocol/pyk/protocol/once_hot.cpython-311.so"
    ]


def test_without_a_compiler_the_plain_form_is_what_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_project(tmp_path)
    left_over = source.parent / "hot.cpython-311.so"
    left_over.touch()
    monkeypatch.setenv("CC", "/no/such/compiler")

    assert build_extensions.build(tmp_path, "try") == []

    assert not left_over.exists()
    assert "using the plain Python form" in capsys.readouterr().err


def test_a_required_compiler_that_is_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(tmp_path)
    monkeypatch.setenv("CC", "/no/such/compiler")

    with pytest.raises((Exception, SystemExit)):
        build_extensions.build(tmp_path, "require")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_hot_module_is_compiled_beside_its_source(tmp_path: Path) -> None:
    source = make_project(tmp_path)

    (compiled,) = build_extensions.build(tmp_path, "require")

    assert compiled.parent == source.parent
    assert build_extensions.stale_modules(tmp_path) == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_class_that_its_declaration_keeps_from_the_cyclic_collector_stays_out_of_it(
    tmp_path: Path,
) -> None:
    source = make_project(tmp_path)
    source.write_text("class Slot:\n    pass\n\n\nclass Tracked:\n    pass\n")
    source.with_suffix(".pxd").write_text(
        "cimport cython\n\n\n@cython.no_gc\n@cython.freelist(8)\ncdef class Slot:\n"
        "    cdef object value\n\n\ncdef class Tracked:\n    cdef object value\n"
    )
    (compiled,) = build_extensions.build(tmp_path, "require")

    spec = importlib.util.spec_from_file_location("pyk.protocol.hot", compiled)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert not gc.is_tracked(module.Slot())
    assert gc.is_tracked(module.Tracked())


def test_an_unknown_mode_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="PYK_EXTENSIONS='maybe'"):
        build_extensions.build(tmp_path, "maybe")
