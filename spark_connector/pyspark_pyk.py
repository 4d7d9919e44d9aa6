"""Where Spark looks for data sources: any top-level module named ``pyspark_*``."""
