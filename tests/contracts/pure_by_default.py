"""A contract for import-linter: modules do no input or output unless they are listed.

A module does I/O if it imports one of the modules in ``outside`` (sockets, clocks, files, threads,
randomness), or another module that does I/O, however many modules are in between. Those that may
are listed in ``modules_with_io``; every other module is pure. Imports that only type checkers see
do not count: a pure module may name the type of what it is given.

An entry of the list that matches no module with I/O is refused too, so the list stays short.
"""

from __future__ import annotations

from collections.abc import Collection

import attrs
import grimp
from importlinter import Contract, ContractCheck, fields, output


@attrs.frozen
class Findings:
    """What is wrong with a list of modules that may do I/O."""

    impure: dict[str, list[str]]
    """Modules that are not listed, and what each imports that it must not."""
    idle: list[str]
    """Entries of the list that match no module with I/O."""


def find(
    graph: grimp.ImportGraph, outside: Collection[str], modules_with_io: Collection[str]
) -> Findings:
    """Compare the modules that do I/O with the list of those that may.

    A module that imports one that should be pure and is not is left out: it is not the cause.
    """
    at_the_border = {name for name in outside if name in graph.modules}
    with_io = at_the_border.union(*map(graph.find_downstream_modules, at_the_border))
    listed = {name: _matching(graph, name) for name in modules_with_io}
    allowed = at_the_border.union(*listed.values()) & with_io
    imports = {
        module: sorted(graph.find_modules_directly_imported_by(module) & allowed)
        for module in sorted(with_io - allowed)
    }
    return Findings(
        impure={module: imported for module, imported in imports.items() if imported},
        idle=sorted(name for name, modules in listed.items() if not modules & with_io),
    )


def _matching(graph: grimp.ImportGraph, expression: str) -> set[str]:
    if "*" in expression:
        return set(graph.find_matching_modules(expression))
    return {expression} & graph.modules


class PureByDefault(Contract):
    """Refuse I/O in every module that ``modules_with_io`` does not list."""

    outside = fields.SetField(subfield=fields.StringField())
    modules_with_io = fields.SetField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        # The layers count what type checkers see, and so does the graph that they share.
        seen_when_run = grimp.build_graph(
            *self.session_options["root_packages"],
            include_external_packages=True,
            exclude_type_checking_imports=True,
            cache_dir=None,
        )
        findings = find(seen_when_run, self.outside, self.modules_with_io)
        return ContractCheck(
            kept=not findings.impure and not findings.idle, metadata={"findings": findings}
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        findings: Findings = check.metadata["findings"]
        for module, imported in findings.impure.items():
            output.print_error(f"- {module} does I/O: it imports {', '.join(imported)}")
        for entry in findings.idle:
            output.print_error(f"- no module that matches {entry!r} does I/O: remove the entry")
