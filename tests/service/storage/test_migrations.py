"""Versions of databases: books of older versions are migrated, newer ones are refused, and nothing is in between."""

import gzip
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from accounting_analytics.errors import InputError
from accounting_analytics.service.check import check_books
from accounting_analytics.service.storage.migrations import OLDEST_VERSION, VERSION
from accounting_analytics.service.storage.sqlite import migrate_file, version_of_file
from accounting_analytics.service.storage.store import Store, migrate_database

OLD = Path(__file__).parent / "versions"


@pytest.fixture(params=range(OLDEST_VERSION, VERSION))
def old_file(request, tmp_path):
    """Return the books of each older version in a file."""
    path = tmp_path / "books.db"
    path.write_bytes(gzip.decompress((OLD / f"version_{request.param}.db.gz").read_bytes()))
    return path


@pytest.fixture(params=range(OLDEST_VERSION, VERSION))
def old_server(request, postgresql):
    """Return the address of the books of each older version in PostgreSQL."""
    address = postgresql.new()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute((OLD / f"version_{request.param}.sql").read_text(encoding="utf-8"))
    return address


def tables_of(address):
    """Return the tables of a database with everything that can be read about them."""
    engine = create_engine(str(address).replace("postgresql://", "postgresql+psycopg://"))
    try:
        found = inspect(engine)
        # the order of the columns counts: rows are inserted by position
        columns = {name: [repr(one) for one in found.get_columns(name)] for name in found.get_table_names()}
        parts = (found.get_indexes, found.get_foreign_keys, found.get_unique_constraints, found.get_check_constraints)
        rules = {name: [sorted(map(repr, part(name))) for part in parts] for name in columns}
        return columns, rules, [found.get_pk_constraint(name) for name in sorted(columns)]
    finally:
        engine.dispose()


def check_content(address):
    """Check that the books are complete: every invariant holds, and each table has its rows."""
    with Store.open(address, create=False) as store:
        checked = check_books(store)
        assert checked.findings == []
        assert checked[:-1] == (2, 14, 24, 48, 24, 1)
        rows = [(row.number, row.actor, row.operation, row.modified_by) for row in store.audit("books")]
        assert rows == [(1, "before", "recategorize_transaction", "anna"), (2, "local", "migrate_database", None)]


def test_an_old_file_is_migrated_after_a_backup(old_file, tmp_path):
    """A file of an older version is migrated when it is opened, and its books are kept beside it as they were."""
    before = version_of_file(old_file)
    check_content(old_file)
    assert version_of_file(old_file) == VERSION
    Store.open(tmp_path / "new.db").close()
    assert tables_of(f"sqlite:///{old_file}") == tables_of(f"sqlite:///{tmp_path / 'new.db'}")
    backup = old_file.with_name(f"books.db.version-{before}")
    assert version_of_file(backup) == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"books.db", "new.db", backup.name}
    migrated = migrate_database(str(backup))
    assert migrated == (before, VERSION, f"{backup}.version-{before}")
    check_content(backup)
    assert migrate_database(str(backup)) == (VERSION, VERSION, None)


@pytest.mark.postgresql
def test_an_old_server_is_migrated_on_request(old_server, postgresql):
    """PostgreSQL is refused until a migration is requested with a backup; then it has the tables of a new one."""
    for refused in (lambda: Store.open(old_server), lambda: migrate_database(old_server)):
        with pytest.raises(InputError, match=rf"needs version {VERSION}; nothing .* pg_dump.*migrate --backup-made"):
            refused()
    before, after, _ = migrate_database(old_server, backup_made=True)
    assert before < after == VERSION
    check_content(old_server)
    new = postgresql.new()
    with pytest.raises(InputError, match="is empty"):
        migrate_database(new, backup_made=True)
    Store.open(new).close()
    assert tables_of(old_server) == tables_of(new)
    assert migrate_database(old_server) == (VERSION, VERSION, None)


def test_other_versions_are_refused_and_not_changed(tmp_path):
    """A newer file and one that is too old are refused with both versions."""
    path = tmp_path / "books.db"
    Store.open(path).close()
    for version in (VERSION + 7, 1):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        content = path.read_bytes()
        for refused in (lambda: Store.open(path, create=False), lambda: migrate_database(str(path))):
            with pytest.raises(
                InputError, match=rf"version {version} .* needs version {VERSION}.* nothing was changed"
            ):
                refused()
        assert path.read_bytes() == content
        assert [one.name for one in tmp_path.iterdir()] == ["books.db"]


@pytest.mark.postgresql
def test_other_versions_of_a_server_are_refused(postgresql):
    """A newer database is refused with both versions."""
    address = postgresql.new()
    Store.open(address).close()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE settings SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(InputError, match=rf"version 99 .* needs version {VERSION}"):
        Store.open(address)


def _add_table(connection):
    connection.exec_driver_sql("CREATE TABLE added (x INTEGER)")


def _fail(connection):
    connection.exec_driver_sql("INSERT INTO added VALUES (1)")
    msg = "a step failed"
    raise InputError(msg)


def test_a_failed_migration_changes_nothing(old_file):
    """If a step fails, those before it are undone, and the file has its old version."""
    content = tables_of(f"sqlite:///{old_file}")
    before = version_of_file(old_file)
    with pytest.raises(InputError, match="a step failed"):
        migrate_file(old_file, (_add_table,) * (before - OLDEST_VERSION) + (_add_table, _fail))
    assert version_of_file(old_file) == before
    assert tables_of(f"sqlite:///{old_file}") == content
    check_content(old_file)


def test_a_file_in_use_is_not_migrated(old_file):
    """While another connection has the file open, as an older service has, it is not migrated."""
    with closing(sqlite3.connect(old_file)) as service:
        service.execute("SELECT count(*) FROM ledgers").fetchall()
        with pytest.raises(InputError, match="in use by another program"):
            Store.open(old_file)
    check_content(old_file)


@pytest.mark.parametrize("content", [b"", None])
@pytest.mark.parametrize("name", ["books.db.token", "books.db-wal"])
def test_lost_books_are_not_replaced_by_new_ones(tmp_path, content, name):
    """An empty or missing file beside its token file, or its log, is refused, and neither is changed."""
    path, left = tmp_path / "books.db", tmp_path / name
    left.write_text("of the books")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=rf"(is empty|does not exist), but .*{name} .*restore a backup.* move {name}"):
        Store.open(path)
    assert path.exists() == (content is not None)
    assert left.read_text() == "of the books"
    left.unlink()
    with Store.open(path) as store:
        assert store.instances() == []


INTERRUPTED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 2")  # so that changed pages are in the file before the commit
connection.execute("BEGIN")
connection.execute("CREATE TABLE added (x)")
connection.executemany("INSERT INTO added VALUES (?)", ((number,) for number in range(20000)))
connection.execute("DELETE FROM audit")
os._exit(0)
"""


@pytest.fixture
def interrupted(tmp_path):
    """Return a file whose migration was killed after it had written pages, with its rollback journal."""
    path = tmp_path / "books.db"
    path.write_bytes(gzip.decompress((OLD / "version_2.db.gz").read_bytes()))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    subprocess.run([sys.executable, "-c", INTERRUPTED, path], check=True)  # noqa: S603 (our own)
    assert (tmp_path / "books.db-journal").stat().st_size > 0
    return path


def test_an_unfinished_migration_is_undone(interrupted):
    """Pages that a killed migration wrote are undone before the version is read, and the file is migrated again."""
    check_content(interrupted)


def test_the_check_of_an_unfinished_migration_changes_nothing(interrupted):
    """A check reads the file as it was before the unfinished migration, and leaves it and its journal as they are."""
    journal = interrupted.with_name("books.db-journal")
    content = interrupted.read_bytes(), journal.read_bytes()
    with pytest.raises(InputError, match=rf"books\.db has version 2, .* needs version {VERSION}; nothing was changed"):
        Store.open_read_only(interrupted)
    assert (interrupted.read_bytes(), journal.read_bytes()) == content


MIGRATING = """
import sys
from pathlib import Path
from accounting_analytics.service.storage.migrations import OLDEST_VERSION
from accounting_analytics.service.storage.sqlite import migrate_file, version_of_file

def write_rows(connection):
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS added (x INTEGER, y TEXT)")
    for row in range(20_000):
        connection.exec_driver_sql("INSERT INTO added VALUES (?, ?)", (row, "text " * 20))

path = Path(sys.argv[1])
steps = [write_rows] * (version_of_file(path) + 2 - OLDEST_VERSION)
migrate_file(path, steps)
"""


@pytest.mark.soak
def test_killed_during_a_migration(old_file, fork_server, soak_count):
    """A program that is killed during a migration leaves the old version or the new one, with all books."""
    old, content = version_of_file(old_file), old_file.read_bytes()
    found = set()
    for number in range(soak_count(50)):
        for leftover in old_file.parent.glob("books.db*"):
            leftover.unlink()
        old_file.write_bytes(content)
        migrating = fork_server.start(MIGRATING, old_file, folder=old_file.parent)
        time.sleep(0.02 * (number % 25))
        fork_server.kill(migrating)
        version = version_of_file(old_file)
        found.add(version)
        assert version in {old, old + 2}
        with closing(sqlite3.connect(old_file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("SELECT count(*) FROM line_entries").fetchall() == [(48,)]
            added = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'added'").fetchone()[0]
            assert added == (version != old)
            assert not added or connection.execute("SELECT count(*) FROM added").fetchone() == (40_000,)
    assert old in found
