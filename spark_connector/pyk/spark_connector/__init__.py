"""Spark data source and sink over pyk: ``format("pyk")``.

Spark finds it by itself. On a machine without Java, or in a virtual environment, call
:func:`~pyk.spark_connector.java.prepare_local_spark` before building a session.
"""

from pyk.protocol.version import __version__ as __version__
from pyk.spark_connector.java import JavaNotFoundError, ensure_java, prepare_local_spark

__all__ = ["JavaNotFoundError", "ensure_java", "prepare_local_spark"]
