"""A program whose load ends with an error or by Ctrl-C while its lines are converted; the tests run it many times.

It ends as Python ends: threads are joined, exit functions run, and C libraries free what they have while no thread can
run Python code. Ending may take five seconds.
"""

import ctypes
import os
import random
import signal
import sys
import threading
import time
from atexit import _run_exitfuncs

import httpx

import accounting_analytics as aa
from accounting_analytics import LedgerClient
from accounting_analytics.core.errors import ChangedWhileReadingError

PAGES = 12
DAYS = ("2025-03-01", "2025-03-31")
END, SEED = sys.argv[1], int(sys.argv[2])
LATER = random.Random(SEED).uniform(0.0, 0.15)  # noqa: S311 (it replays)


def page(number, amount, next_page_token=None):
    """Return a page of the lines of one day."""
    line = {"amount": amount, "debit_credit": "debit", "ledger_id": "led_1", "datetime": f"2025-03-{number + 1:02}"}
    line["datetime"] += "T12:00:00Z"
    records = [line | {"id": f"lin_{number}_{at}", "journal_entry_id": f"ent_{number}_{at}"} for at in range(1000)]
    return httpx.Response(200, json={"records": records, "next_page_token": next_page_token, "prev_page_token": None})


CHANGED = page(PAGES - 1, "12.60")


def interrupt():
    """Press Ctrl-C after a while."""
    time.sleep(LATER)
    signal.alarm(5)
    os.kill(os.getpid(), signal.SIGINT)


def respond(request):
    """Respond with the pages of a month, and with another last day where that is read again."""
    params = request.url.params
    if params["start_date"] == DAYS[0]:
        number = int(params.get("page_token", "0"))
        return page(number, "12.50", str(number + 1) if number + 1 < PAGES else None)
    if END == "interrupted":
        threading.Thread(target=interrupt, daemon=True).start()
        time.sleep(LATER)
    return CHANGED if END == "changed" else page(PAGES - 1, "12.50")


client = LedgerClient(
    "http://ledgers.test",
    token="canary-token-value",
    instance_id="ins_1",
    time_zone="UTC",
    transport=httpx.MockTransport(respond),
)
try:
    aa.load_line_entries(client, ["led_1"], *DAYS, in_flight=1, progress=False)
    sys.stdout.write("loaded")
    time.sleep(1)  # for a Ctrl-C that comes after the load
except (ChangedWhileReadingError, KeyboardInterrupt) as error:
    signal.alarm(5)
    sys.stdout.write(type(error).__name__)
sys.stdout.flush()
threading._shutdown()
_run_exitfuncs()
ctypes.PyDLL(None).exit(0)
