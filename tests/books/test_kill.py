"""Local books stay whole: a sync or compaction that is killed, a full disk, two syncs at once, a reader meanwhile."""

import random
import shutil
import subprocess
import sys
import threading

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError, InputError

DAYS = {"start_date": "2025-10-01", "end_date": "2025-12-31"}
PROGRAM = """
import os, pathlib, resource, signal, sys
import accounting_analytics as aa
from accounting_analytics.books import Books

folder, action, url, token, instance, zone, at, most = sys.argv[1:]
steps = 0

def counted(function):
    def call(*arguments, **options):
        global steps
        steps += 1
        if steps == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call

if int(at):
    os.fsync = counted(os.fsync)
    pathlib.Path.replace = counted(pathlib.Path.replace)
    pathlib.Path.unlink = counted(pathlib.Path.unlink)
    aa.LedgerClient._send = counted(aa.LedgerClient._send)
if int(most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    books = Books.open(folder)
    if action == "compact":
        books.compact()
    else:
        with aa.LedgerClient(url, token=token, instance_id=instance, time_zone=zone) as client:
            books.sync(client, start_date="2025-10-01", end_date="2025-12-31", progress=False)
except aa.errors.AccountingAnalyticsError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(f"error: {error}", file=sys.stderr)
    sys.exit(1)
print(steps)
"""


@pytest.fixture
def start(fork_server, tmp_path):
    """Return a function that starts an action on books in a process of its own."""

    def start(folder, action, service, at=0, most=0):
        arguments = (service.client.base_url, service.token, service.instance, "America/New_York", at, most)
        return fork_server.start(PROGRAM, folder, action, *arguments, folder=tmp_path)

    return start


def read(folder):
    """Version and lines of the books, None before the first version."""
    books = aa.Books.open(folder)
    return None if books.version is None else books.line_entries().drop(columns=["local_date"])


def same(frame, other):
    """Whether both are the same lines, or none."""
    return (frame is None and other is None) or (frame is not None and other is not None and frame.equals(other))


@pytest.mark.long
@pytest.mark.soak
def test_killed_at_any_step(tmp_path, serve, start, fork_server, soak_count):
    """After a kill the books are the old or the new ones, and the next sync has the lines of the service."""
    chance = random.Random(5)  # noqa: S311 (a test)
    with serve(1) as service:
        folder, whole = tmp_path / "books", tmp_path / "whole"
        start(whole, "sync", service, at=10**9)
        steps = int(fork_server.wait().stdout)
        assert steps > 30
        for number in range(soak_count(100, 3)):
            if number % 4 == 0:
                shutil.rmtree(folder, ignore_errors=True)  # a first load is killed too
            else:
                chance.choice(service.shown_edits())()
            before = read(folder)
            action = "compact" if number % 4 == 3 else "sync"
            start(folder, action, service, at=chance.randrange(1, steps if action == "sync" else 4))
            fork_server.wait()
            found = read(folder)
            new = None if found is None else service.load(aa.Books.open(folder).ledgers())
            fresh = None if new is None else new[new["local_date"] >= "2025-10-01"]
            is_new = fresh is not None and len(found) == len(fresh) and set(found["id"]) == set(fresh["id"])
            assert same(before, found) or is_new, number
            assert aa.Books.open(folder).sync(service.client, **DAYS).ties
            assert_equal_to_service(folder, service)


def assert_equal_to_service(folder, service):
    """Assert that the books have the lines of the service."""
    books = aa.Books.open(folder)
    fresh = service.load(books.ledgers())
    fresh = fresh[fresh["local_date"] >= "2025-10-01"].reset_index(drop=True)
    pd.testing.assert_frame_equal(books.line_entries(), fresh)


def test_full_disk(tmp_path, serve, start, fork_server):
    """A sync that cannot write says so, and leaves the books as they were; the next one succeeds."""
    with serve(2) as service:
        folder = tmp_path / "books"
        start(folder, "sync", service)
        assert fork_server.wait().returncode == 0
        before = read(folder)
        for _ in range(40):  # so that some are in the days of the books
            service.insert()
        for most in (100, 2000):
            start(folder, "sync", service, most=most)
            ended = fork_server.wait()
            assert ended.returncode == 1
            assert ended.stderr.startswith("error: "), ended.stderr
            assert "cannot be written" in ended.stderr
            assert same(read(folder), before)
        assert aa.Books.open(folder).sync(service.client, **DAYS).ties


def test_two_syncs_at_once(tmp_path, serve):
    """The second one is refused while the first one runs, and nothing is doubled."""
    with serve(3) as service:
        folder = tmp_path / "books"
        books = aa.Books.open(folder)
        with (
            books._storage.locked(),
            pytest.raises(InputError, match="another program is writing to the local books"),
        ):
            aa.Books.open(folder).sync(service.client, **DAYS)
        refused = []

        def sync():
            try:
                aa.Books.open(folder).sync(service.client, **DAYS)
            except InputError as error:
                refused.append(error)

        threads = [threading.Thread(target=sync) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert aa.Books.open(folder).version == 2 - len(refused)
        assert_equal_to_service(folder, service)


@pytest.mark.long
@pytest.mark.soak
def test_a_reader_sees_whole_versions(tmp_path, serve, soak_count):
    """While books are synced and compacted again and again, a reader always has the lines of one version."""
    with serve(4) as service:
        folder = tmp_path / "books"
        aa.Books.open(folder).sync(service.client, **DAYS)
        seen, failed, ended = set(), [], threading.Event()

        def read_again():
            while not ended.is_set():
                try:
                    books = aa.Books.open(folder)
                    lines = books.line_entries()
                    seen.add((books.version, len(lines), round(lines["amount"].sum() * 100)))
                except AccountingAnalyticsError as error:
                    failed.append(error)

        reader = threading.Thread(target=read_again)
        reader.start()
        for _ in range(soak_count(100, 3)):
            service.insert()
            aa.Books.open(folder).sync(service.client, months_a_night=0)
            aa.Books.open(folder).compact()
        ended.set()
        reader.join()
        assert not failed
        assert len({version for version, *_ in seen}) == len(seen)


@pytest.mark.long
@pytest.mark.soak
def test_processes_that_read_end(tmp_path, serve, soak_count):
    """A process that has read a table ends with exit code 0: no thread of a reader aborts it."""
    with serve(5) as service:
        folder = tmp_path / "books"
        aa.Books.open(folder).sync(service.client, **DAYS)
        program = "import sys; from accounting_analytics.books import Books; Books.open(sys.argv[1]).line_entries()"
        for _ in range(soak_count(100, 3)):
            ended = subprocess.run(  # noqa: S603 (our own program)
                [sys.executable, "-c", program, folder], capture_output=True, text=True, timeout=120, check=False
            )
            assert (ended.returncode, ended.stderr) == (0, "")
