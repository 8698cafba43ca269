"""A standalone Spark cluster of processes of this machine, on 127.0.0.1."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Self


class Cluster:
    """A master and two workers with one core each; a worker and its executor are one process group.

    Parameters
    ----------
    folder : Path
        Where the logs and the files of the workers are written.
    worker_memory : str
        Memory that a worker offers to executors.
    """

    def __init__(self, folder: Path, worker_memory: str) -> None:
        self._folder, self._worker_memory = folder, worker_memory
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def __enter__(self) -> Self:
        try:
            self._start("master", "master.Master", "--port", "0", "--webui-port", "0")
            self.address = self._logged("master", "Starting Spark master at ")
            for name in ("worker-1", "worker-2"):
                own = ("--cores", "1", "--memory", self._worker_memory, "--work-dir", str(self._folder / name))
                self._start(name, "worker.Worker", "--webui-port", "0", *own, self.address)
            for name in ("worker-1", "worker-2"):
                self._logged(name, "Successfully registered with master ")
        except BaseException:  # also an interrupt: no process is left behind
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for process in reversed(self.processes):  # the executors first
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, program: str, *arguments: str) -> None:
        home = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]  # it is installed
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{program}", "--host", "127.0.0.1"]
        environment = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        with (self._folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(  # noqa: S603 (Spark)
                [*command, *arguments], stdout=log, stderr=log, start_new_session=True, env=os.environ | environment
            )
        self.processes.append(started)

    def _logged(self, name: str, text: str) -> str:
        """Wait for what a process logs after some text."""
        for _ in range(600):
            found = (self._folder / f"{name}.log").read_text(encoding="utf-8").partition(text)[2]
            if "\n" in found:
                return found.split()[0]
            time.sleep(0.1)
        raise TimeoutError(name)
