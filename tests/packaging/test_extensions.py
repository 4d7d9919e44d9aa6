"""Compiled modules are current, and a machine without a compiler still gets a package."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
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


def twin_of(source: Path) -> Path:
    """Return the path of a module's ``.pyx``, whose folder is made."""
    folder = source.with_name("compiled")
    folder.mkdir()
    return folder / f"{source.stem}.pyx"


def stale_modules(root: Path) -> list[str]:
    return [module.name for module in build_extensions.stale_modules(root)]


def test_no_compiled_module_in_this_tree_is_older_than_its_source() -> None:
    assert not build_extensions.compiled_files(ROOT) or stale_modules(ROOT) == []
    assert build_extensions.left_over(ROOT) == []


def test_an_edited_source_makes_its_compiled_module_stale(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    (source.parent / f"hot{SUFFIX}").touch()
    assert stale_modules(tmp_path) == []

    os.utime(source, IN_2100)

    assert stale_modules(tmp_path) == ["pyk.protocol.hot"]


def test_an_edited_declaration_makes_modules_that_use_it_stale(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    cimports = {"between": "pyk.protocol.hot", "far": "pyk.protocol.between", "other": "libc.math"}
    for name, module in cimports.items():
        source.with_name(f"{name}.py").touch()
        source.with_name(f"{name}.pxd").write_text(f"from {module} cimport (\n    add,\n)\n")
    for name in ("hot", *cimports):
        (source.parent / f"{name}{SUFFIX}").touch()

    os.utime(source.with_suffix(".pxd"), IN_2100)

    assert stale_modules(tmp_path) == [
        "pyk.protocol.between",
        "pyk.protocol.far",
        "pyk.protocol.hot",
    ]


def test_extensions_of_deleted_modules_and_other_pythons_are_removed(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    names = [f"hot{SUFFIX}", f"once_hot{SUFFIX}", "hot.cpython-399.so"]
    for name in names:
        (source.parent / name).touch()

    assert {path.name for path in build_extensions.left_over(tmp_path)} == set(names[1:])


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_only_stale_modules_are_compiled_again(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    other = source.with_name("other.py")
    other.write_text("def nothing():\n    pass\n")
    other.with_suffix(".pxd").touch()
    before = {path: path.stat().st_mtime_ns for path in build_extensions.build(tmp_path, "require")}
    os.utime(other, (other.stat().st_mtime + 3600,) * 2)

    after = {path: path.stat().st_mtime_ns for path in build_extensions.build(tmp_path, "require")}

    assert [path.stem.split(".")[0] for path in after if after[path] != before[path]] == ["other"]


def test_without_a_compiler_only_the_plain_form_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_project(tmp_path)
    stale = source.parent / f"hot{SUFFIX}"
    stale.touch()
    os.utime(source, IN_2100)
    monkeypatch.setenv("CC", "/no/such/compiler")

    assert build_extensions.build(tmp_path, "try") == []

    assert not stale.exists()
    assert "using the plain Python form" in capsys.readouterr().err


def test_a_required_compiler_that_is_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(tmp_path)
    monkeypatch.setenv("CC", "/no/such/compiler")

    with pytest.raises((Exception, SystemExit)):
        build_extensions.build(tmp_path, "require")


def test_a_required_module_that_does_not_compile_leaves_the_others_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_project(tmp_path)
    left_from_before = [source.with_name(f"{name}{SUFFIX}") for name in ("hot", "once_hot")]
    for path in left_from_before:
        path.touch()
    os.utime(source, IN_2100)
    monkeypatch.setenv("CC", "/no/such/compiler")

    with pytest.raises((Exception, SystemExit)):
        build_extensions.build(tmp_path, "require")

    assert sorted(build_extensions.compiled_files(tmp_path)) == left_from_before


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_build_shows_no_false_warnings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = make_project(tmp_path)
    twin_of(source).write_text(
        'cdef extern from *:\n    """\n'
        "    static int first(int n) {\n"
        "        int x; for (int i = 0; i < n; i++) { x = i * n; if (x > 7) break; }\n"
        "        return x;\n    }\n"
        '    """\n    int first(int n)\n\n'
        "cpdef long add(long a, long b):\n    return first(<int>a) + b\n"
    )

    build_extensions.build(tmp_path, "require")

    assert "warning" not in capfd.readouterr().err


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_code_that_newer_compilers_refuse_can_be_made_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_project(tmp_path)
    twin_of(source).write_text(
        'cdef extern from *:\n    """\n'
        "    static int *first(double *number) { return number; }\n"
        '    """\n    int *first(double *number)\n\n'
        "cpdef long add(long a, long b):\n    return first(NULL) == NULL\n"
    )
    monkeypatch.setenv("CFLAGS", "-Werror=incompatible-pointer-types")

    with pytest.raises((Exception, SystemExit)):
        build_extensions.build(tmp_path, "require")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_hot_module_is_compiled_beside_its_source(tmp_path: Path) -> None:
    source = make_project(tmp_path)

    (compiled,) = build_extensions.build(tmp_path, "require")

    assert compiled.parent == source.parent
    assert stale_modules(tmp_path) == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="other linkers write the time")
def test_a_compiled_module_is_the_same_bytes_in_every_folder(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "another"]
    for folder in folders:
        make_project(folder)
        build_extensions.compile_in_place(folder)

    first, second = (build_extensions.compiled_files(folder)[0] for folder in folders)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_class_declared_without_gc_is_not_tracked_by_the_garbage_collector(
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


def test_a_module_with_a_twin_is_compiled_from_that(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    twin = twin_of(source)
    twin.touch()

    (module,) = build_extensions.hot_modules(tmp_path)

    assert (module.name, module.source) == ("pyk.protocol.hot", twin)
    assert module.plain == source
    assert module.compiled.parent == source.parent


def test_a_changed_inline_function_makes_the_modules_that_use_it_stale(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    inlined = twin_of(source).with_name("numbers.pxd")
    inlined.write_text("cdef inline int one() noexcept nogil:\n    return 1\n")
    source.with_suffix(".pxd").write_text("from pyk.protocol.compiled.numbers cimport one\n")
    (source.parent / f"hot{SUFFIX}").touch()
    assert stale_modules(tmp_path) == []

    os.utime(inlined, IN_2100)

    assert stale_modules(tmp_path) == ["pyk.protocol.hot"]


def test_a_module_without_a_plain_form_is_beside_its_declaration(tmp_path: Path) -> None:
    source = make_project(tmp_path)
    helper = twin_of(source).with_name("views.pyx")
    helper.touch()
    helper.with_suffix(".pxd").touch()

    modules = {module.name: module for module in build_extensions.hot_modules(tmp_path)}

    assert modules["pyk.protocol.compiled.views"].source == helper
    assert modules["pyk.protocol.compiled.views"].plain is None


def test_no_function_is_hidden_in_a_declaration() -> None:
    hiding = [
        module.declaration.name
        for module in build_extensions.hot_modules(ROOT)
        if " inline " in module.declaration.read_text("utf-8")
    ]

    assert hiding == []
