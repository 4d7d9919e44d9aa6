"""Set the faults that a document names: what a file of TOML or JSON was read into. Pure.

    pretend = "3.9"

    [[fault]]
    api = "Produce"
    topic = "orders"
    after = 10
    times = 3
    error = "NOT_LEADER_OR_FOLLOWER"

A fault has the arguments of :meth:`FaultRules.on`, and the methods of a rule: with their argument,
or ``true`` for those that need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .faults import FaultRule, FaultRules

_NUMBERS, _TEXTS = ("partition", "node", "version"), ("topic", "client_id", "group")
_WITH_NUMBER = ("times", "after", "delay", "throttle", "truncate", "corrupt")
_WITH_TRUE = (
    *("once", "drop_before_apply", "apply_then_lose_response", "close"),
    *("truncate", "corrupt", "duplicate", "reorder"),
)
_METHODS = tuple(dict.fromkeys(("error", *_WITH_NUMBER, *_WITH_TRUE)))


class FaultDocumentError(ValueError):
    """A document that does not describe faults; the message says where and why."""


def set_faults(rules: FaultRules, document: Any) -> None:
    """Add all faults of a document; raise :class:`FaultDocumentError`, and then add none."""
    if not isinstance(document, Mapping):
        raise FaultDocumentError("the file must have names, such as 'fault'")
    _check_names(document, ("fault", "pretend"), "the file")
    faults = document.get("fault", [])
    if not isinstance(faults, list):
        raise FaultDocumentError("'fault' must be a list: write [[fault]], with two brackets")
    tried = FaultRules()
    _set_all(tried, faults, document.get("pretend"))
    _set_all(rules, faults, document.get("pretend"))


def _set_all(rules: FaultRules, faults: list[Any], release: Any) -> None:
    try:
        rules.pretend(release)
    except ValueError as error:
        raise FaultDocumentError(f"pretend: {error}") from error
    for number, fault in enumerate(faults, 1):
        where = f"fault {number}"
        if not isinstance(fault, Mapping):
            raise FaultDocumentError(f"{where} must be a table, not {fault!r}")
        _set(rules, fault, where)


def _set(rules: FaultRules, fault: Mapping[str, Any], where: str) -> None:
    _check_names(fault, ("api", *_NUMBERS, *_TEXTS, *_METHODS), where)
    if not isinstance(fault.get("api"), str):
        raise FaultDocumentError(f'{where} needs the name of an API, such as api = "Produce"')
    selected = {name: fault[name] for name in (*_NUMBERS, *_TEXTS) if name in fault}
    for name, value in selected.items():
        if not _is_number(value) if name in _NUMBERS else not isinstance(value, str):
            kind = "a number" if name in _NUMBERS else "a text"
            raise FaultDocumentError(f"{where}: {name} must be {kind}, not {value!r}")
    try:
        rule = rules.on(fault["api"], **selected)
        for name in _METHODS:
            if name in fault:
                _call(rule, name, fault[name])
    except ValueError as error:
        raise FaultDocumentError(f"{where}: {error}") from error
    if rule.effect.is_nothing:
        raise FaultDocumentError(f"{where} does nothing: add error, delay or another fault")


def _call(rule: FaultRule, name: str, value: Any) -> None:
    method = getattr(rule, name)
    if value is True and name in _WITH_TRUE:
        method()
    elif (name in _WITH_NUMBER and _is_number(value)) or (name == "error" and type(value) is str):
        method(value)
    else:
        kinds = (
            *(("a text",) if name == "error" else ()),
            *(("a number",) if name in _WITH_NUMBER else ()),
            *(("true",) if name in _WITH_TRUE else ()),
        )
        raise ValueError(f"{name} must be {' or '.join(kinds)}, not {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_names(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise FaultDocumentError(f"{where} has no {unknown[0]!r}, only {', '.join(known)}")
