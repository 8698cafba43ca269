"""Backups of a database that is served, their restoration, and programs that are killed meanwhile."""

import datetime as dt
import sqlite3
import stat
import threading
import time
from contextlib import closing

import pytest

from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.service.backup import back_up, restore
from accounting_analytics.service.check import check_books
from accounting_analytics.service.instances import NewInstance, create_instance
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.post_entries import NewJournalEntry, NewLine, post_entries
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store

NOON = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def path(tmp_path):
    """Return a database with the books of two instances."""
    path = tmp_path / "books.db"
    with Store.open(path) as store:
        for name in ("books", "others"):
            create_instance(store, NewInstance(id=name))
            ledgers = [
                create_ledger(store, name, NewLedger(name=kind, financial_account_type=kind)).id
                for kind in ("bank_account", "loan")
            ]
            lines = (NewLine(ledgers[0], 500), NewLine(ledgers[1], -500))
            post_entries(store, name, [NewJournalEntry(NOON, "loan", lines)] * 12)
    return path


def instances_of(path):
    """Return the ids of the instances of a database, after a check of its books."""
    with Store.open(path, create=False) as store:
        assert check_books(store).findings == []
        return {instance.id for instance in store.instances()}


def files(folder):
    """Return the names of the files in a folder."""
    return {path.name for path in folder.iterdir()}


def test_a_backup_is_whole_while_books_are_posted(tmp_path, make_own_books):
    """Each copy made while entries are posted over many transactions is complete, and the last has the last entry."""
    path = tmp_path / "books.db"
    stopped = threading.Event()
    with running(path) as service, make_own_books(path, service.base_url) as books:
        bank, rent = books.bank(), books.category()

        def post():
            while not stopped.is_set():
                books.post("2025-03-01T12:00:00Z", (bank, -1), (rent, 1))

        writer = threading.Thread(target=post)
        writer.start()
        sizes = []
        for number in range(5):
            back_up(str(path), tmp_path / f"copy{number}")
            with Store.open(tmp_path / f"copy{number}", create=False) as copy:
                checked = check_books(copy)
                assert checked.findings == []
                sizes.append(checked.entries)
        stopped.set()
        writer.join()
        back_up(str(path), tmp_path / "last")
        reported = books.report()["ending_cash_balance"]
    assert sizes == sorted(sizes)
    assert stat.S_IMODE((tmp_path / "last").stat().st_mode) == 0o600
    assert files(tmp_path) == {"books.db", "last", *(f"copy{number}" for number in range(5))}
    with Store.open(tmp_path / "last", create=False) as store:
        assert check_books(store).entries == -reported


def test_restore_replaces(path, tmp_path):
    """A restored database has the books of the backup, which stays as it is; a new file may be restored too."""
    back_up(str(path), tmp_path / "backup")
    content = (tmp_path / "backup").read_bytes()
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="later"))
    restore(tmp_path / "backup", str(path))
    restore(tmp_path / "backup", str(tmp_path / "new.db"))
    for restored in (path, tmp_path / "new.db"):
        assert instances_of(restored) == {"books", "others"}
        assert stat.S_IMODE(restored.stat().st_mode) == 0o600
    assert (tmp_path / "backup").read_bytes() == content
    assert files(tmp_path) == {"books.db", "new.db", "backup"}


def test_restore_is_refused_while_a_service_has_the_database(path, tmp_path, start_service):
    """A database that a service has open, even an idle one, or that was killed, is not replaced; afterwards it is."""
    back_up(str(path), tmp_path / "backup")
    service = start_service(path)
    for _ in range(2):
        with pytest.raises(InputError, match=r"is in use, or its last program was killed.*nothing was changed"):
            restore(tmp_path / "backup", str(path))
        service.kill()
    assert instances_of(path) == {"books", "others"}  # which moves the log into the file
    restore(tmp_path / "backup", str(path))
    assert instances_of(path) == {"books", "others"}


def test_a_damaged_database_is_replaced(path, tmp_path):
    """A database that cannot be opened is replaced by a backup."""
    back_up(str(path), tmp_path / "backup")
    path.write_bytes(b"text" * 5000)
    with pytest.raises(InputError, match=r"books\.db cannot be used .*nothing was changed.*restore"):
        Store.open(path)
    restore(tmp_path / "backup", str(path))
    assert instances_of(path) == {"books", "others"}


def test_a_backup_that_cannot_be_used_is_not_restored(path, tmp_path):
    """A backup that is damaged, cut, empty, missing or of another program, or the database itself, is refused."""
    backup, content = tmp_path / "backup", path.read_bytes()
    back_up(str(path), backup)
    good = backup.read_bytes()
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


@pytest.mark.parametrize("folder", [".", "/"])
def test_a_folder_is_no_database(path, tmp_path, folder):
    """A folder as the database is refused, also one without a name of its own."""
    back_up(str(path), tmp_path / "backup")
    with pytest.raises(ConfigurationError, match="is a folder; nothing was changed"):
        restore(tmp_path / "backup", folder)


def test_backup_refuses_what_it_cannot_copy(path, tmp_path):
    """An existing target, a missing or empty database, a folder that does not exist and PostgreSQL are refused."""
    back_up(str(path), tmp_path / "backup")
    (tmp_path / "empty.db").touch()
    cases = [
        (path, "backup", "exists already"),
        (tmp_path / "none.db", "new", "does not exist"),
        (tmp_path / "empty.db", "new", "is empty"),
        (path, "no/folder", "cannot be written"),
        ("postgresql://user@host/books", "new", "pg_dump"),
    ]
    for database, target, text in cases:
        with pytest.raises(InputError, match=text):
            back_up(str(database), tmp_path / target)
    with pytest.raises(ConfigurationError, match="pg_restore"):
        restore(tmp_path / "backup", "postgresql://user@host/books")
    assert files(tmp_path) == {"books.db", "backup", "empty.db"}


BACKUP = """
import sys
from pathlib import Path
from accounting_analytics.service.backup import back_up
back_up(sys.argv[1], Path(sys.argv[2]))
"""
RESTORE = """
import sys
from pathlib import Path
from accounting_analytics.service.backup import restore
restore(Path(sys.argv[2]), sys.argv[1])
"""


@pytest.fixture
def kill_after(fork_server, tmp_path):
    """Return a function that kills a backup or restore so many seconds after it began."""

    def kill_after(seconds, *program):
        pid = fork_server.start(*program, folder=tmp_path)
        time.sleep(seconds)
        fork_server.kill(pid)

    return kill_after


@pytest.mark.soak
@pytest.mark.long
def test_killed_during_a_backup(path, tmp_path, kill_after, soak_count):
    """A killed backup leaves no file of that name, or a complete one; the database stays whole."""
    for number in range(soak_count(50)):
        target = tmp_path / "backup"
        target.unlink(missing_ok=True)
        kill_after(0.01 * (number % 25), BACKUP, path, target)
        if target.exists():
            assert instances_of(target) == {"books", "others"}
        assert instances_of(path) == {"books", "others"}


@pytest.mark.soak
@pytest.mark.long
def test_killed_during_a_restore(path, tmp_path, kill_after, soak_count):
    """A killed restore leaves the former database or the restored one, and the backup as it was."""
    backup = tmp_path / "backup"
    back_up(str(path), backup)
    content = backup.read_bytes()
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="later"))
    former = path.read_bytes()
    for number in range(soak_count(50, fewer=2)):
        path.write_bytes(former)
        kill_after(0.02 * (number % 25), RESTORE, path, backup)
        assert instances_of(path) in ({"books", "others"}, {"books", "others", "later"})
        assert backup.read_bytes() == content
