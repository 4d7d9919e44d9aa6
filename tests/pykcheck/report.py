"""What was found in a history, and what the history holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .anomaly import Anomaly, Facts
from .checks import ANOMALIES, CHECKS
from .history import History
from .transactions import Status

EXAMPLES = 5
"""How many anomalies of a class are told in full."""


@dataclass(frozen=True, slots=True)
class Report:
    """The anomalies of a history, and how much of what it held."""

    anomalies: list[Anomaly]
    operations: dict[str, dict[str, int]]
    """By kind and outcome."""
    transactions: dict[str, int]
    """By what became of them."""
    unread: int
    """Acknowledged values that no reader was handed, and that none read past either."""

    @property
    def is_sound(self) -> bool:
        return not self.anomalies

    @property
    def counts(self) -> dict[str, int]:
        """How many anomalies there are of each class that occurs."""
        return dict(Counter(anomaly.kind for anomaly in self.anomalies))

    def __str__(self) -> str:
        lines = [
            f"{kind}: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
            for kind, outcomes in self.operations.items()
        ]
        ended = ", ".join(f"{count} {status}" for status, count in self.transactions.items())
        lines.append(f"transactions: {ended or 'none'}; values that nobody read yet: {self.unread}")
        counts = self.counts
        lines.append(
            "anomalies: " + ", ".join(f"{kind} {counts.get(kind, 0)}" for kind in ANOMALIES)
        )
        for kind in counts:
            examples = [str(each) for each in self.anomalies if each.kind == kind]
            lines += examples[:EXAMPLES]
        return "\n".join(lines)


def check(history: History) -> Report:
    """Return what all checks find in a history."""
    facts = Facts(history)
    anomalies = [anomaly for each in CHECKS for anomaly in each(facts)]
    operations: dict[str, Counter[str]] = {}
    for operation in history.operations:
        kind = type(operation).__name__
        operations.setdefault(kind, Counter())[operation.outcome.value] += 1
    statuses = Counter(each.status.value for each in facts.transactions.values())
    unread = sum(
        facts.is_to_be_visible(send)
        and not facts.logs.is_visible(send)
        and not facts.logs.is_missing(send)
        for send in facts.sends
    )
    return Report(
        anomalies=anomalies,
        operations={kind: dict(counts) for kind, counts in operations.items()},
        transactions={each.value: statuses[each.value] for each in Status if statuses[each.value]},
        unread=unread,
    )
