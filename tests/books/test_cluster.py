"""Local books on a Spark cluster of separate processes: the figures of the books, also when a worker is killed."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

import accounting_analytics as aa

pytestmark = pytest.mark.spark
COPIES = 10
STATEMENTS = ("cash_flow_statement", "income_statement", "balance_sheet", "trial_balance")
DRIVER = Path(__file__).with_name("cluster_driver.py")
CLUSTER = Path(__file__).parents[1] / "benchmarks" / "spark_cluster.py"
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
    books = aa.Books.open(tmp_path_factory.mktemp("cluster") / "books")
    books.sync(demo_company.client, start_date="2025-01-01", end_date="2026-05-31")
    storage, version = books._storage, books._version
    files = {month: storage.save_month(month, _copied(storage.read(file))) for month, file in version.files.items()}
    storage.commit(msgspec.structs.replace(version, number=version.number + 1, files=files))
    return aa.Books.open(books.folder)


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


@pytest.fixture
def run(tmp_path, books):
    """Return a function that reports the books on a cluster, where a worker is killed, and returns what it found.

    It returns also the figures of the books themselves.
    """
    make_cluster = runpy.run_path(str(CLUSTER))["Cluster"]
    figures_of = runpy.run_path(str(DRIVER))["figures_of"]

    def run(statements, killed_worker):
        task = {"folder": str(books.folder), "settings": SETTINGS, "statements": statements}
        # a Python function could not be executed on a worker
        environment = os.environ | {"PYSPARK_PYTHON": "no-python", "PYSPARK_DRIVER_PYTHON": sys.executable}
        with make_cluster(tmp_path, "700m") as cluster:
            task |= {"master": cluster.address, "killed_group": cluster.processes[killed_worker].pid}
            done = subprocess.run(  # noqa: S603 (our own program)
                [sys.executable, DRIVER, json.dumps(task)], capture_output=True, text=True, check=False, env=environment
            )
        assert not done.returncode, done.stderr[-5000:]
        return json.loads(done.stdout.splitlines()[-1]), figures_of(books, books.ledgers(), statements)

    return run


@pytest.mark.long
def test_a_worker_is_killed(run):
    """Two workers without Python make report and statements; one that is killed during a sum changes no figure."""
    found, expected = run(STATEMENTS, killed_worker=1)
    assert found["executors"] == 2
    assert found["figures"] == expected
    killed = found["killed"]
    assert killed["active_jobs"]
    assert 0 < killed["numCompletedTasks"] < killed["numTasks"]
    assert found["executors_after"] == 1
    assert found["figures_after"] == expected
