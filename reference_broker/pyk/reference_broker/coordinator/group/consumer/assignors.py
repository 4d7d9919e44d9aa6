"""The assignors that a member may ask for by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from .assignment import Assignment, PartitionCounts, Subscribers
from .range_assignor import assign_ranges
from .uniform_assignor import assign_uniformly

Assign = Callable[[Subscribers, PartitionCounts], dict[str, Assignment]]

ASSIGNORS: dict[str, Assign] = {"uniform": assign_uniformly, "range": assign_ranges}


def preferred_assignor(wishes: Iterable[str | None], served: Sequence[str]) -> str:
    """Return the assignor that most members ask for, the first one served if none does."""
    votes = Counter(wish for wish in wishes if wish in served)
    return max(served, key=lambda name: votes[name])
