"""The file under a running service: removed, replaced, damaged, or beside the log of another one."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
import uvicorn

from accounting_analytics.errors import BooksDoNotTieError, InputError, OperationRefusedError
from accounting_analytics.service.bookkeeping.instances import NewInstance, create_instance
from accounting_analytics.service.bookkeeping.post_entries import NewTransaction
from accounting_analytics.service.storage import sqlite
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running, serve

BODY = {"name": "x", "editable": True, "financial_account_type": "loan"}
REPORT = {"start_date": "2025-01-01", "end_date": "2025-01-31"}


@pytest.fixture
def path(tmp_path):
    """Return the path of the database."""
    return tmp_path / "books.db"


@pytest.fixture
def served(path, make_own_books):
    """Return books whose database is served."""
    with running(path) as service, make_own_books(path, service.base_url) as books:
        books.bank(id="bank")
        books.category(id="food")
        books.category(id="rent")
        books.post("2025-01-02T12:00:00Z", ("bank", -1, NewTransaction(id="T")), ("food", 1))
        yield books


def responses(books):
    """Return the responses to a report, a create, a recategorization and a list of lines."""
    put = "/v0/ledgers/bank/transactions/T/categories"
    return [
        books.request("GET", "/v0/reports/cash-flow", params=REPORT),
        books.request("POST", "/v0/ledgers", json=BODY),
        books.request("PUT", put, json={"updated_category_ledger_id": "rent"}),
        books.request("GET", "/v0/ledgers/bank/line-entries", params=REPORT),
    ]


def move_away(path):
    """Rename a file."""
    path.rename(path.with_name("away"))


def replace(path):
    """Put other books in the place of a file, as `mv` does."""
    other = path.with_name("other")
    with Store.open(other) as store:
        create_instance(store)
    other.replace(path)


@pytest.mark.parametrize(
    "change",
    [
        os.unlink,
        move_away,
        replace,
        lambda path: path.with_name("books.db-wal").unlink(),
        lambda path: path.with_name("books.db-shm").unlink(),
    ],
    ids=["rm", "mv away", "mv over it", "rm -wal", "rm -shm"],
)
def test_a_file_that_is_not_in_place_is_noticed(served, path, change, caplog):
    """The next request of each kind is refused, without Retry-After, and a file in that place is not changed."""
    assert [one.status_code for one in responses(served)] == [200, 201, 200, 200]
    change(path)
    content = path.read_bytes() if path.exists() else None
    for response in responses(served):
        assert (response.status_code, response.json()["error_code"]) == (503, "database_removed")
        assert "retry-after" not in response.headers
        assert "nothing was changed" in response.json()["message"]
        assert "restore a backup" in response.json()["message"]
        assert str(path.parent) not in response.text
    assert "removed or replaced" in caplog.text
    assert (path.read_bytes() if path.exists() else None) == content


def test_a_file_that_is_put_back_is_served_again(served, path):
    """Requests succeed again once the file is back in its place."""
    move_away(path)
    assert {one.status_code for one in responses(served)} == {503}
    path.with_name("away").rename(path)
    assert [one.status_code for one in responses(served)] == [200, 201, 200, 200]


def test_a_change_into_a_file_that_is_removed_meanwhile_is_not_acknowledged(path):
    """A file that is removed during a transaction fails it after its commit, with a message that says so."""
    with Store.open(path) as store:
        create_instance(store)
        with pytest.raises(OperationRefusedError, match="into the file that is no longer in place") as refused:
            rename_and_remove(store, path)
        assert (refused.value.status, refused.value.headers) == (503, {})


def rename_and_remove(store, path):
    """Rename the instance, and remove the file before the change is committed."""
    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE instances SET name = 'x'")
        path.unlink()


def test_damage_during_a_request_is_503(served, path):
    """Pages that are damaged while the service runs are a clear response, not a failure."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"damage" * 100_000)
    found = {(one.status_code, one.json()["error_code"]) for one in responses(served)}
    assert found == {(503, "database_damaged")}


@pytest.mark.parametrize("damage", ["header", "cut", "tables", "rows"])
def test_a_damaged_file_is_refused_and_never_written(path, damage):
    """Damage of the header, of the length, or of the ends of a table is found when the file is opened."""
    with Store.open(path) as store:
        for number in range(300):
            create_instance(store, NewInstance(id=f"instance{number}"))
    content = bytearray(path.read_bytes())
    if damage == "header":
        content[:16] = b"another format!!"
    elif damage == "cut":
        del content[len(content) // 2 :]
    elif damage == "tables":
        content[100:4096] = bytes(3996)
    else:
        for start in range(3 * 4096, len(content), 4096):
            content[start : start + 100] = b"\xff" * 100
    path.write_bytes(content)
    for opening in (Store.open, Store.open_read_only)[: 1 if damage == "rows" else 2]:  # a check lists damaged rows
        with pytest.raises(InputError, match=r"books\.db cannot be used .*nothing was changed.*restore"):
            opening(path)
    assert path.read_bytes() == content
    assert [one.name for one in path.parent.iterdir()] == ["books.db"]


def log_of(database, target, changes):
    """Write the log that a killed program leaves beside a database after some changes."""
    with Store.open(database) as store:
        for number in range(changes):
            create_instance(store, NewInstance(id=f"later{number}"))
        shutil.copyfile(f"{database}-wal", target)


@pytest.mark.parametrize("copied_by", ["cp", "backup", "VACUUM INTO"])
def test_the_log_of_the_former_file_is_refused(path, tmp_path, copied_by):
    """A copy beside the log that the former file left is refused until the log is moved away."""
    copy, log = tmp_path / "copy.db", tmp_path / "books.db-wal"
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="first"))
    if copied_by == "cp":
        shutil.copyfile(path, copy)
        for number in range(3):  # the log begins anew each time
            with Store.open(path) as store:
                for other in range(20):
                    create_instance(store, NewInstance(id=f"more{number}.{other}"))
    else:
        with closing(sqlite3.connect(path)) as connection:
            if copied_by == "backup":
                with closing(sqlite3.connect(copy)) as target:
                    connection.backup(target)
            else:
                connection.execute(f"VACUUM INTO '{copy}'")
    log_of(path, tmp_path / "left", 20)
    copy.replace(path)
    (tmp_path / "left").rename(log)
    content = path.read_bytes()
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(InputError, match=r"books\.db-wal belongs to another file .*move it and books\.db-shm away"):
            opening(path)
    assert path.read_bytes() == content
    log.unlink()
    with Store.open(path) as store:
        assert [one.id for one in store.instances()] == ["first"]


def test_the_log_of_a_killed_program_is_used(path, tmp_path):
    """A database with the log that a killed program left has everything that was committed."""
    killed = tmp_path / "killed.db"
    with Store.open(path) as store:
        for number in range(30):
            create_instance(store, NewInstance(id=f"instance{number}"))
            shutil.copyfile(path, killed)
            shutil.copyfile(f"{path}-wal", f"{killed}-wal")
            with Store.open_read_only(killed) as other:
                assert len(other.instances()) == number + 1
            if number % 7 == 0:
                with store.reading() as connection:
                    connection.exec_driver_sql("PRAGMA wal_checkpoint")
    with Store.open(killed) as other:
        assert len(other.instances()) == 30


def test_a_truncated_file_ends_no_process(path, start_service, make_own_books):
    """If the file is truncated while it is served, what cannot be read is 503, and the service runs on."""
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="old"))
    service = start_service(path)
    with make_own_books(path, service.base_url) as books:
        bank, food = books.bank(id="bank"), books.category(id="food")
        books.post("2025-01-02T12:00:00Z", (bank, -3000), *[(food, 1)] * 3000)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.truncate(path, 40_000)
        for _ in range(3):
            response = books.request("GET", "/v0/ledgers/food/line-entries", params=REPORT)
            assert (response.status_code, response.json()["error_code"]) == (503, "database_damaged")
        assert books.http.get("/openapi.json").status_code == 200


def killed_copy(path):
    """Return the contents of a file and its log as a killed program leaves them."""
    return {one: one.read_bytes() for one in (path, path.with_name("books.db-wal"))}


def test_books_are_checked_after_an_unclean_end(path, start_service):
    """A start after the last program was killed checks the books, names findings, and refuses a damaged file."""
    checked = "books.db was not closed, or another program has it open: its books are checked first"
    with Store.open(path) as store:
        create_instance(store)
        left = killed_copy(path)
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE ledgers SET name = 'other' WHERE is_required")
        edited = killed_copy(path)
    assert checked not in start_service(path).stderr()
    for contents, finding in ((left, False), (edited, True)):
        for file in path.parent.glob("books.db*"):
            file.unlink()
        for file, content in contents.items():
            file.write_bytes(content)
        service = start_service(path)
        assert checked in service.stderr()
        assert ("4 finding(s) in the books; to list them: accounting-analytics serve" in service.stderr()) == finding
        service.kill()


def test_a_damaged_file_is_not_served_after_an_unclean_end(path, monkeypatch):
    """A file that was damaged while it was open is refused, and not served, although its header and ends are intact."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_args, **_named: None)
    with Store.open(path) as store:
        create_instance(store)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'audit_by_number'").fetchone()
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE ledgers SET name = 'more' WHERE is_required")
        left = killed_copy(path)
    content = left[path]
    left[path] = content[: (page - 1) * 4096] + b"x" * 4096 + content[page * 4096 :]
    for file, content in left.items():
        file.write_bytes(content)
    with pytest.raises(BooksDoNotTieError, match=r"books.db is damaged: .* it was not served, restore a backup"):
        serve(path)


def test_a_failed_start_keeps_the_books_that_another_program_began(tmp_path, monkeypatch):
    """A file that another program has filled meanwhile is not removed, also while its books are in the log only."""
    path = tmp_path / "books.db"
    others = []

    def fail(_database):
        others.append(sqlite3.connect(path, isolation_level=None))
        others[0].execute("CREATE TABLE books (entry)")
        raise sqlite3.OperationalError

    monkeypatch.setattr(sqlite, "_create_tables", fail)
    with pytest.raises(InputError):
        Store.open(path)
    with closing(sqlite3.connect(path)) as reader, closing(others[0]):
        assert reader.execute("SELECT name FROM sqlite_master").fetchall() == [("books",)]
