"""Gives tests to processes, and forgets what is done."""

from __future__ import annotations

from xdist.scheduler.loadgroup import LoadGroupScheduling
from xdist.workermanage import WorkerController


class ForgetfulScheduling(LoadGroupScheduling):
    """pytest-xdist's own, whose work for each test does not grow with the tests that are done.

    That one counts, at the end of each test, what is left of all groups that a process ever got.
    Among 27,000 tests the processes wait for it in the end.
    """

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        super().mark_test_complete(node, item_index, duration)
        groups = self.assigned_work[node]
        group = self._split_scope(self.registered_collections[node][item_index])
        if all(groups[group].values()):
            del groups[group]
