"""A program that reports local books on a Spark cluster, for tests: a process has one connection to a cluster.

Its argument is JSON: the folder of the books, the address of the cluster, settings of Spark, names of statements, and
the process group of a worker. It makes a report and the statements, kills the group with SIGKILL while it makes them
again, and prints the figures before and after, the executors, and the stage that was being executed at the kill.
"""

import json
import os
import signal
import sys
import threading
import time
from functools import partial

from pyspark.sql import SparkSession

import accounting_analytics as aa

MAY = ("2026-05-01", "2026-05-31")
YEAR = ("2025-06-01", "2026-05-31")
TABLES = ("ledgers", "starting_balances", "ending_balances")


def figures_of(books, statements):
    """Return every figure of a report without its lines, and of each statement by its name."""
    report = aa.recompute_cash_flow(books, MAY, lines=False)
    tables = {f"report {name}": getattr(report.exact(), name).to_csv(index=False) for name in TABLES}
    return tables | {name: getattr(aa, name)(books, YEAR).tidy().to_csv(index=False) for name in statements}


def kill_during_a_stage(context, task, found):
    """Kill the worker once some tasks of a stage that reads a shuffle are done, and others are being executed."""
    tracker, partitions = context.statusTracker(), int(task["settings"]["spark.sql.shuffle.partitions"])
    while not found:
        for number in tracker.getActiveStageIds():
            stage = tracker.getStageInfo(number)
            if stage and stage.numTasks == partitions and stage.numCompletedTasks and stage.numActiveTasks > 1:
                os.killpg(task["killed_group"], signal.SIGKILL)
                found.update(stage._asdict(), active_jobs=list(tracker.getActiveJobsIds()))
                break
        time.sleep(0.001)


def executor_count(context):
    """Return how many executors the cluster gives."""
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver is the first


def main():
    task = json.loads(sys.argv[1])
    builder = SparkSession.builder.master(task["master"]).appName("tests")
    for name, value in task["settings"].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    context, killed = session.sparkContext, {}
    books = aa.load_books(aa.LocalBooks.open(task["folder"]), engine="pyspark")
    figures = partial(figures_of, books, task["statements"])
    result = {"figures": figures(), "executors": executor_count(context)}
    threading.Thread(target=kill_during_a_stage, args=(context, task, killed), daemon=True).start()
    result |= {"figures_after": figures(), "killed": killed, "executors_after": executor_count(context)}
    session.stop()
    print(json.dumps(result))  # noqa: T201 (the result)


if __name__ == "__main__":
    main()
