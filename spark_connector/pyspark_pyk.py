"""Register the data source: Spark looks in every top-level module named ``pyspark_*``."""

from pyk.spark_connector.data_source import PykDataSource as DefaultSource

__all__ = ["DefaultSource"]
