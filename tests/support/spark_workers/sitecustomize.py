"""Have the Python processes that Spark starts import pyspark as it is installed.

Spark puts its own ``pyspark.zip`` before everything else, and Python keeps no bytecode of what it
imports from there: each process compiles pyspark first, which takes four times as long as the
import itself, of the 10 seconds that Spark gives it. This file is on the ``PYTHONPATH`` of tests.
"""

import sys

sys.path[:] = [entry for entry in sys.path if not entry.endswith("pyspark.zip")]
