"""The contract that modules are pure unless they are listed."""

from __future__ import annotations

import sys
from pathlib import Path

import grimp
import pytest

from contracts.pure_by_default import Findings, PureByDefault, find

OUTSIDE = ("asyncio", "socket")


def graph_of(**imports: str) -> grimp.ImportGraph:
    """Return the graph of modules that each import the modules named."""
    graph = grimp.ImportGraph()
    for importer, imported in imports.items():
        for name in imported.split():
            graph.add_import(importer=importer, imported=name)
    return graph


def test_a_listed_module_may_do_io_and_pure_modules_may_import_each_other() -> None:
    graph = graph_of(driver="asyncio decisions", decisions="values", values="struct")

    assert find(graph, OUTSIDE, ["driver"]) == Findings(impure={}, idle=[])


def test_a_module_that_is_not_listed_must_not_do_io() -> None:
    graph = graph_of(driver="asyncio", decisions="socket struct")

    assert find(graph, OUTSIDE, ["driver"]).impure == {"decisions": ["socket"]}


def test_a_pure_module_must_not_import_a_listed_one() -> None:
    graph = graph_of(driver="asyncio", decisions="driver")

    assert find(graph, OUTSIDE, ["driver"]).impure == {"decisions": ["driver"]}


def test_only_the_cause_of_an_indirect_import_is_named() -> None:
    graph = graph_of(driver="asyncio", near="driver", middle="near", far="middle")

    assert find(graph, OUTSIDE, ["driver"]).impure == {"near": ["driver"]}


def test_a_pattern_lists_a_folder_whose_pure_modules_may_still_be_imported() -> None:
    graph = graph_of(
        **{
            "net.system": "socket",
            "net.frames": "struct",
            "decisions": "net.frames",
        }
    )
    graph.add_module("net")

    assert find(graph, OUTSIDE, ["net.**"]) == Findings(impure={}, idle=[])


@pytest.mark.parametrize("entry", ["decisions", "missing", "values.*"])
def test_an_entry_without_a_module_that_does_io_is_refused(entry: str) -> None:
    graph = graph_of(driver="asyncio", decisions="values.numbers")
    graph.add_module("values")

    assert find(graph, OUTSIDE, ["driver", entry]).idle == [entry]


def test_the_contract_refuses_io_and_passes_over_imports_for_type_checkers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "pure_by_default_example"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "driver": "import asyncio",
        "named": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import socket",
        "bad": "def later():\n    import socket",
    }.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    contract = PureByDefault(
        "Pure",
        {"root_packages": [package.name]},
        {"outside": list(OUTSIDE), "modules_with_io": [f"{package.name}.driver"]},
    )

    check = contract.check(grimp.ImportGraph(), verbose=False)
    contract.render_broken_contract(check)

    assert not check.kept
    assert "pure_by_default_example.bad does I/O: it imports socket" in capsys.readouterr().out
    assert package.name not in sys.modules
