"""Local books on a Spark cluster of separate processes: the figures of the books, also when a worker is killed."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from accounting_analytics.books import Books
from accounting_analytics.books.storage import table_schema

pytestmark = pytest.mark.spark
COPIES = 10
DRIVER = Path(__file__).with_name("cluster_driver.py")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    # a shuffle has more tasks than the workers have cores, so that some are done while others are being executed
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    # the ids of all lines would be larger than the result that the driver accepts; a broadcast counts as one
    "spark.driver.maxResultSize": "1m",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@pytest.fixture(scope="module")
def books(tmp_path_factory, demo_company):
    """Return local books of the demo company, every entry of which is there ten times."""
    books = Books.open(tmp_path_factory.mktemp("cluster") / "books")
    books.sync(demo_company.client, start_date="2025-01-01", end_date="2026-05-31")
    table, version = books._storage.lines, books._version
    parts = {month: table.save(month, _copied(table.read(file))) for month, file in version.commit.parts.items()}
    table.commit(table_schema(books.scale), parts, version.commit.record, version.commit)
    return Books.open(books.folder)


def _copied(lines):
    """Return the lines many times, with ids of their own."""
    copies = []
    for number in range(COPIES):
        copy = lines
        for name in ("id", "journal_entry_id"):
            ids = pa.array([f"{one}-{number}" for one in lines[name].to_pylist()], lines.schema.field(name).type)
            copy = copy.set_column(copy.column_names.index(name), lines.schema.field(name), ids)
        copies.append(copy)
    return pa.concat_tables(copies)


class Cluster:
    """A master and two workers with one core each, on 127.0.0.1; a worker and its executor are one process group."""

    def __init__(self, folder):
        self._folder = folder
        self._processes = []
        self.address = ""

    def start(self):
        """Start the processes, and wait until the workers are registered."""
        self._start("master", "master.Master", "--port", "0", "--webui-port", "0")
        self.address = self._logged("master", "Starting Spark master at ")
        for name in ("worker-1", "worker-2"):
            own = ("--cores", "1", "--memory", "700m", "--webui-port", "0", "--work-dir", str(self._folder / name))
            self._start(name, "worker.Worker", *own, self.address)
        for name in ("worker-1", "worker-2"):
            self._logged(name, "Successfully registered with master ")

    def _start(self, name, program, *arguments):
        home = Path(find_spec("pyspark").origin).parent
        command = [
            home / "bin" / "spark-class",
            f"org.apache.spark.deploy.{program}",
            "--host",
            "127.0.0.1",
            *arguments,
        ]
        environment = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        with (self._folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(  # noqa: S603 (Spark)
                command, stdout=log, stderr=log, start_new_session=True, env=os.environ | environment
            )
        self._processes.append(started)

    def _logged(self, name, text):
        """Wait for what a process says after some text."""
        for _ in range(600):
            found = (self._folder / f"{name}.log").read_text(encoding="utf-8").partition(text)[2]
            if "\n" in found:
                return found.split()[0]
            time.sleep(0.1)
        raise TimeoutError(name)

    def run(self, folder, killed_worker):
        """Report books on the cluster, where a worker and its executor are killed; return what the program found."""
        task = {"folder": str(folder), "master": self.address, "settings": SETTINGS}
        task["killed_group"] = self._processes[killed_worker].pid
        # a Python function could not be executed on a worker
        environment = os.environ | {"PYSPARK_PYTHON": "no-python", "PYSPARK_DRIVER_PYTHON": sys.executable}
        done = subprocess.run(  # noqa: S603 (our own program)
            [sys.executable, DRIVER, json.dumps(task)],
            capture_output=True, text=True, check=False, env=environment, timeout=300,
        )  # fmt: skip
        assert not done.returncode, done.stderr[-5000:]
        return json.loads(done.stdout.splitlines()[-1])

    def close(self):
        """End all processes, the executors first."""
        for process in reversed(self._processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def found(tmp_path_factory, books):
    """Return what a program found that reported the books on a cluster, one worker of which was killed."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        return cluster.run(books.folder, killed_worker=1)
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def expected(books):
    """Return the figures of the books."""
    return runpy.run_path(str(DRIVER))["figures_of"](books, books.ledgers())


def test_figures_of_a_cluster(found, expected):
    """Two workers make the report and the statements of the books, without Python and without returning lines."""
    assert found["executors"] == 2
    assert found["figures"] == expected


def test_a_worker_is_killed(found, expected):
    """A worker that is killed between the tasks of a sum changes no figure: the other one does its tasks again."""
    killed = found["killed"]
    assert killed["active_jobs"]
    assert 0 < killed["numCompletedTasks"] < killed["numTasks"]
    assert found["executors_after"] == 1
    assert found["figures_after"] == expected
