"""Instances: their creation, the first one with its token file, and their first day."""

import datetime as dt
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from accounting_analytics.core.errors import (
    AmountError,
    ConfigurationError,
    InputError,
    PeriodError,
    PostingRefusedError,
)
from accounting_analytics.service.instances import (
    NewInstance,
    create_instance,
    first_instance,
    instance_of_token,
    set_tier,
)
from accounting_analytics.service.store import Store


@pytest.fixture
def path(tmp_path):
    """Return the path of the database."""
    return tmp_path / "books.db"


@pytest.fixture
def store(path):
    """Return an open store with one instance."""
    with Store.open(path) as store:
        create_instance(store, NewInstance(id="books"))
        yield store


def test_bad_instances_are_refused(store):
    """An unknown tier, scale or zone, a taken id, or one that a header cannot have, is refused."""
    for options, error, message in (
        ({"tier": 4}, InputError, "tier"),
        ({"scale": 11}, AmountError, "scale"),
        ({"localtime": "Mars/Olympus"}, PeriodError, "Mars/Olympus"),
        ({"localtime": "localtime"}, InputError, "IANA"),
        ({"id": "books"}, InputError, "already an instance 'books'"),
        ({"id": "a/b"}, InputError, "cannot be used"),
        ({"id": "büro"}, PostingRefusedError, "header"),
        ({"id": " acme"}, PostingRefusedError, "header"),
    ):
        with pytest.raises(error, match=message):
            create_instance(store, NewInstance(**options))
    assert len(store.instances()) == 1


def test_first_instance_writes_a_private_token_file(path):
    """A new database gets an instance and a private token file, in the place of an old one; a failed block neither."""
    old = path.with_name("books.db.token")
    old.write_text("old")
    old.chmod(0o644)
    with Store.open(path) as store:
        with pytest.raises(ZeroDivisionError), first_instance(store, NewInstance()):
            _ = 1 / 0
        assert (store.instances(), old.exists()) == ([], False)
        with first_instance(store, NewInstance(localtime="Europe/Paris")) as (_, created):
            pass
        assert stat.S_IMODE(old.stat().st_mode) == 0o600
        assert [(one.id, one.localtime) for one in store.instances()] == [(created.id, "Europe/Paris")]
    assert sorted(file.name for file in path.parent.iterdir()) == ["books.db", "books.db.token"]


def test_first_day_of_the_books(make_books):
    """Before the first day of the books, entries and requests are refused with that day."""
    books = make_books(entries_start=dt.date(2025, 1, 1), localtime="America/New_York")
    bank, rent = books.bank(), books.category()
    with pytest.raises(PostingRefusedError, match="2025-01-01"):
        books.post("2025-01-01T04:59:59Z", (bank, -1), (rent, 1))
    books.post("2025-01-01T05:00:00Z", (bank, -1), (rent, 1))
    for request in (books.report, lambda *days, **options: books.lines(bank, *days, **options)):
        refused = request("2024-12-31", "2025-01-31", status=422)
        assert refused["detail"][0]["loc"] == ["query", "start_date"]
        assert "2025-01-01" in refused["detail"][0]["msg"]
        request("2025-01-01", "2025-01-31")


def test_concurrent_first_instances(path):
    """Of many first instances in parallel only one is created, and the token file belongs to it."""

    def create(store):
        with suppress(ConfigurationError), first_instance(store, NewInstance()) as (_, instance):
            return instance.id

    with Store.open(path) as store, ThreadPoolExecutor(8) as pool:
        (only,) = filter(None, pool.map(create, [store] * 8))
        assert [one.id for one in store.instances()] == [only]
        with store.reading() as connection:
            instance = instance_of_token(connection, path.with_name("books.db.token").read_text().strip())
        assert instance.id == only


def test_the_tier_changes_with_the_next_request(books):
    """An instance of a lower tier cannot filter its report by tags any more; an unknown tier is refused."""
    books.report(tag_ids="x", status=404)  # allowed, but there is no such tag
    set_tier(books.store, books.instance_id, 2)
    books.report(tag_ids="x", status=403)
    with pytest.raises(InputError, match="tier must be one of 1, 2, 3"):
        set_tier(books.store, books.instance_id, 4)
    assert books.store.instance(books.instance_id).tier == 2
