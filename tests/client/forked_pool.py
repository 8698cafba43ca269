"""A program that uses a client, forks a pool of processes, and uses the same client in all of them.

Arguments: how many reports to load. The result on standard output is the answer for each day as JSON, or an error.
"""

import datetime as dt
import json
import multiprocessing
import sys
from multiprocessing.pool import ThreadPool

import accounting_analytics as aa

FIRST_DAY = dt.date(2025, 1, 1)
PROCESSES = 8
CLIENT = aa.connect()


def load(number):
    """Return day, ending balance and lines of one report, and a page of line entries of the same day."""
    day = str(FIRST_DAY + dt.timedelta(days=number % 365))
    report = aa.load_cash_flow_report(CLIENT, day, day)
    page = CLIENT.list_line_entries("led_operating", day, day)
    return [
        day,
        str(report.exact().ending_cash_balance),
        sorted(report.lines["line_id"]),
        [line.id for line in page.records],
    ]


def load_together(barrier, numbers, queue):
    """Load when all processes are ready, and send the answers to the parent."""
    barrier.wait(120)
    queue.put([load(number) for number in numbers])


def load_in_children(numbers):
    """Load in forked processes that start at the same moment."""
    fork = multiprocessing.get_context("fork")
    barrier, queue = fork.Barrier(PROCESSES), fork.Queue()
    shares = [numbers[first::PROCESSES] for first in range(PROCESSES)]
    children = [fork.Process(target=load_together, args=(barrier, share, queue), daemon=True) for share in shares]
    for child in children:
        child.start()
    return [answer for _ in children for answer in queue.get(timeout=120)]


def main():
    """Load in threads, whose connections stay open, then in forked processes, then in the parent again; in turn."""
    answers = []
    for first in range(0, int(sys.argv[1]), 25):
        with ThreadPool(2) as threads:
            answers += threads.map(load, range(first, first + 2), chunksize=1)
        answers += load_in_children(range(first, first + 25))
    json.dump([*answers, load(2)], sys.stdout)


if __name__ == "__main__":
    main()
