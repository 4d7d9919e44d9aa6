"""``format("pyk")``: what Spark asks for readers and writers. Loads the rest when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class PykDataSource(DataSource):
    """Kafka topics as tables and streams, with the options and columns of Spark's own source."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "pyk"

    def schema(self) -> str:
        """Return the columns of a read without a schema of its own; check its options early."""
        from pyk.spark_connector.options import source_options
        from pyk.spark_connector.schema import source_schema

        return source_schema(include_headers=source_options(self.options).include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        from pyk.spark_connector.source import BatchReader

        return BatchReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        from pyk.spark_connector.stream_source import StreamReader

        return StreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch."""
        from pyk.spark_connector.sink import BatchWriter

        return BatchWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Return the writer of a stream; output mode ``complete`` appends too, as in Spark."""
        from pyk.spark_connector.sink import StreamWriter

        return StreamWriter(self.options, schema)
