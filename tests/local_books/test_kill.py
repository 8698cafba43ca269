"""Local books and their exports stay whole: a program that is killed, a full disk, two syncs, a reader meanwhile."""

import datetime as dt
import random
import shutil
import subprocess
import sys
import threading

import pandas as pd
import pytest
from interruptions import KILLED_AT_A_STEP, NEVER, file_size_limit

import accounting_analytics as aa
from accounting_analytics.core.errors import AccountingAnalyticsError, InputError
from accounting_analytics.exports import Manifest

DAYS = {"start_date": "2025-10-01", "end_date": "2025-12-31"}
DECEMBER = {"start_date": "2025-12-01", "end_date": "2025-12-31"}
PROGRAM = f"""{KILLED_AT_A_STEP}
folder, action, *more = arguments
books = aa.LocalBooks.open(folder)
if action == "compact":
    books.compact()
elif action == "export":
    out, version = more
    aa.export(aa.load_books(books.as_of(int(version))), out)
else:
    url, token, instance = more
    with aa.LedgerClient(url, token=token, instance_id=instance, time_zone="America/New_York") as client:
        books.sync(client, start_date="2025-10-01", end_date="2025-12-31", progress=False)
print(steps)
"""


@pytest.fixture
def run_until(fork_server, tmp_path):
    """Return a function that runs an action on books in a process, which is killed at a step; it returns its end."""

    def run_until(step, *words):
        fork_server.start(PROGRAM, step, *words, folder=tmp_path)
        return fork_server.wait()

    return run_until


def read(folder):
    """Lines of the books, None before the first version."""
    books = aa.LocalBooks.open(folder)
    return None if books.version is None else books.line_entries().drop(columns=["local_date"])


def same(frame, other):
    """Whether both are the same lines, or none."""
    return (frame is None and other is None) or (frame is not None and other is not None and frame.equals(other))


@pytest.mark.long
@pytest.mark.soak
def test_books_killed_at_any_step_are_old_or_new(tmp_path, serve, run_until, soak_count):
    chance = random.Random(5)  # noqa: S311 (a test)
    with serve(1) as service:
        folder, access = tmp_path / "books", (service.client.base_url, service.token, service.instance)
        steps = int(run_until(NEVER, tmp_path / "whole", "sync", *access).stdout)
        assert steps > 30
        for number in range(soak_count(100, 3)):
            if number % 4 == 0:
                shutil.rmtree(folder, ignore_errors=True)  # a first load is killed too
            else:
                chance.choice(service.shown_edits())()
            before = read(folder)
            if number % 4 == 3:
                run_until(chance.randrange(1, 4), folder, "compact")
            else:
                run_until(chance.randrange(1, steps), folder, "sync", *access)
            found = read(folder)
            new = None if found is None else service.load(aa.LocalBooks.open(folder).ledgers())
            fresh = None if new is None else new[new["local_date"] >= "2025-10-01"]
            is_new = fresh is not None and len(found) == len(fresh) and set(found["id"]) == set(fresh["id"])
            assert same(before, found) or is_new, number
            assert aa.LocalBooks.open(folder).sync(service.client, **DAYS).ties
            assert_equal_to_service(folder, service)


def assert_equal_to_service(folder, service):
    books = aa.LocalBooks.open(folder)
    fresh = service.load(books.ledgers())
    fresh = fresh[fresh["local_date"] >= "2025-10-01"].reset_index(drop=True)
    pd.testing.assert_frame_equal(books.line_entries(), fresh)


def digests(folder):
    """Return version of the books, and the digest of each file, of an export."""
    manifest = Manifest.load(folder / "current")
    return manifest.books_version, {file.name: file.sha256 for file in manifest.files}


@pytest.mark.long
@pytest.mark.soak
def test_exports_killed_at_any_step_are_old_or_new(tmp_path, serve, run_until, soak_count):
    chance = random.Random(6)  # noqa: S311 (a test)
    with serve(600) as service:
        books = aa.LocalBooks.open(tmp_path / "books")
        books.sync(service.client, **DAYS)
        for _ in range(3):
            service.recategorize()
            service.double_amounts()
        books.sync(service.client, end_date="2025-12-31", months_a_night=0)
    expected = []
    for version in (0, 1):
        aa.export(aa.load_books(books.as_of(version)), tmp_path / f"whole-{version}")
        expected.append(digests(tmp_path / f"whole-{version}"))
    assert expected[0] != expected[1]
    out = tmp_path / "out"
    steps = [int(run_until(NEVER, books.folder, "export", out, version).stdout) for version in (0, 1)]
    assert min(steps) > 20
    for number in range(soak_count(100, fewer=6)):
        version = number % 2
        ended = run_until(chance.randrange(1, steps[version] + 1), books.folder, "export", out, version)
        result = aa.verify_export(out)
        assert result.verified, (number, result.explain())
        assert digests(out) in (expected if ended.returncode else [expected[version]]), number
    assert run_until(NEVER, books.folder, "export", out, 1).returncode == 0
    assert digests(out) == expected[1]
    assert [path.name.isdigit() for path in (out / "versions").iterdir()] == [True, True]


def test_sync_on_a_full_disk_leaves_the_books(tmp_path, serve):
    folder = tmp_path / "books"
    with serve(2, dt.date(2025, 12, 1)) as service:
        aa.LocalBooks.open(folder).sync(service.client, **DECEMBER)
        before = read(folder)
        service.insert()
        for size in (100, 2000):
            with file_size_limit(size), pytest.raises(AccountingAnalyticsError, match="cannot be written"):
                aa.LocalBooks.open(folder).sync(service.client, **DECEMBER, progress=False)
            assert same(read(folder), before)
        assert aa.LocalBooks.open(folder).sync(service.client, **DECEMBER).ties
        assert_equal_to_service(folder, service)


def test_second_sync_is_refused_while_one_runs(tmp_path, serve):
    with serve(3, dt.date(2025, 12, 1)) as service:
        folder = tmp_path / "books"
        books = aa.LocalBooks.open(folder)
        with (
            books._storage.locked(),
            pytest.raises(InputError, match="another program is writing to the local books"),
        ):
            aa.LocalBooks.open(folder).sync(service.client, **DECEMBER)
        refused = []

        def sync():
            try:
                aa.LocalBooks.open(folder).sync(service.client, **DECEMBER)
            except InputError as error:
                refused.append(error)

        threads = [threading.Thread(target=sync) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert aa.LocalBooks.open(folder).version == 2 - len(refused)
        assert_equal_to_service(folder, service)


@pytest.mark.long
@pytest.mark.soak
def test_a_reader_sees_whole_versions(tmp_path, serve, soak_count):
    program = "import sys, accounting_analytics as aa; aa.LocalBooks.open(sys.argv[1]).line_entries()"
    with serve(4) as service:
        folder = tmp_path / "books"
        aa.LocalBooks.open(folder).sync(service.client, **DAYS)
        seen, failed, ended = set(), [], threading.Event()

        def read_again():
            while not ended.is_set():
                try:
                    books = aa.LocalBooks.open(folder)
                    lines = books.line_entries()
                    seen.add((books.version, len(lines), round(lines["amount"].sum() * 100)))
                except AccountingAnalyticsError as error:
                    failed.append(error)

        reader = threading.Thread(target=read_again)
        reader.start()
        for _ in range(soak_count(100, 3)):
            service.insert()
            aa.LocalBooks.open(folder).sync(service.client, end_date="2025-12-31", months_a_night=0)
            aa.LocalBooks.open(folder).compact()
            command = [sys.executable, "-c", program, folder]
            process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
            assert (process.returncode, process.stderr) == (0, "")  # no thread of a reader aborts it
        ended.set()
        reader.join()
        assert not failed
        assert len({version for version, *_ in seen}) == len(seen)
