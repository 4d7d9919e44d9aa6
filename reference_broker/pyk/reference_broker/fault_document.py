"""Set the faults that a document names: what a file of TOML or JSON was read into. Pure.

    pretend = "3.9"

    [[fault]]
    api = "Produce"
    topic = "orders"
    after = 10
    times = 3
    error = "NOT_LEADER_OR_FOLLOWER"

A fault has the arguments of :meth:`FaultRules.on`, and the methods of a rule: with their argument,
or ``true`` for those that need none. An error knows the fault and the name that it is about, and
:func:`line_of` finds the line of these in the text of a TOML document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .fault_names import nearest
from .faults import FaultRule, FaultRules

_NUMBERS, _TEXTS = ("partition", "node", "version"), ("topic", "client_id", "group")
_WITH_NUMBER = ("times", "after", "probability", "delay", "throttle", "truncate", "corrupt")
_WITH_TRUE = (
    *("once", "drop_before_apply", "apply_then_lose_response", "close"),
    *("truncate", "corrupt", "duplicate", "reorder", "stale"),
)
_WITH_FRACTION = ("probability", "delay")
_METHODS = tuple(dict.fromkeys(("error", *_WITH_NUMBER, *_WITH_TRUE)))


class FaultDocumentError(ValueError):
    """A document that does not describe faults; the message says where and why."""

    def __init__(self, message: str, *, fault: int | None = None, name: str | None = None) -> None:
        super().__init__(message if fault is None else f"fault {fault}: {message}")
        self.fault = fault
        """Which of the faults it is about, from 1."""
        self.name = name


def set_faults(rules: FaultRules, document: Any) -> None:
    """Add all faults of a document; raise :class:`FaultDocumentError`, and then add none."""
    if not isinstance(document, Mapping):
        raise FaultDocumentError("the file must have names, such as 'fault'")
    _check_names(document, ("fault", "pretend"), None)
    if not document:
        raise FaultDocumentError("the file is empty: it needs [[fault]] tables, or 'pretend'")
    faults = document.get("fault", [])
    if not isinstance(faults, list):
        raise FaultDocumentError(
            "'fault' must be a list: write [[fault]], with two brackets", name="fault"
        )
    tried = FaultRules(nodes=rules.nodes)
    _set_all(tried, faults, document.get("pretend"))
    _set_all(rules, faults, document.get("pretend"))


def _set_all(rules: FaultRules, faults: list[Any], release: Any) -> None:
    try:
        rules.pretend(release)
    except ValueError as error:
        raise FaultDocumentError(f"pretend: {error}", name="pretend") from error
    for number, fault in enumerate(faults, 1):
        if not isinstance(fault, Mapping):
            raise FaultDocumentError(f"it must be a table, not {fault!r}", fault=number)
        _set(rules, fault, number)


def _set(rules: FaultRules, fault: Mapping[str, Any], number: int) -> None:
    _check_names(fault, ("api", *_NUMBERS, *_TEXTS, *_METHODS), number)
    if not isinstance(fault.get("api"), str):
        text = 'it needs the name of an API, such as api = "Produce"'
        raise FaultDocumentError(text, fault=number, name="api")
    selected = {name: fault[name] for name in (*_NUMBERS, *_TEXTS) if name in fault}
    for name, value in selected.items():
        if not _is_number(value) if name in _NUMBERS else not isinstance(value, str):
            kind = "a number" if name in _NUMBERS else "a text"
            text = f"{name} must be {kind}, not {value!r}"
            raise FaultDocumentError(text, fault=number, name=name)
    name = "api"
    try:
        rule = rules.on(fault["api"], **selected)
        for name in _METHODS:
            if name in fault:
                _call(rule, name, fault[name])
    except ValueError as error:
        raise FaultDocumentError(str(error), fault=number, name=name) from error
    if rule.effect.is_nothing:
        raise FaultDocumentError("it does nothing: add error, delay or another fault", fault=number)


def _call(rule: FaultRule, name: str, value: Any) -> None:
    method = getattr(rule, name)
    if value is True and name in _WITH_TRUE:
        method()
    elif (
        (name in _WITH_NUMBER and _is_number(value))
        or (name in _WITH_FRACTION and type(value) is float)
        or (name == "error" and type(value) is str)
    ):
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


def _check_names(given: Mapping[str, Any], known: tuple[str, ...], fault: int | None) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        name = unknown[0]
        text = f"there is no {name!r}{nearest(name, known)}, only {', '.join(known)}"
        raise FaultDocumentError(text, fault=fault, name=name)


def line_of(error: FaultDocumentError, text: str) -> int | None:
    """Return the line of a TOML document that an error is about, None if it cannot be found."""
    lines, first = text.splitlines(), 0
    if error.fault is not None:
        heads = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*fault\s*\]\]", line)]
        if error.fault > len(heads):
            return None
        first = heads[error.fault - 1]
    if error.name is None:
        return first + 1
    named = re.compile(rf"\s*\[*\s*[\"']?{re.escape(error.name)}[\"']?\s*[\]=]")
    found = (at for at, line in enumerate(lines[first:], first) if named.match(line))
    return next(found, first) + 1
