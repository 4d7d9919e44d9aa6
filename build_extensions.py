"""Compile the hot modules: the build hook of the wheel, and ``make native``.

A module is hot if there is a ``.pxd`` beside it. It is compiled from the plain ``.py``, unless it
has a twin: a ``.pyx`` of the same name in the folder ``compiled``. That folder also has sources
that only compiled modules use: C functions to inline (``.pxd``) and modules without a plain form.
Python imports the compiled file if there is one, otherwise the ``.py``; nothing else chooses
between them.

``PYK_EXTENSIONS`` says what to do without a working compiler: ``require`` fails, ``try`` (the
default) goes on without, ``skip`` never compiles. Either all of them compile or none ships: a
half-compiled package would mix two forms of one object layout. So all are compiled before the first
replaces its predecessor.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE_ROOTS = (
    "runtime",
    "protocol",
    "clients",
    "reference_broker",
    "spark_connector",
    "command_line",
)
MODES = ("require", "try", "skip")
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # annotations are for people and checkers; C types are in the .pxd
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "binding": True,
}
COMPILER_OPTIONS = (
    [
        "-O1",
        "-g0",
        "-DNDEBUG",
        "-fno-plt",
        "-Wno-unknown-warning-option",
        "-Wno-maybe-uninitialized",
    ]
    if os.name == "posix"
    else ["/O2"]
)
"""Without a table of stubs for calls of the interpreter (``-fno-plt``), of which each module would
have its own, a request touches fewer pages. GCC takes variables that Cython sets in a ``try`` for
uninitialized; Clang has no such option. Where CFLAGS is set, Python's own flags do not count:
without ``NDEBUG``, each assertion would keep the path of its file."""
KEPT_DIRECTIVES = ("freelist", "no_gc")
COMPILED = "compiled"
"""The folder of sources that exist for the compiled form only."""
CIMPORT = re.compile(r"^from ([\w.]+) cimport ", re.MULTILINE)


class HotModule(NamedTuple):
    """A module that is compiled."""

    name: str
    """The dotted name under which it is imported."""
    declaration: Path
    """Its ``.pxd``."""
    source: Path
    """What it is compiled from, a ``.py`` or a ``.pyx``."""

    @property
    def compiled(self) -> Path:
        """The compiled file, beside the declaration, whether it is there or not."""
        return self.declaration.with_name(
            self.declaration.stem + sysconfig.get_config_var("EXT_SUFFIX")
        )

    @property
    def plain(self) -> Path | None:
        """The plain form of a twin; None if it is not one."""
        path = self.declaration.with_suffix(".py")
        return path if self.source.suffix == ".pyx" and path.exists() else None


def hot_modules(root: Path) -> list[HotModule]:
    """Return the modules that are compiled, in the order of their paths."""
    return [
        HotModule(".".join(path.relative_to(root / folder).with_suffix("").parts), path, source)
        for folder in SOURCE_ROOTS
        for path in sorted((root / folder).rglob("*.pxd"))
        if (source := _source(path)) is not None
    ]


def _source(declaration: Path) -> Path | None:
    """Return what a module is compiled from; None if the declaration is of no module."""
    candidates = [
        declaration.with_name(COMPILED) / f"{declaration.stem}.pyx",
        declaration.with_suffix(".py"),
    ]
    if declaration.parent.name == COMPILED:
        candidates = [declaration.with_suffix(".pyx")]
    return next((path for path in candidates if path.exists()), None)


def stale_modules(root: Path) -> list[HotModule]:
    """Return the hot modules whose compiled form is missing, or older than a source of it.

    Its sources are its own, each ``.pxd`` that it gets types from, whose layout is compiled in, and
    this file.
    """
    return [
        module
        for module in hot_modules(root)
        if _changed_at(module.compiled) < max(map(_changed_at, _sources(root, module)))
    ]


def left_over(root: Path) -> list[Path]:
    """Return compiled files that no hot module has: they would win over a source, or be shipped."""
    wanted = {module.compiled for module in hot_modules(root)}
    return [path for path in compiled_files(root) if path not in wanted]


def _sources(root: Path, module: HotModule) -> set[Path]:
    found: set[Path] = set()
    to_read = [module.source, module.declaration]
    while to_read:
        path = to_read.pop()
        if path in found:
            continue
        found.add(path)
        for imported in CIMPORT.findall(path.read_text("utf-8")):
            relative = Path(*imported.split(".")).with_suffix(".pxd")
            candidates = [root / source_root / relative for source_root in SOURCE_ROOTS]
            to_read += [candidate for candidate in candidates if candidate.exists()]
    return found | {Path(__file__)}


def _changed_at(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def compiled_files(root: Path) -> list[Path]:
    """Return the compiled modules in the source roots."""
    patterns = [(source_root, suffix) for source_root in SOURCE_ROOTS for suffix in ("so", "pyd")]
    return [path for folder, suffix in patterns for path in (root / folder).rglob(f"*.{suffix}")]


def remove_compiled(root: Path) -> None:
    """Delete compiled modules: a stale one beside an edited ``.py`` would silently win."""
    for path in compiled_files(root):
        path.unlink()
    for source_root in SOURCE_ROOTS:
        for path in (root / source_root).rglob("*.c"):
            path.unlink()


@contextmanager
def declared_class_directives_kept() -> Iterator[None]:
    """Let ``@cython.no_gc`` and ``freelist`` of a ``.pxd`` hold for the class in its ``.py``.

    Cython analyses such a class twice, for the declaration and for the body, and the second time
    forgets the decorators of the first. Where it no longer can be told, it compiles as it would.
    """
    from Cython.Compiler.Nodes import CClassDefNode

    analyse = CClassDefNode.analyse_declarations

    def analyse_and_keep(node: Any, env: Any) -> None:
        declared = getattr(env.lookup_here(node.class_name), "type", None)
        directives = getattr(getattr(declared, "scope", None), "directives", None) or {}
        kept = {name: directives[name] for name in KEPT_DIRECTIVES if directives.get(name)}
        analyse(node, env)
        if kept and node.scope is not None:
            node.scope.directives = {**node.scope.directives, **kept}

    CClassDefNode.analyse_declarations = analyse_and_keep
    try:
        yield
    finally:
        CClassDefNode.analyse_declarations = analyse


def compile_in_place(root: Path) -> None:
    """Compile the stale modules beside their sources; raise, and replace none, if one fails."""
    modules = stale_modules(root)
    if modules:
        _compile(root, modules)
    for path in left_over(root):
        path.unlink()


def _compile(root: Path, modules: list[HotModule]) -> None:
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    with chdir(root), declared_class_directives_kept():
        extensions = cythonize(
            [Extension(one.name, [str(one.source.relative_to(root))]) for one in modules],
            compiler_directives=DIRECTIVES,
            include_path=list(SOURCE_ROOTS),
            build_dir=str(root / "build" / "cython"),
            nthreads=0,
            quiet=True,
            force=True,  # C code made by another version of this file would look current
        )
        for extension in extensions:
            extension.extra_compile_args = COMPILER_OPTIONS
        command = Distribution({"name": "pyk-kafka", "ext_modules": extensions}).get_command_obj(
            "build_ext"
        )
        command.build_lib, command.build_temp = "build/lib", "build/temp"
        command.parallel = os.cpu_count()
        command.ensure_finalized()
        command.run()
        for module in modules:
            Path(command.get_ext_fullpath(module.name)).replace(module.compiled)


def build(root: Path, mode: str) -> list[Path]:
    """Compile as ``mode`` says; return the compiled files, empty if the plain form ships."""
    if mode not in MODES:
        raise ValueError(f"PYK_EXTENSIONS={mode!r}: use one of {', '.join(MODES)}")
    if mode == "skip":
        remove_compiled(root)
        return []
    try:
        compile_in_place(root)
    except (Exception, SystemExit) as error:
        if mode == "require":
            raise  # earlier compiled files stay, and stale ones are compiled next time
        remove_compiled(root)
        print(
            f"pyk: hot modules not compiled, using the plain Python form: {error}", file=sys.stderr
        )
    return compiled_files(root)


class ExtensionsHook(BuildHookInterface[Any]):
    """Tell hatchling that the wheel holds compiled modules, and so which tag it gets."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        compiled = build(Path(self.root), os.environ.get("PYK_EXTENSIONS", "try"))
        if compiled:
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


def main() -> None:
    """Compile in place, as ``PYK_EXTENSIONS`` says, the modules that are missing or stale."""
    root, mode = Path(__file__).resolve().parent, os.environ.get("PYK_EXTENSIONS", "require")
    stale, hot = len(stale_modules(root)), len(hot_modules(root))
    if mode != "skip" and stale:
        print(f"compiling {stale} hot modules; all {hot} take a few minutes", flush=True)
    print(f"{hot} hot modules compiled" if build(root, mode) else "hot modules run as plain Python")


if __name__ == "__main__":
    main()
