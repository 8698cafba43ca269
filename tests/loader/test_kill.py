"""A load that is killed continues: no line lost or repeated, no finished window requested again."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

DAYS = [f"2025-{month:02}-{day:02}" for month in range(1, 7) for day in range(1, 29)]
PERIOD = ["2025-01-01", "2025-06-30"]
LEDGERS = ["led_1", "led_2", "led_3"]
SPREAD = {"led_1": dict.fromkeys(DAYS, 12), "led_2": dict.fromkeys(DAYS, 1), "led_3": {"2025-02-03": 30}}


class Killer:
    """Responds for ledgers, and kills the loading process at the n-th request of a load or a little later."""

    def __init__(self, ledgers):
        self.ledgers = ledgers
        self.requested = []
        self.pid = None
        self.at = None
        self.later = 0.0
        self._lock = threading.Lock()

    def __call__(self, request):
        with self._lock:
            params = request.url.params
            self.requested.append((request.url.path.split("/")[3], params["start_date"], params["end_date"]))
            if len(self.requested) == self.at:
                threading.Timer(self.later, self._kill).start()
        return self.ledgers(request)

    def _kill(self):
        with self._lock:
            if self.pid is not None:
                os.kill(self.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def program():
    """Return a program that loads on request."""
    path = Path(__file__).with_name("killed_load.py")
    with subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        yield program
        program.stdin.close()


def run(program, killer, order, at, later):
    """Run one load, killed at its `at`-th request; return its exit status."""
    killer.requested, killer.at, killer.later, killer.pid = [], at, later, None
    program.stdin.write(json.dumps(order) + "\n")
    program.stdin.flush()
    killer.pid = int(program.stdout.readline())
    status = int(program.stdout.readline())
    with killer._lock:
        killer.pid = None
    return status


def finished(folder):
    """Return the windows on disk: ledger, first day, last day."""
    windows = []
    for path in folder.glob("window-*.parquet"):
        metadata = json.loads(pq.read_metadata(path).metadata[b"accounting_analytics.window"])
        windows.append((metadata["ledger_id"], metadata["start_date"], metadata["end_date"]))
    return windows


def repeated_requests(requested, windows):
    """Return requests for finished days, without those of the change check."""
    newest = {ledger_id: max(days) for ledger_id, days in SPREAD.items()}
    return [
        (ledger_id, first, last)
        for ledger_id, first, last in requested
        if (first, last) != (newest[ledger_id], PERIOD[1])
        and any(ledger_id == one[0] and first <= one[2] and one[1] <= last for one in windows)
    ]


@pytest.mark.soak
def test_killed_loads_continue(program, make_ledgers, spread, loopback, tmp_path, *, soak_count):
    """After up to three kills at seeded moments, a load to the end has exactly the lines of the service."""
    service = make_ledgers(spread(SPREAD), page_size=100)
    truth = sorted([line["id"], line["ledger_id"], f"{float(line['amount']):.2f}"] for line in service.lines)
    killer = Killer(service)
    kills, killed, resumed = soak_count(200, fewer=4), 0, 0
    with loopback(killer) as base_url:
        seed = 0
        while killed < kills:
            seed += 1
            dice = random.Random(seed)  # noqa: S311 (a seeded moment)
            folder, output = tmp_path / f"checkpoint-{seed}", tmp_path / f"output-{seed}.json"
            order = {
                "base_url": base_url,
                "ledger_ids": LEDGERS,
                "days": PERIOD,
                "folder": str(folder),
                "output": str(output),
            }
            windows = []
            for _ in range(dice.randint(1, 3)):
                status = run(program, killer, order, dice.randint(1, 25), dice.random() * 0.03)
                assert repeated_requests(killer.requested, windows) == []
                windows = finished(folder)
                killed += status == signal.SIGKILL
            resumed += len(windows)
            assert run(program, killer, order, None, 0) == 0, f"seed {seed}"
            assert repeated_requests(killer.requested, windows) == [], f"seed {seed}"
            assert sorted(json.loads(output.read_text())) == truth, f"seed {seed}"
    assert resumed > kills
