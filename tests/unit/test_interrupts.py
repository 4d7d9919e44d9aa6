"""Interrupts at every point of a call leave the test process as it was."""

from __future__ import annotations

import _imp
import importlib
import sys

from support.interrupts import interrupted_everywhere

MODULE = "colorsys"  # short, and imported by nothing else here


def import_again() -> None:
    sys.modules.pop(MODULE, None)
    importlib.import_module(MODULE)


def test_the_import_lock_is_free_wherever_an_import_is_interrupted() -> None:
    held: list[bool] = []

    assert interrupted_everywhere(import_again, lambda _: held.append(_imp.lock_held())) > 1
    assert not any(held)
