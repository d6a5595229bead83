"""A standalone cluster of Spark on this machine: a master and workers in folders of their own.

All programs come from the package pyspark and listen on 127.0.0.1. The workers have no PYTHONPATH,
so their executors have only those modules of dpgeo that the driver sends.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpgeo.commands.supervisor import tie_to_parent

PATIENCE_SECONDS = 90.0

LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${env:SPARK_TEST_LOG}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{HH:mm:ss} %c{1}: %m%n%ex
logger.sql.name = org.apache.spark.sql
logger.sql.level = trace
logger.executor.name = org.apache.spark.executor
logger.executor.level = trace
logger.api.name = org.apache.spark.api
logger.api.level = trace
"""
"""Settings with which Spark logs plans, generated code and what its executors do."""


@dataclass
class Program:
    """A process of the cluster, in a folder of its own."""

    process: subprocess.Popen[bytes]
    folder: Path

    def executors(self) -> list[int]:
        """Return the ids of a worker's executors."""
        children = Path(f"/proc/{self.process.pid}").glob("task/*/children")
        return [int(child) for each in children for child in each.read_text().split()]

    def kill(self) -> None:
        """Kill a worker and its executors, as when a machine loses power."""
        for executor in [self.process.pid, *self.executors()]:
            with suppress(ProcessLookupError):
                os.kill(executor, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)


@dataclass
class SparkCluster:
    """A running cluster; `folder` holds its settings, logs and all temporary files."""

    folder: Path
    executor_memory: str = "512m"
    master: str = ""
    workers: list[Program] = field(default_factory=list)
    _master: Program | None = None

    def environment(self, name: str) -> dict[str, str]:
        """Return the environment of the program `name`; the driver needs it as well."""
        return {
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_TEST_LOG": str(self.folder / f"{name}.log"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def start(self) -> None:
        """Start the master."""
        conf = self.folder / "conf"
        conf.mkdir()
        (self.folder / "events").mkdir()
        (conf / "log4j2.properties").write_text(LOGGING)
        lines = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secrets.token_hex(16),
            "spark.network.crypto.enabled": "true",
            "spark.cores.max": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.executor.cores": "1",
            "spark.executor.memory": self.executor_memory,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{self.folder}/events",
            "spark.eventLog.compress": "false",
            "spark.sql.maxPlanStringLength": "10000000",
        }
        text = "\n".join(f"{name} {value}" for name, value in lines.items())
        (conf / "spark-defaults.conf").write_text(text)
        ports = ["--port", "0", "--webui-port", "0"]
        self._master = self._run("master", "master.Master", *ports)
        found = self._logged("master", r"Starting Spark master at (spark://\S+)")
        self.master = found[1]

    def keep_workers(self, number: int) -> None:
        """Start workers until so many are running."""
        while sum(worker.process.poll() is None for worker in self.workers) < number:
            self.add_worker()

    def add_worker(self, local: Path | None = None) -> Program:
        """Start a worker with one core; its executors' temporary files are in `local`."""
        name = f"worker-{len(self.workers)}"
        worker = self._run(
            name,
            "worker.Worker",
            *("--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "4g"),
            *("--work-dir", str(self.folder / name / "work"), self.master),
            local=local,
        )
        self.workers.append(worker)
        self._logged(name, "Successfully registered with master")
        return worker

    def stop(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.kill()
        if self._master is not None:
            self._master.kill()

    def written(self) -> Iterator[Path]:
        """Yield all files below the cluster's folder: settings, logs, events, rows in transit."""
        return (path for path in self.folder.rglob("*") if path.is_file())

    def _run(self, name: str, program: str, *words: str, local: Path | None = None) -> Program:
        import pyspark

        home = Path(pyspark.__file__).parent
        folder = self.folder / name
        folder.mkdir()
        environment = {
            **{key: os.environ[key] for key in ("HOME", "JAVA_HOME", "PATH") if key in os.environ},
            **self.environment(name),
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(local or folder / "local"),
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(home / "bin/spark-class"), f"org.apache.spark.deploy.{program}"]
        with (self.folder / f"{name}.out").open("wb") as out:
            process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", *words],
                cwd=folder,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=tie_to_parent(),
            )
        return Program(process, folder)

    def _logged(self, name: str, pattern: str) -> re.Match[str]:
        """Wait for a line in a program's log."""
        log = self.folder / f"{name}.log"

        def find() -> re.Match[str] | None:
            return re.search(pattern, log.read_text()) if log.exists() else None

        wait_for(find, pattern)
        found = find()
        assert found is not None
        return found


def wait_for(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until a condition holds. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


@contextmanager
def running_cluster(folder: Path, executor_memory: str = "512m") -> Iterator[SparkCluster]:
    """Run a master and two workers."""
    cluster = SparkCluster(folder, executor_memory)
    try:
        cluster.start()
        cluster.keep_workers(2)
        yield cluster
    finally:
        cluster.stop()
