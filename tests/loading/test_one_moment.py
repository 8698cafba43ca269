"""Loads of one moment: entries that are posted or recategorized between two pages are found on any day."""

import datetime as dt
import random
import threading
from decimal import Decimal

import httpx
import pytest
from posted_books import Part, PostedBooks

import accounting_analytics as aa
from accounting_analytics.core.errors import ChangedWhileReadingError, InputError

QUARTER = ("2025-01-01", "2025-03-31")
MARCH = aa.Period("2025-03-01", "2025-03-31")
FIRST_NOON = dt.datetime(2025, 1, 1, 12, tzinfo=dt.UTC)
DAYS = 90
ENTRIES = 60
PAGE_SIZE = 13
LEDGERS = {
    "bank": "bank_account",
    "rent": "expense operating_expenses debit",
    "food": "expense operating_expenses debit",
}


class Books:
    """Books of a quarter in a served store: a bank and two categories; `moments` are the lines after each change."""

    def __init__(self, service, connections):
        self._service, self._connections = service, connections
        self._lock = threading.RLock()  # one change, one moment
        self._access = service.create([], LEDGERS)
        self.bank, self.rent, self.food = self.ledger_ids = [*LEDGERS]
        entries = [
            self.entry(at * DAYS / ENTRIES, f"txn_{at}", self.rent if at % 3 else self.food) for at in range(ENTRIES)
        ]
        self._service.post(self._access.instance_id, *entries)
        self.moments = [self.load(self.client())]

    def writer(self, changes=None):
        """Return a transport that makes changes between pages."""
        return Writer(self._connections, changes)

    def entry(self, day, transaction_id, category):
        """Return an entry of a day, counted from the first."""
        amount = Decimal(100 + len(transaction_id)) / 100
        parts = {self.bank: Part(-amount, self._transaction(transaction_id)), category: amount}
        return FIRST_NOON + dt.timedelta(days=day), parts, "entry"

    def _transaction(self, name):
        """Return an id that no other books in the store have."""
        return f"{self._access.instance_id}-{name}"

    def client(self, transport=None):
        return self._access.client(time_zone="UTC", transport=transport or Writer(self._connections, page_size=1000))

    def load(self, client, ledger_ids=None, **options):
        """Load ledgers, or all, as a frame."""
        with client:
            return aa.load_line_entries(client, ledger_ids or self.ledger_ids, *QUARTER, progress=False, **options)

    def post(self, day):
        """Post an entry on a day, counted from the first."""
        with self._lock:
            self._service.post(self._access.instance_id, self.entry(day, f"new_{len(self.moments)}", self.rent))
            self.moments.append(self.load(self.client()))

    def recategorize(self, number):
        """Move the category line of a transaction to Food."""
        with self._lock, self.client() as client:
            transaction_id = self._transaction(f"txn_{number}")
            client.recategorize_transaction(self.bank, transaction_id, updated_category_ledger_id=self.food)
            self.moments.append(self.load(self.client()))

    def is_of_one_moment(self, frame):
        ledger_ids = set(frame["ledger_id"])
        return any(
            frame.equals(lines[lines["ledger_id"].isin(ledger_ids)].reset_index(drop=True)) for lines in self.moments
        )


class Writer(httpx.BaseTransport):
    """Transport of small pages that makes changes before the pages of given numbers are requested."""

    def __init__(self, connections, changes=None, page_size=PAGE_SIZE):
        self._connections = connections
        self._changes = dict(changes or {})
        self._page_size = page_size
        self.pages = 0

    def handle_request(self, request):
        if request.url.path.endswith("/line-entries"):
            self._changes.pop(self.pages, bool)()
            self.pages += 1
            url = request.url.copy_set_param("limit", self._page_size)
            request = httpx.Request(request.method, url, headers=request.headers)
        return self._connections.handle_request(request)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a service for books, and connections to it: each load would read certificates."""
    with PostedBooks(tmp_path_factory.mktemp("moments") / "books.db") as service, httpx.HTTPTransport() as connections:
        yield service, connections


def test_inserts_into_days_already_read_and_not_yet_read(served):
    books = Books(*served)

    def torn(**options):
        early_then_late = {2: lambda: [books.post(3), books.post(60)]}
        writer = books.writer(early_then_late)
        return books.load(books.client(writer), [books.bank], in_flight=1, **options), writer

    frame, writer = torn()
    assert len(frame) == ENTRIES + 1
    assert not books.is_of_one_moment(frame)
    ledgers = aa.discover_ledgers(books.client(), *QUARTER, progress=False)
    load, certificate = frame.attrs["load"], aa.check_completeness(aa.Books(frame, ledgers))
    assert (load["consistency"], load["of_one_moment"]) == ("newest", "not checked")
    assert "of one moment: not checked (only the newest days were read again)" in certificate.summary()
    assert writer.pages == 6
    frame, writer = torn(consistency="all")
    assert len(frame) == ENTRIES + 4
    assert books.is_of_one_moment(frame)
    assert (frame.attrs["load"]["consistency"], frame.attrs["load"]["of_one_moment"]) == ("all", "/".join(QUARTER))
    assert writer.pages == 15  # five to read the ledger, as many to find the changes, as many to see no more


@pytest.mark.parametrize("day", QUARTER)
def test_a_window_is_read_again_for_its_first_or_last_day(served, day):
    books = Books(*served)
    writer = books.writer()
    books.load(books.client(writer), [books.bank], in_flight=1, consistency=aa.Period(day, day))
    assert writer.pages == 10  # five to read the ledger, as many again


def test_lines_that_leave_a_ledger_are_found(served):
    books = Books(*served)
    writer = books.writer({1: lambda: books.recategorize(1)})  # its line is on the first page of Rent
    frame = books.load(books.client(writer), [books.rent], in_flight=1, consistency="all")
    assert len(frame) == len(books.moments[0].query("ledger_id == @books.rent")) - 1
    assert books.is_of_one_moment(frame)


def test_verifying_without_changes_reads_the_days_twice(connected, make_ledgers, spread):
    days = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
    service = make_ledgers(spread({"led_1": dict.fromkeys(days, 60), "led_2": dict.fromkeys(days, 1)}), page_size=100)
    frames, requests = {}, {}
    for consistency in ("newest", MARCH, "all"):
        client = connected(service)
        frames[consistency] = aa.load_line_entries(client, ["led_1", "led_2"], *QUARTER, consistency=consistency)
        requests[consistency] = len(client.requests)
    assert frames["newest"].equals(frames[MARCH])
    assert frames["newest"].equals(frames["all"])
    assert frames[MARCH].attrs["load"]["of_one_moment"] == "2025-03-01/2025-03-31"
    assert requests[MARCH] < 1.6 * requests["newest"]
    assert 1.8 * requests["newest"] < requests["all"] < 2.1 * requests["newest"]


def test_one_response_is_of_one_moment(connected, make_ledgers, spread):
    client = connected(make_ledgers(spread({"led_1": {"2025-03-01": 5}})))
    frame = aa.load_line_entries(client, ["led_1"], *QUARTER, consistency="all")
    assert frame.attrs["load"]["of_one_moment"] == "2025-01-01/2025-03-31"
    assert len(client.requests) == 1
    newest = aa.load_line_entries(client, ["led_1"], *QUARTER)
    assert newest.attrs["load"]["of_one_moment"] == "2025-01-01/2025-03-31"


@pytest.mark.parametrize(
    "consistency",
    [
        "everything",
        aa.Period("2024-12-01", "2025-01-31"),
        aa.Period("2025-02-01", "2025-02-28", "America/New_York"),
        None,
    ],
)
def test_other_days_cannot_be_verified(connected, consistency):
    client = connected(lambda _: httpx.Response(500))
    with pytest.raises(InputError, match="consistency is"):
        aa.load_line_entries(client, ["led_1"], *QUARTER, consistency=consistency)
    assert client.requests == []


def test_books_that_never_rest_are_a_clear_error(connected, make_ledgers, spread):
    service = make_ledgers(
        spread({"led_1": {"2025-03-01": 30, "2025-03-30": 30}, "led_2": {"2025-03-03": 5}}), page_size=10
    )

    def answer(request):
        if "led_1" in request.url.path:
            service.change(lambda lines: lines.insert(0, lines[0] | {"id": f"lin_new_{service.requests}"}))
        return service(request)

    with pytest.raises(ChangedWhileReadingError, match=r"ledger led_1.*in each of 3 checks.*lin_new_.*load again"):
        aa.load_line_entries(connected(answer), ["led_1", "led_2"], *QUARTER, consistency="all", in_flight=1)


@pytest.mark.parametrize("change", ["remove", "move", "amend"])
def test_lines_that_leave_or_change_are_found(connected, make_ledgers, spread, change):
    service = make_ledgers(spread({"led_1": {"2025-01-02": 30, "2025-03-30": 30}}), page_size=10)
    early = service.lines[3]
    changed = {"move": early | {"datetime": "2025-03-29T12:00:00Z"}, "amend": early | {"amount": "0.01"}}

    def answer(request):
        if service.requests == 3:
            service.change(lambda lines: lines.remove(early))
            if change in changed:
                service.change(lambda lines: lines.append(changed[change]))
        return service(request)

    client = connected(answer)
    frame = aa.load_line_entries(client, ["led_1"], *QUARTER, consistency=MARCH, in_flight=1)
    again = aa.load_line_entries(client, ["led_1"], *QUARTER)
    assert frame.equals(again)


def changes_of_seed(books, chance):
    """Return one or two changes before pages of a load, by page."""

    def change():
        kind = chance.random()
        if kind < 0.3:
            books.recategorize(chance.randrange(ENTRIES))
        books.post(chance.uniform(0, DAYS - 1))
        if kind > 0.5:
            books.post(chance.uniform(0, DAYS - 1))

    return {chance.randrange(15): change for _ in range(chance.randint(1, 2))}


@pytest.mark.soak
def test_torn_loads_are_never_returned(served, soak_count):
    seeds, exact = soak_count(200, fewer=4), 0
    for seed in range(seeds):
        chance = random.Random(seed)  # noqa: S311 (it replays)
        books = Books(*served)
        ledger_ids = chance.choice([books.ledger_ids, [books.bank], [books.rent, books.food]])
        try:
            frame = load_somehow(books, chance, ledger_ids)
        except ChangedWhileReadingError:
            continue
        assert books.is_of_one_moment(frame), seed
        exact += 1
    assert exact >= 0.9 * seeds - 1


def load_somehow(books, chance, ledger_ids):
    """Load with "all", while the books change."""
    client = books.client(books.writer(changes_of_seed(books, chance)))
    with client:
        in_flight = chance.choice([1, 4])
        return aa.load_line_entries(
            client, ledger_ids, *QUARTER, consistency="all", in_flight=in_flight, progress=False
        )
