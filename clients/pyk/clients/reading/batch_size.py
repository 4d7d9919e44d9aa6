"""How many records to read at once. Pure."""

from __future__ import annotations

from pyk.runtime import slotted

# Spark turns batches into rows at about the same speed from 2,000 to 100,000 rows; within that, a
# batch should fit into a cache and not hold up the first row.
FIRST_ROWS = 10_000
MOST_ROWS = 50_000
FEWEST_ROWS = 100
TARGET_BYTES = 6 * 1024 * 1024


@slotted.define
class BatchSize:
    """Choose the number of records of the next batch from the sizes of the batches before it."""

    rows: int = FIRST_ROWS

    def adapt_to(self, rows: int, size: int) -> None:
        """Adapt to a batch of ``rows`` rows and ``size`` bytes."""
        if rows:
            fitting = TARGET_BYTES * rows // max(size, 1)
            self.rows = max(FEWEST_ROWS, min(MOST_ROWS, fitting))
