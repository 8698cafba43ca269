"""Backups of a database that is served, their restoration after a check, and programs that are killed meanwhile."""

import datetime as dt
import hashlib
import shutil
import sqlite3
import stat
import threading
import time
from contextlib import closing
from decimal import Decimal

import pytest

from accounting_analytics.errors import BooksDoNotTieError, ConfigurationError, InputError, OperationRefusedError
from accounting_analytics.service.backup import back_up, restore
from accounting_analytics.service.bookkeeping.instances import NewInstance, create_instance
from accounting_analytics.service.bookkeeping.ledgers import NewLedger, create_ledger
from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry, NewLine, post_entries
from accounting_analytics.service.check import check_books
from accounting_analytics.service.storage.sqlite_files import exclusive_access
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

NOON = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def path(tmp_path):
    """Return a database with the books of two instances."""
    path = tmp_path / "books.db"
    with Store.open(path) as store:
        for name in ("books", "others"):
            create_instance(store, NewInstance(id=name))
            ledgers = [
                create_ledger(store, name, NewLedger(kind, financial_account_type=kind)).id
                for kind in ("bank_account", "loan")
            ]
            lines = (NewLine(ledgers[0], "debit", Decimal(5)), NewLine(ledgers[1], "credit", Decimal(5)))
            post_entries(store, name, [NewJournalEntry(NOON, "loan", lines)] * 12)
    back_up(str(path), tmp_path / "copy")
    return (tmp_path / "copy").replace(path)


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
            with Store.open_read_only(tmp_path / f"copy{number}") as copy:
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
    with Store.open_read_only(tmp_path / "last") as store:
        assert check_books(store).entries == -reported


def test_restore_replaces_and_keeps(path, tmp_path):
    """A restored database has the books of the backup; the former one is kept, and each further one too."""
    back_up(str(path), tmp_path / "backup")
    content = (tmp_path / "backup").read_bytes()
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="later"))
    restored = restore(tmp_path / "backup", str(path))
    assert restored.kept == tmp_path / "books.db.before-restore"
    assert restored.checked.entries == 24
    assert files(tmp_path) == {"books.db", "backup", "books.db.before-restore"}
    assert instances_of(path) == {"books", "others"}
    assert instances_of(restored.kept) == {"books", "others", "later"}
    assert restore(tmp_path / "backup", str(path)).kept == tmp_path / "books.db.before-restore.2"
    assert (tmp_path / "backup").read_bytes() == content
    new = restore(tmp_path / "backup", str(tmp_path / "new.db"))
    assert new.kept is None
    assert instances_of(tmp_path / "new.db") == {"books", "others"}
    assert not [name for name in files(tmp_path) if "unfinished" in name]


def test_restore_is_refused_while_a_service_has_the_database(path, tmp_path, start_service):
    """A database that a service has open, even an idle one, is not replaced; afterwards it is."""
    back_up(str(path), tmp_path / "backup")
    service = start_service(path)
    with pytest.raises(InputError, match="in use by another program"):
        restore(tmp_path / "backup", str(path))
    service.kill()
    restore(tmp_path / "backup", str(path))
    assert instances_of(path) == {"books", "others"}


def test_a_backup_with_broken_books_is_not_restored(path, tmp_path):
    """A backup that breaks an invariant, is cut, empty or missing, or the database itself, is refused."""
    backup, content = tmp_path / "backup", path.read_bytes()
    back_up(str(path), backup)
    good = backup.read_bytes()
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("UPDATE line_entries SET low = low + 1 WHERE debit_credit = 'debit' AND pk < 5")
    with pytest.raises(BooksDoNotTieError, match=r"not restored.*debits equal credits.*nothing was changed"):
        restore(backup, str(path))
    for wrong in (good[:8192], b"", b"text" * 3000):
        backup.write_bytes(wrong)
        with pytest.raises(InputError, match="nothing was changed") as refused:
            restore(backup, str(path))
        assert f"--database {backup}" not in str(refused.value)  # the backup is not what is to be restored
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


def test_a_journal_of_a_damaged_database_is_not_applied(path, tmp_path):
    """The rollback journal of a damaged database is not beside the restored one, to which SQLite would apply it."""
    back_up(str(path), tmp_path / "backup")
    path.write_bytes(b"text" * 5000)
    (tmp_path / "books.db-journal").write_bytes(b"of the damaged file")
    restore(tmp_path / "backup", str(path))
    assert not (tmp_path / "books.db-journal").exists()
    assert instances_of(path) == {"books", "others"}


def test_a_database_in_exclusive_use_is_not_replaced(path, tmp_path, run):
    """While another program has the file exclusively and writes a transaction, a restore is refused."""
    back_up(str(path), tmp_path / "backup")
    with exclusive_access(path) as connection:
        connection.execute("BEGIN")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("CREATE TABLE added (x)")
        refused = run(RESTORE, path, tmp_path / "backup")
    assert "is in use by another program" in refused.stderr
    assert instances_of(path) == {"books", "others"}
    assert files(tmp_path) == {"books.db", "backup"}


@pytest.mark.parametrize("damage", ["text", "cut", "foreign log"])
def test_a_damaged_database_is_replaced(path, tmp_path, damage):
    """A database that cannot be opened is replaced by a backup, and kept as it is with its log."""
    back_up(str(path), tmp_path / "backup")
    damaged = {"text": b"text" * 5000, "cut": path.read_bytes()[:20_000], "foreign log": path.read_bytes()}[damage]
    path.write_bytes(damaged)
    log = tmp_path / "books.db-wal"
    if damage == "foreign log":
        leave_log(tmp_path / "other.db", log)
    else:
        log.write_bytes(b"of the damaged file")
    foreign = log.read_bytes()
    kept = restore(tmp_path / "backup", str(path)).kept
    assert instances_of(path) == {"books", "others"}
    assert kept.read_bytes() == damaged
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == foreign


def leave_log(database, log):
    """Write the log of another database with books, as a killed program leaves it."""
    with Store.open(database) as store:
        for number in range(30):
            create_instance(store, NewInstance(id=f"other{number}"))
        shutil.copyfile(f"{database}-wal", log)
    database.unlink()


def test_backup_refuses_what_it_cannot_copy(path, tmp_path):
    """An existing target, a missing or empty database, a folder that does not exist and PostgreSQL are refused."""
    back_up(str(path), tmp_path / "backup")
    cases = [
        (path, "backup", "exists already"),
        (tmp_path / "none.db", "new", "does not exist"),
        (path, "no/folder", "cannot be written"),
        ("postgresql://user@host/books", "new", "pg_dump"),
    ]
    for database, target, text in cases:
        with pytest.raises(InputError, match=text):
            back_up(str(database), tmp_path / target)
    with pytest.raises(ConfigurationError, match="pg_restore"):
        restore(tmp_path / "backup", "postgresql://user@host/books")
    assert files(tmp_path) == {"books.db", "backup"}


def test_the_check_of_a_service_changes_nothing(path, tmp_path):
    """A check reads an unused file without any file beside it, and a file whose program was killed with its log."""
    before = hashlib.sha256(path.read_bytes()).digest()
    path.chmod(0o444)
    with Store.open_read_only(path) as store:
        assert check_books(store).findings == []
        assert files(tmp_path) == {"books.db"}
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="later"))
        (tmp_path / "killed").mkdir()
        for name in ("books.db", "books.db-wal"):
            shutil.copyfile(tmp_path / name, tmp_path / "killed" / name)
        with Store.open_read_only(path) as other:  # beside a program that writes
            assert len(other.instances()) == 3
    killed = tmp_path / "killed" / "books.db"
    contents = [one.read_bytes() for one in sorted(killed.parent.iterdir())]
    with Store.open_read_only(killed) as store:
        assert len(store.instances()) == 3
        assert check_books(store).findings == []
    assert [one.read_bytes() for one in sorted(killed.parent.iterdir())] == contents
    assert hashlib.sha256(contents[0]).digest() != before or len(contents[1]) > 0


def test_a_check_of_a_file_that_changes_is_refused(path):
    """If a program writes into a file that is read as unused, the check ends instead of mixing two states."""
    with Store.open_read_only(path) as store:
        assert store.instances()
        with exclusive_access(path) as connection:
            connection.execute("UPDATE instances SET name = 'x'")
        with pytest.raises(OperationRefusedError, match="removed or replaced"):
            store.instances()


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
def run(fork_server, tmp_path):
    """Return a function that runs a backup or restore to its end."""

    def run(*program):
        fork_server.start(*program, folder=tmp_path)
        return fork_server.wait()

    return run


@pytest.fixture
def kill_after(fork_server, tmp_path):
    """Return a function that kills a backup or restore so many seconds after it began."""

    def kill_after(seconds, *program):
        pid = fork_server.start(*program, folder=tmp_path)
        time.sleep(seconds)
        fork_server.kill(pid)

    return kill_after


@pytest.mark.soak
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
def test_killed_during_a_restore(path, tmp_path, kill_after, soak_count):
    """A killed restore leaves the former database or the restored one, and the backup as it was."""
    backup = tmp_path / "backup"
    back_up(str(path), backup)
    content = backup.read_bytes()
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="later"))
    former = path.read_bytes()
    for number in range(soak_count(50)):
        path.write_bytes(former)
        kill_after(0.02 * (number % 25), RESTORE, path, backup)
        assert instances_of(path) in ({"books", "others"}, {"books", "others", "later"})
        assert backup.read_bytes() == content
