"""Processes that load: one that is killed continues, one that fails ends, and one to Parquet takes little memory."""

import json
import os
import random
import runpy
import signal
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

DAYS = [f"2025-{month:02}-{day:02}" for month in range(1, 7) for day in range(1, 29)]
PERIOD = ["2025-01-01", "2025-06-30"]
LEDGERS = ["led_1", "led_2", "led_3"]
LOAD = """
import json, sys
from pathlib import Path
import accounting_analytics as aa

sys.path.insert(0, "TESTS")
from resumable_loads import load_resumable, read_lines

order = json.loads(sys.argv[1])
with aa.LedgerClient(order["base_url"], token="canary-token-value", instance_id="ins_1") as client:
    file = load_resumable(client, order["ledger_ids"], order["days"], Path(order["folder"]), in_flight=4)
frame = read_lines(file)
lines = frame[["id", "ledger_id"]].assign(amount=frame["signed_amount"].map("{:.2f}".format))
lines.to_json(order["output"], orient="values")
""".replace("TESTS", str(Path(__file__).parent))
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


def run_load(fork_server, killer, order, at, later):
    """Run one load, killed at its `at`-th request; return its exit code."""
    killer.requested, killer.at, killer.later = [], at, later
    killer.pid = fork_server.start(LOAD, json.dumps(order), folder=Path(order["output"]).parent)
    code = fork_server.wait().returncode
    with killer._lock:
        killer.pid = None
    return code


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
def test_killed_loads_continue(fork_server, make_ledgers, spread, loopback, tmp_path, *, soak_count):
    service = make_ledgers(spread(SPREAD), page_size=100)
    truth = sorted([line["id"], line["ledger_id"], f"{float(line['amount']):.2f}"] for line in service.lines)
    killer = Killer(service)
    kills, killed, resumed = soak_count(200, fewer=2), 0, 0
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
                code = run_load(fork_server, killer, order, dice.randint(1, 25), dice.random() * 0.03)
                assert repeated_requests(killer.requested, windows) == []
                windows = finished(folder)
                killed += code == -signal.SIGKILL
            resumed += len(windows)
            assert run_load(fork_server, killer, order, None, 0) == 0, f"seed {seed}"
            assert repeated_requests(killer.requested, windows) == [], f"seed {seed}"
            assert sorted(json.loads(output.read_text())) == truth, f"seed {seed}"
    assert resumed > kills


PROGRAM = Path(__file__).with_name("ended_load.py").read_text(encoding="utf-8")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("end", "outputs"),
    [("changed", {"ChangedWhileReadingError"}), ("interrupted", {"KeyboardInterrupt", "loaded"})],
)
def test_a_process_exits_after_a_load_ended(fork_server, tmp_path, soak_count, end, outputs):
    """Arrow waits at the end of a process for what its threads do, and these for Python, which has ended by then."""
    seen = []
    for seed in range(soak_count(100, fewer=3)):
        fork_server.start(PROGRAM, end, seed, folder=tmp_path, seconds=300)
        ended = fork_server.wait()
        assert ended.returncode != -signal.SIGALRM, f"run {seed} did not end within five minutes after {ended.stdout}"
        assert ended.returncode == 0, ended.stderr
        seen.append(ended.stdout)
    assert set(seen) <= outputs
    assert min(outputs) in seen


BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "load.py"


@pytest.mark.soak
@pytest.mark.long
def test_load_to_parquet_stays_below_500_mb(soak_count):
    lines = soak_count(1_000_000, fewer=60_000)
    benchmark = runpy.run_path(str(BENCHMARK))
    with benchmark["page_server"](lines, 1, 1.0, 1) as (base_url, _), benchmark["Kernel"]("ours to Parquet") as kernel:
        took = kernel.load(base_url, 1, 8)
    assert took["lines"] == lines
    assert took["peak"] < 500
