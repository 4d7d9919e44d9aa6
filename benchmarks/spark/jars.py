"""The jars of Spark's own Kafka connector, from Maven Central, once."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

# The newest available versions of the connector; it runs on the PySpark of the same version.
SPARK_VERSION = "4.2.0"
ARTIFACTS = (
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.0",
)
FOLDER = Path.home() / ".cache" / "pyk-bench" / f"spark-kafka-{SPARK_VERSION}"

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{}</dependencies>
</project>"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    "</dependency>"
)


def missing() -> str | None:
    """Return why Spark's own connector cannot be measured here, or None."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        return "it needs Java and Maven"
    return None


def fetch() -> list[Path]:
    """Return the jars, downloading them the first time."""
    if not FOLDER.exists():
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER.parent) as work:
            wanted = "".join(DEPENDENCY.format(*artifact.split(":")) for artifact in ARTIFACTS)
            Path(work, "pom.xml").write_text(POM.format(wanted))
            command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
            subprocess.run(command, cwd=work, check=True)
            with contextlib.suppress(OSError):  # another process was faster
                Path(work, "jars").rename(FOLDER)
    return sorted(FOLDER.glob("*.jar"))
