"""Consumer groups of one shard, for the files that need no others."""

from __future__ import annotations

import pytest

from support.consumer_members import ConsumerGroups


@pytest.fixture
def groups() -> ConsumerGroups:
    groups = ConsumerGroups()
    groups.create("orders", 4)
    return groups
