"""A program that runs commands of the command line, for tests that kill them: it imports once and forks for each.

Each line on standard input is a command as JSON, for which the program prints the process id, or such a process id,
for which it waits and prints the exit status.
"""

import json
import os
import resource
import sys
import traceback

import accounting_analytics as aa
from accounting_analytics import cli

# imported before the forks, so that these start faster
IMPORTED = (aa.LedgerClient, aa.apply_plan, aa.group_queue, aa.load_rules, aa.undo_plan, aa.reconcile)


def run(order):
    """Run a command in a folder with its own environment and output, and perhaps a limit of the file size."""
    os.chdir(order["folder"])
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        os.dup2(os.open(f"{order['output']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    if order["limit"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
    os.environ.update(order["environment"])
    sys.argv = ["accounting-analytics", *order["arguments"]]
    cli.main()


def start(order):
    """Fork for a command and return the process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        run(order)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 (a forked child must end here)
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


for text in sys.stdin:
    parsed = json.loads(text)
    print(os.waitpid(parsed, 0)[1] if isinstance(parsed, int) else start(parsed), flush=True)  # noqa: T201 (read by the test)
