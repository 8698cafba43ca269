"""A load killed at any moment goes on where it was: nothing lost, nothing doubled, no finished window read again."""

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
    """Answers for the ledgers; kills the loading process at the n-th request of a load, or a little later."""

    def __init__(self, ledgers):
        self.ledgers = ledgers
        self.asked = []
        self.pid = None
        self.at = None
        self.later = 0.0
        self._lock = threading.Lock()

    def __call__(self, request):
        with self._lock:
            params = request.url.params
            self.asked.append((request.url.path.split("/")[3], params["start_date"], params["end_date"]))
            if len(self.asked) == self.at:
                threading.Timer(self.later, self._kill).start()
        return self.ledgers(request)

    def _kill(self):
        with self._lock:
            if self.pid is not None:
                os.kill(self.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def program():
    """Return a program that loads when told."""
    path = Path(__file__).with_name("killed_load.py")
    with subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        yield program
        program.stdin.close()


def run(program, killer, order, at, later):
    """Run one load, killed at its `at`-th request; return its exit status."""
    killer.asked, killer.at, killer.later, killer.pid = [], at, later, None
    program.stdin.write(json.dumps(order) + "\n")
    program.stdin.flush()
    killer.pid = int(program.stdout.readline())
    status = int(program.stdout.readline())
    with killer._lock:
        killer.pid = None
    return status


def finished(folder):
    """Return the windows that are on the disk: ledger, first day, last day."""
    windows = []
    for path in folder.glob("window-*.parquet"):
        said = json.loads(pq.read_metadata(path).metadata[b"accounting_analytics.window"])
        windows.append((LEDGERS[said["ledger"]], said["start_date"], said["end_date"]))
    return windows


def asked_again(asked, windows):
    """Return requests for days that were finished, without second looks at a ledger's newest days."""
    newest = {ledger_id: max(days) for ledger_id, days in SPREAD.items()}
    return [
        (ledger_id, first, last)
        for ledger_id, first, last in asked
        if (first, last) != (newest[ledger_id], PERIOD[1])
        and any(ledger_id == one[0] and first <= one[2] and one[1] <= last for one in windows)
    ]


@pytest.mark.soak
def test_killed_loads_go_on(program, make_ledgers, spread, loopback, tmp_path, *, soak_count):
    """Kill -9 at a seeded moment, up to three times in a row, then a run to the end: exactly the truth."""
    service = make_ledgers(spread(SPREAD), page_size=100)
    truth = sorted([line["id"], line["ledger_id"], f"{float(line['amount']):.2f}"] for line in service.lines)
    killer = Killer(service)
    kills, killed, resumed = soak_count(200), 0, 0
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
                assert asked_again(killer.asked, windows) == []
                windows = finished(folder)
                killed += status == signal.SIGKILL
            resumed += len(windows)
            assert run(program, killer, order, None, 0) == 0, f"seed {seed}"
            assert asked_again(killer.asked, windows) == [], f"seed {seed}"
            assert sorted(json.loads(output.read_text())) == truth, f"seed {seed}"
    assert resumed > kills


def test_a_finished_load_is_read_back_without_a_request(program, make_ledgers, spread, loopback, tmp_path):
    """When every window is there, the same call asks for nothing, and brings the same lines."""
    killer = Killer(make_ledgers(spread(SPREAD), page_size=100))
    with loopback(killer) as base_url:
        order = {"base_url": base_url, "ledger_ids": LEDGERS, "days": PERIOD, "folder": str(tmp_path / "kept")}
        assert run(program, killer, order | {"output": str(tmp_path / "1.json")}, None, 0) == 0
        assert run(program, killer, order | {"output": str(tmp_path / "2.json")}, None, 0) == 0
        assert killer.asked == []
    assert (tmp_path / "1.json").read_text() == (tmp_path / "2.json").read_text()
