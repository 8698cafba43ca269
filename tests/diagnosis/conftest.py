"""Small books on a real service, and a server on loopback that forwards to it and distorts the answers."""

import datetime as dt
import http.server
import json
import threading
from contextlib import contextmanager
from decimal import Decimal
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.diagnosis.examination import _examine
from accounting_analytics.periods import Period
from accounting_analytics.service.posting import NewJournalEntry, NewLedger, NewLine, NewTag
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store

PERIOD = Period.of("2025-01-01", "2025-02-10")
TAG = NewTag("project", "roof")


def category(name, type_, sub_type, **fields):
    """Return a ledger to create that reports no cash flow."""
    side = "credit" if type_ == "revenue" else "debit"
    given = {"report_cash_flow": False, "sort_code": "5", "debit_credit": side} | fields
    return NewLedger(name, type=type_, sub_type=sub_type, **given)


def post_books(store, instance):
    """Post two months: rent, meals, a split, a transfer, sales in cash and on account, one tag; return the ledgers."""
    new = {
        "bank": NewLedger("Bank", financial_account_type="bank_account"),
        "card": NewLedger("Card", financial_account_type="credit_card"),
        "receivable": NewLedger("Receivable", financial_account_type="accounts_receivable"),
        "rent": category("Rent", "expense", "operating_expenses"),
        "meals": category("Meals", "expense", "operating_expenses"),
        "sales": category("Sales", "revenue", "operating_revenues"),
    }
    ids = {name: store.create_ledger(instance, ledger).id for name, ledger in new.items()}

    def entry(day, *lines):
        posted = [
            NewLine(ids[name], "debit" if Decimal(amount) > 0 else "credit", abs(Decimal(amount)), tags=tuple(tags))
            for name, amount, *tags in lines
        ]
        return NewJournalEntry(dt.datetime.fromisoformat(f"{day}T12:00:00+00:00"), f"entry of {day}", tuple(posted))

    entries = [
        entry("2025-01-02", ("rent", "1200.00"), ("bank", "-1200.00")),
        entry("2025-02-02", ("rent", "1250.00", TAG), ("bank", "-1250.00")),
        entry("2025-01-20", ("card", "40.00"), ("bank", "-40.00")),
        entry("2025-02-05", ("rent", "60.00"), ("meals", "40.00"), ("bank", "-100.00")),
        entry("2025-02-03", ("receivable", "500.00"), ("sales", "-500.00")),
        entry("2025-02-08", ("bank", "500.00"), ("receivable", "-500.00")),
        *(
            entry(f"2025-{day}", ("meals", f"{number}.25"), ("card", f"-{number}.25"))
            for number, day in enumerate(("01-11", "01-14", "01-21", "02-01", "02-04", "02-06", "02-07"), 11)
        ),
        *(
            entry(f"2025-{day}", ("bank", f"{number}.10"), ("sales", f"-{number}.10"))
            for number, day in enumerate(("01-12", "01-28", "02-04", "02-09"), 310)
        ),
    ]
    store.post(instance, entries)
    return ids


@pytest.fixture(scope="session")
def books(tmp_path_factory):
    """Return the books: address, token, instance, ledgers, and how to connect; tests do not change them."""
    database = tmp_path_factory.mktemp("diagnosis") / "books.db"
    with Store.open(database) as store:
        instance = store.create_instance()
        token = store.issue_token(instance)
        ledgers = post_books(store, instance)
    with running(database) as service:

        def connected(base_url=service.base_url, **options):
            return aa.LedgerClient(base_url, **{"token": token, "instance_id": instance} | options)

        yield SimpleNamespace(
            base_url=service.base_url,
            database=database,
            instance=instance,
            token=token,
            connected=connected,
            **ledgers,
        )


class Distortion:
    """What becomes of questions and answers on the way; by default nothing."""

    def __init__(self, ask=None, answer=None, date=None, status=None):
        self._ask, self._answer, self._date, self._status = ask, answer, date, status
        self.requests = []

    def ask(self, path, params):
        """Return the parameters to forward."""
        self.requests.append((path, params))
        return self._ask(path, dict(params)) if self._ask else params

    def answer(self, path, params, response):
        """Return status, date and body to send back."""
        body = response.content
        if self._answer and response.status_code == 200:
            parsed = json.loads(body, parse_float=Decimal)
            self._answer(path, params, parsed)
            body = json.dumps(parsed, default=str).encode()
        status = self._status(path, params) if self._status else None
        if status:
            return status, self._date, b'{"message": "refused on purpose"}'
        return response.status_code, self._date, body


@contextmanager
def forwarding(base_url, distortion):
    """Serve on 127.0.0.1 what another service answers, distorted; the value is the base address."""
    upstream = httpx.Client(base_url=base_url, timeout=30)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or acknowledgements are waited for

        def do_GET(self):
            parts = urlsplit(self.path)
            params = dict(parse_qsl(parts.query))
            headers = {name: self.headers[name] for name in ("authorization", "service-instance-id")}
            response = upstream.get(parts.path, params=distortion.ask(parts.path, params), headers=headers)
            status, date, body = distortion.answer(parts.path, params, response)
            self.send_response_only(status)
            self.send_header("date", date or self.date_time_string())
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    with upstream, Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def examine(books):
    """Return a function that examines the books through a distortion; the machine is left out."""

    def examine(distortion=None, period=PERIOD, **options):
        through = distortion or Distortion()
        with (
            forwarding(books.base_url, through) as base_url,
            books.connected(base_url, max_attempts=2, **options) as client,
        ):
            examined = _examine(client, period, period.time_zone)
        return aa.Diagnosis("subject", examined.period, examined.findings)

    return examine


@pytest.fixture(scope="session")
def distortion():
    """Return the class of distortions."""
    return Distortion


@pytest.fixture
def found():
    """Return a function that finds the finding of a check."""

    def found(diagnosis, check):
        (one,) = [finding for finding in diagnosis.findings if finding.check == check]
        return one

    return found
