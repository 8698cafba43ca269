"""A program that loads with a checkpoint, for tests that kill it: it imports once and forks for each load.

Each line on standard input is a load as JSON; the program prints the process id of the load, then its exit status.
"""

import json
import os
import sys
import traceback

import pandas as pd  # noqa: F401 (imported before the forks, so that these start faster)

import accounting_analytics as aa

LOAD = aa.load_line_entries  # imported before the forks too


def load(order):
    """Load with a checkpoint and write the lines."""
    client = aa.LedgerClient(order["base_url"], token="canary-token-value", instance_id="ins_1")
    frame = LOAD(client, order["ledger_ids"], *order["days"], checkpoint=order["folder"], in_flight=4, progress=False)
    lines = frame[["id", "ledger_id"]].assign(amount=frame["signed_amount"].map("{:.2f}".format))
    lines.to_json(order["output"], orient="values")


for text in sys.stdin:
    child = os.fork()
    if not child:
        try:
            load(json.loads(text))
        except BaseException:  # noqa: BLE001 (a forked child must end here)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    sys.stdout.write(f"{child}\n")
    sys.stdout.flush()
    sys.stdout.write(f"{os.waitpid(child, 0)[1]}\n")
    sys.stdout.flush()
