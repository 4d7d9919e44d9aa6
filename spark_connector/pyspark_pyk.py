"""Where Spark looks for data sources: any top-level module named ``pyspark_*``."""

from pyk.spark_connector.data_source import PykDataSource as DefaultSource

__all__ = ["DefaultSource"]
