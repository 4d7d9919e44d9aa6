"""Each peer driven through its public API, beside pyk, in the same run."""

import sys
from pathlib import Path

# The launcher of Apache Kafka is kept with the tests.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
