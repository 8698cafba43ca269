"""Backups of a database that is served, their restoration, and programs that are killed meanwhile."""

import datetime as dt
import shutil
import sqlite3
import stat
import threading
import time
from contextlib import closing

import pytest

from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.service.backup import back_up, restore
from accounting_analytics.service.check import check_books
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import NewInstance, create_instance
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.post_entries import NewJournalEntry, NewLine, post_entries
from accounting_analytics.service.server import running

NOON = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a database with the books of two instances, and a backup of it."""
    path = tmp_path_factory.mktemp("whole") / "books.db"
    with Store.open(path) as store:
        for name in ("books", "others"):
            create_instance(store, NewInstance(id=name))
            ledgers = [
                create_ledger(store, name, NewLedger(name=kind, financial_account_type=kind)).id
                for kind in ("bank_account", "loan")
            ]
            lines = (NewLine(ledgers[0], 500), NewLine(ledgers[1], -500))
            post_entries(store, name, [NewJournalEntry(NOON, "loan", lines)] * 12)
    back_up(str(path), path.with_name("backup"))
    return path.with_name("backup")


@pytest.fixture
def backup(whole, tmp_path):
    """Return a copy of the backup."""
    return shutil.copy(whole, tmp_path / "backup")


@pytest.fixture
def path(whole, tmp_path):
    """Return a database with the books of two instances."""
    return shutil.copy(whole, tmp_path / "books.db")


def instances_of(path):
    """Return the ids of the instances of a database, after a check of its books."""
    with Store.open(path, create=False) as store:
        assert check_books(store).findings == []
        return {instance.id for instance in store.instances()}


def files(folder):
    """Return the names of the files in a folder."""
    return {path.name for path in folder.iterdir()}


def test_a_backup_is_whole_while_books_are_posted(tmp_path, make_own_books):
    """Each copy made while entries are posted is complete, and the last has the last entry."""
    path, stopped, sizes = tmp_path / "books.db", threading.Event(), []
    with running(path) as service, make_own_books(path, service.base_url) as books:
        bank, rent = books.bank(), books.category()

        def post():
            while not stopped.is_set():
                books.post("2025-03-01T12:00:00Z", (bank, -1), (rent, 1))

        writer = threading.Thread(target=post)
        writer.start()
        for number in range(4):
            if number == 3:
                stopped.set()
                writer.join()
            back_up(str(path), tmp_path / f"copy{number}")
            with Store.open(tmp_path / f"copy{number}", create=False) as copy:
                checked = check_books(copy)
            assert checked.findings == []
            sizes.append(checked.entries)
        reported = books.report()["ending_cash_balance"]
    assert sizes == sorted(sizes)
    assert sizes[-1] == -reported
    assert stat.S_IMODE((tmp_path / "copy3").stat().st_mode) == 0o600
    assert files(tmp_path) == {"books.db", *(f"copy{number}" for number in range(4))}


def test_restore_replaces(path, backup, tmp_path):
    """A restored database has the books of the backup, which stays as it is; a new or damaged file is restored too."""
    content, damaged = backup.read_bytes(), tmp_path / "damaged.db"
    damaged.write_bytes(b"text" * 5000)
    with pytest.raises(InputError, match=r"damaged\.db cannot be used .*nothing was changed.*restore"):
        Store.open(damaged)
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="later"))
    for restored in (path, tmp_path / "new.db", damaged):
        restore(backup, str(restored))
        assert instances_of(restored) == {"books", "others"}
        assert stat.S_IMODE(restored.stat().st_mode) == 0o600
    assert backup.read_bytes() == content
    assert files(tmp_path) == {"books.db", "new.db", "damaged.db", "backup"}


def test_restore_is_refused_while_a_service_has_the_database(path, backup, start_service):
    """A database that a service has open, even an idle one, or that was killed, is not replaced; afterwards it is."""
    service = start_service(path)
    for _ in range(2):
        with pytest.raises(InputError, match=r"is in use, or its last program was killed.*nothing was changed"):
            restore(backup, str(path))
        service.kill()
    assert instances_of(path) == {"books", "others"}  # which moves the log into the file
    restore(backup, str(path))
    assert instances_of(path) == {"books", "others"}


def test_a_backup_that_cannot_be_used_is_not_restored(path, backup, tmp_path):
    """A backup that is damaged, cut, empty, missing or of another program, or the database itself, is refused."""
    good, content = backup.read_bytes(), path.read_bytes()
    for wrong in (good[:8192], good[:20_480] + b"x" * 4096 + good[24_576:], b"", b"text" * 3000):
        backup.write_bytes(wrong)
        with pytest.raises(InputError, match="nothing was changed"):
            restore(backup, str(path))
    backup.unlink()
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(InputError, match="something other than the books"):
        restore(backup, str(path))
    with pytest.raises(InputError, match="does not exist"):
        restore(tmp_path / "missing", str(path))
    with pytest.raises(ConfigurationError, match="the database itself"):
        restore(path, str(path))
    assert path.read_bytes() == content
    assert files(tmp_path) == {"books.db", "backup"}


def test_what_cannot_be_copied_is_refused(path, backup, tmp_path):
    """An existing target, a missing or empty database, a folder that does not exist, PostgreSQL, and a folder."""
    (tmp_path / "empty.db").touch()
    for database, target, text in (
        (path, "backup", "exists already"),
        (tmp_path / "none.db", "new", "does not exist"),
        (tmp_path / "empty.db", "new", "is empty"),
        (path, "no/folder", "cannot be written"),
        ("postgresql://user@host/books", "new", "pg_dump"),
    ):
        with pytest.raises(InputError, match=text):
            back_up(str(database), tmp_path / target)
    for database, text in (("postgresql://user@host/books", "pg_restore"), (".", "is a folder"), ("/", "is a folder")):
        with pytest.raises(ConfigurationError, match=text):
            restore(backup, database)
    assert files(tmp_path) == {"books.db", "backup", "empty.db"}


KILLED = """
import sys
from pathlib import Path
from accounting_analytics.service.backup import back_up, restore
database, backup = sys.argv[2:]
back_up(database, Path(backup)) if sys.argv[1] == "back up" else restore(Path(backup), database)
"""


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize("action", ["back up", "restore"])
def test_killed(path, backup, tmp_path, fork_server, soak_count, *, action):
    """A killed backup leaves no file of that name, or a complete one, and a killed restore one of both databases."""
    if action == "restore":
        with Store.open(path) as store:
            create_instance(store, NewInstance(id="later"))
    former, content = path.read_bytes(), backup.read_bytes()
    for number in range(soak_count(50, fewer=2)):
        path.write_bytes(former)
        backup.unlink() if action == "back up" else None
        started = fork_server.start(KILLED, action, path, backup, folder=tmp_path)
        time.sleep(0.02 * (number % 25))
        fork_server.kill(started)
        assert instances_of(path) in ({"books", "others"}, {"books", "others", "later"})
        if not backup.exists():
            backup.write_bytes(content)
        assert instances_of(backup) == {"books", "others"}
