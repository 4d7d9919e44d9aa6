"""What all suites share."""

from __future__ import annotations

import hypothesis
import pytest

# An example that takes long says that the machine is busy, nothing of the code.
hypothesis.settings.register_profile("pyk", deadline=None)
hypothesis.settings.load_profile("pyk")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests that need Spark in one worker: a session is a JVM, and one is enough."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
