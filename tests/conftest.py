"""Optional programs, without which tests are skipped loudly or fail where everything is required; long counts."""

import base64
import functools
import http.server
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from decimal import Decimal
from pathlib import Path
from unittest import mock
from urllib.parse import parse_qs

import httpx
import hypothesis
import pytest
from chromium_and_jupyterlab import browser, lab, rendered  # noqa: F401 (fixtures of all tests)

import accounting_analytics as aa
from accounting_analytics.client import http as client_http

sys.modules["rfc3987_syntax"] = None  # jsonschema does without it, and its grammar takes seconds
TOKEN = "canary-token-value"
PROGRAMS = {
    "browser": ("chromium", "apt-get install chromium"),
    "crontab": ("crontab", "apt-get install cron"),
    "hledger": ("hledger", "apt-get install hledger"),
    "openssl": ("openssl", "apt-get install openssl"),
    "ledger": ("ledger", "apt-get install ledger"),
    "pdftotext": ("pdftotext", "apt-get install poppler-utils"),
    "postgresql": ("initdb", "apt-get install postgresql"),
    "systemd": ("systemd-analyze", "apt-get install systemd"),
    "spark": ("java", "apt-get install default-jre-headless"),
}
PACKAGES = {"spark": ("pyspark", "pip install pyspark")}
# Debian keeps the server programs of PostgreSQL off the path
SEARCHED = os.pathsep.join(
    [os.environ.get("PATH", os.defpath), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
)
REQUIRE_ALL = os.environ.get("ACCOUNTING_ANALYTICS_REQUIRE_ALL") == "1"
# tests marked `soak` do a tenth of their long count by default, and all of it at 10 (`make soak`)
SOAK = int(os.environ.get("ACCOUNTING_ANALYTICS_SOAK", "1"))
# two cores are shared by servers, browsers and kernels: an example may wait for its turn
hypothesis.settings.register_profile("random", deadline=None, max_examples=500)
# the same examples in every run; a failure is the example as it was found, because shrinking may take minutes
FOUND_NOT_SHRUNK = (hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.target)
hypothesis.settings.register_profile(
    "repeatable", deadline=None, max_examples=12, derandomize=True, phases=FOUND_NOT_SHRUNK
)
hypothesis.settings.load_profile("repeatable" if SOAK == 1 else "random")


def missing_programs():
    """Markers whose program or Python package is not on this machine."""
    programs = {marker: need for marker, need in PROGRAMS.items() if shutil.which(need[0], path=SEARCHED) is None}
    packages = {marker: need for marker, need in PACKAGES.items() if importlib.util.find_spec(need[0]) is None}
    return programs | packages


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """Refuse to start without the optional programs where everything is required."""
    # for tests whose examples are slow, such as whole books; all else is as in the profile of the run
    hypothesis.settings.register_profile("slow", max_examples=4 if SOAK == 1 else 250)
    missing = missing_programs()
    if REQUIRE_ALL and missing:
        needs = ", ".join(f"{program} ({install})" for program, install in missing.values())
        pytest.exit(f"everything is required here, but these programs are missing: {needs}", returncode=1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Skip tests whose program is missing; first come those on Spark, all of one worker, and those in JupyterLab."""
    items.sort(key=lambda item: (item.get_closest_marker("spark") is None, "lab" not in item.fixturenames))
    for marker, (program, install) in missing_programs().items():
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{program} is not installed: {install}"))


def pytest_sessionfinish(session):
    """Fail a run that skipped anything where everything is required."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if REQUIRE_ALL and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Say loudly what was not tested."""
    for marker, (program, install) in missing_programs().items():
        terminalreporter.write_sep("!", f"NOT TESTED: everything marked '{marker}', because {program} is missing")
        terminalreporter.write_line(f"To test it too: {install}")


@pytest.fixture(autouse=True, scope="session")
def _short_backoff():
    """Wait hardly between attempts."""
    with mock.patch.object(client_http, "_FIRST_BACKOFF", 0.001):
        yield


@pytest.fixture(scope="session")
def program_path():
    return lambda name: Path(shutil.which(name, path=SEARCHED))


@pytest.fixture(scope="session")
def soak_count():
    """Return a function that scales a long count of a `soak` test: a tenth of it, or all of it in `make soak`.

    Where fewer show the same, the test gives a smaller count than the tenth.
    """
    return lambda long, fewer=None: fewer if fewer and SOAK == 1 else max(1, long * SOAK // 10)


class ForkServer:
    """A process that has imported the package, and runs programs in forks of itself.

    A program is a process of its own, with its own environment, output and exit code, but starts in milliseconds.
    """

    def __init__(self, folder):
        self._output = [folder / "stdout", folder / "stderr"]
        self._server = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, Path(__file__).with_name("fork_server.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def start(self, code, *arguments, folder, environment=None, seconds=400):
        """Start a program like ``python -c``, which is killed after so many seconds, and return its process id."""
        program = {"code": code, "arguments": [*map(str, arguments)], "folder": str(folder), "seconds": seconds}
        program |= {"environment": environment or dict(os.environ), "output": [*map(str, self._output)]}
        print(json.dumps(program), file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline())

    def wait(self):
        """Wait for the end of the program; return its exit code and output."""
        code = os.waitstatus_to_exitcode(int(self._server.stdout.readline()))
        return subprocess.CompletedProcess((), code, *(path.read_text(encoding="utf-8") for path in self._output))

    def kill(self, process_id):
        """Kill the program with SIGKILL, and wait for its end."""
        with suppress(ProcessLookupError):  # it may have ended
            os.kill(process_id, signal.SIGKILL)
        return self.wait()

    def close(self):
        with self._server:
            self._server.stdin.close()


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory):
    """Return a process that runs programs with the imports done, until the tests end."""
    server = ForkServer(tmp_path_factory.mktemp("output"))
    yield server
    server.close()


@pytest.fixture
def command_line(monkeypatch):
    """Return a function that runs a command in this process: its words, its folder and all of its environment."""
    from accounting_analytics.cli import program  # noqa: PLC0415 (few tests need it)

    def run(words, folder, environment):
        monkeypatch.chdir(folder)
        with ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, environment, clear=True))
            stack.enter_context(mock.patch.object(sys, "argv", ["accounting-analytics", *words]))
            files = [stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(2)]
            with redirect_stdout(files[0]), redirect_stderr(files[1]):
                code = program.run(words)
            for file in files:
                file.seek(0)
            return subprocess.CompletedProcess(words, code, *(file.read() for file in files))

    return run


@contextmanager
def serving_tokens(client_id, secret, issue):
    """Give the URL of an authorization server, which issues to one client what a function returns."""
    expected = "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            is_known = self.headers["authorization"] == expected and form == {"grant_type": ["client_credentials"]}
            token = {"access_token": issue(), "token_type": "Bearer", "expires_in": 3600} if is_known else {}
            body = json.dumps(token or {"error": "invalid_client"}).encode()
            self.send_response(200 if is_known else 401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/oauth/token"
        server.shutdown()


@pytest.fixture(scope="session")
def token_endpoint():
    """Return the function that serves tokens for client credentials during a block."""
    return serving_tokens


@pytest.fixture
def connected():
    """Return a function that makes a client of a handler, and counts its requests."""
    clients = []

    def connect(handler, **options):
        requests = []

        def answer(request):
            requests.append(request)
            return handler(request)

        client = aa.LedgerClient(
            "http://ledgers.test",
            token=TOKEN,
            instance_id="ins_1",
            transport=httpx.MockTransport(answer),
            **{"time_zone": "UTC", "max_attempts": 4, **options},
        )
        client.requests = requests
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def pages():
    """Return a function that makes a handler of pages by token; other days than the first requested are one page."""

    def pages(*each):
        requested_days = []

        def answer(request):
            days = (request.url.params["start_date"], request.url.params["end_date"])
            requested_days.append(days)
            if days != requested_days[0]:
                within = [line for page in each for line in page if days[0] <= line["datetime"][:10] <= days[1]]
                body = {"records": within, "next_page_token": None, "prev_page_token": None}
            else:
                at = int(request.url.params.get("page_token", "0"))
                following = str(at + 1) if at + 1 < len(each) else None
                body = {"records": each[at], "next_page_token": following, "prev_page_token": None}
            return httpx.Response(200, json=body)

        return answer

    return pages


@pytest.fixture
def line():
    """Return a function that makes a line entry as the service sends it."""

    def line(number=1, **fields):
        return {
            "id": f"lin_{number}",
            "amount": "12.50",
            "debit_credit": "debit",
            "datetime": "2025-03-10T12:00:00Z",
            "ledger_id": "led_1",
            "journal_entry_id": f"ent_{number}",
        } | fields

    return line


@pytest.fixture(scope="session")
def demo_company():
    """Return the demo company, served on loopback until the tests end; tests must not change its books."""
    with requesting_once() as ports, aa.demo() as company:
        ports.add(int(company.base_url.rpartition(":")[2]))
        yield company


@contextmanager
def requesting_once():
    """Request each page and report of services at the added ports once, and load the same whole books once.

    Hundreds of tests load the demo company. Clients with a transport or credentials of their own load them each time.
    """
    from accounting_analytics.client.auth import Credentials  # noqa: PLC0415 (most tests load no books)
    from accounting_analytics.loading import load_books  # noqa: PLC0415

    answers, books, ports = {}, {}, set()

    def once(send):
        def respond(transport, request):
            if request.url.port not in ports or request.method != "GET":
                return send(transport, request)
            asked = (str(request.url), request.headers.get("authorization"), request.headers["service-instance-id"])
            if asked not in answers:
                response = send(transport, request)
                answers[asked] = response.status_code, response.headers.raw, b"".join(response.stream)
                response.close()
            status, headers, body = answers[asked]
            return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

        return respond

    def load_once(client, asked, **options):
        port, credentials = httpx.URL(client.base_url).port, client._credentials
        is_ordinary = type(credentials) is Credentials and client._http._transport is None and options["chart"] is None
        if port not in ports or not is_ordinary:
            return load_whole_books(client, asked, **options)
        service = client.base_url, client.instance_id, credentials._token.reveal()
        key = (*service, client.scale, asked, repr(options))
        if key not in books:
            books[key] = load_whole_books(client, asked, **options)
        return [frame.copy(deep=False) for frame in books[key]]

    load_whole_books = load_books.load_whole_books
    with (
        mock.patch.object(httpx.HTTPTransport, "handle_request", once(httpx.HTTPTransport.handle_request)),
        mock.patch.object(load_books, "load_whole_books", load_once),
    ):
        yield ports


@pytest.fixture(scope="session")
def load_month(demo_company):
    """Return a function that loads the demo's books of a month, with the reports of all periods of its pack."""
    from accounting_analytics.pack.pack_periods import PackPeriods  # noqa: PLC0415 (most tests need no pack)

    @functools.cache
    def load(month):
        periods = PackPeriods.around(aa.Period.parse(month, time_zone=demo_company.time_zone), 1)
        return aa.load_books(demo_company.client, periods.this, reports=periods.compared().values(), progress=False)

    return load


@pytest.fixture(scope="session")
def demo_pack(load_month):
    """Return the pack of May 2026, whose balances are sums since the books began."""
    return aa.monthly_pack(load_month("2026-05"))


FIRST_QUARTER = {"start_date": "2025-01-01", "end_date": "2025-03-31"}


@pytest.fixture(scope="session")
def demo_books(demo_company, tmp_path_factory):
    """Return the folder of local books with the first quarter of the demo company; tests must not change them."""
    folder = tmp_path_factory.mktemp("books") / "local"
    assert aa.LocalBooks.open(folder).sync(demo_company.client, **FIRST_QUARTER).ties
    return folder


@pytest.fixture
def sent_pack(tmp_path):
    """Return the file of a genuine pack and its fingerprint."""
    from small_packs import make_books, write_pack  # noqa: PLC0415 (most tests need no pack)

    path = tmp_path / "pack.html"
    return path, write_pack(path, make_books(7))


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the notebooks and the files they read."""
    for folder in ("data", "notebooks"):
        shutil.copytree(Path(__file__).parents[1] / folder, tmp_path / folder)
    return tmp_path


@pytest.fixture(scope="session")
def spark_session():
    """Return a local Spark session with little overhead."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 (skipped where PySpark is missing)

    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # little is worth optimizing
        "spark.sql.codegen.wholeStage": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


DEEP_BOOKS = """\
entry_id,datetime,entry_description,ledger,debit_credit,amount
e1,2024-12-31,Start,assets:bank:checking,debit,1000.00
e1,2024-12-31,Start,equity:opening:start,credit,1000.00
e2,2025-01-02,Rent,expenses:home:rent,debit,400.50
e2,2025-01-02,Rent,assets:bank:checking,credit,400.50
e3,2025-01-03,Paper,expenses:office:paper,debit,20.25
e3,2025-01-03,Paper,assets:bank:checking,credit,20.25
e4,2025-01-05,Saved,assets:bank:savings,debit,100.00
e4,2025-01-05,Saved,assets:bank:checking,credit,100.00
e5,2025-01-10,Sold,assets:bank:checking,debit,250.00
e5,2025-01-10,Sold,income:sales:web,credit,250.00
"""


@pytest.fixture(scope="session")
def deep_books(posted_books, tmp_path_factory):
    """Return books whose ledgers with lines all lie two levels under a root, served until the tests end."""
    file = tmp_path_factory.mktemp("deep") / "lines.csv"
    file.write_text(DEEP_BOOKS, encoding="utf-8")
    return posted_books.import_file(file, cash=["assets:bank*"])


@pytest.fixture(scope="session")
def posted_books(tmp_path_factory):
    """Return a service in which tests post or import books of their own; see PostedBooks."""
    from posted_books import PostedBooks  # noqa: PLC0415 (most tests need no service)

    with PostedBooks(tmp_path_factory.mktemp("posted") / "books.db") as posted:
        yield posted


class Distortion:
    """Changes of requests and responses on the way; by default none."""

    def __init__(self, request=None, response=None, date=None, status=None):
        self._change_request, self._change_response, self._date, self._status = request, response, date, status
        self.requests = []

    def forward_request(self, path, params):
        self.requests.append((path, params))
        return self._change_request(path, dict(params)) if self._change_request else params

    def forward_response(self, path, params, response):
        """Return status, date and body to send back."""
        body = response.content
        if self._change_response and response.status_code == 200:
            parsed = json.loads(body, parse_float=Decimal)
            self._change_response(path, params, parsed)
            body = json.dumps(parsed, default=str).encode()
        status = self._status(path, params) if self._status else None
        if status:
            return status, self._date, b'{"message": "refused on purpose"}'
        return response.status_code, self._date, body


@contextmanager
def on_loopback(answer):
    """Serve a handler of httpx requests over real HTTP on 127.0.0.1; the value is the base address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # otherwise responses wait for acknowledgements

        def do_GET(self):
            response = answer(httpx.Request("GET", f"http://127.0.0.1{self.path}", headers=dict(self.headers)))
            try:
                self.send_response_only(response.status_code)
                for name, value in ({"date": self.date_time_string()} | dict(response.headers)).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(response.content)
            except ConnectionError:
                self.close_connection = True  # the client was killed

        def log_message(self, *_):
            """Log nothing."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_):
            """Log nothing: tests kill clients."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def loopback():
    """Return a context manager that serves a handler over real HTTP."""
    return on_loopback


@contextmanager
def forwarded(base_url, distortion):
    """Serve on 127.0.0.1 the responses of another service, distorted; the value is the base address."""

    def answer(request):
        path, params = request.url.path, dict(request.url.params)
        headers = {name: request.headers[name] for name in ("authorization", "service-instance-id")}
        response = upstream.get(path, params=distortion.forward_request(path, params), headers=headers)
        status, date, body = distortion.forward_response(path, params, response)
        sent = {"content-type": "application/json"} | ({"date": date} if date else {})
        return httpx.Response(status, content=body, headers=sent)

    with httpx.Client(base_url=base_url, timeout=30) as upstream, on_loopback(answer) as address:
        yield address


@pytest.fixture(scope="session")
def distortion():
    return Distortion


@pytest.fixture(scope="session")
def forwarding():
    """Return a context manager that serves another service's answers, distorted."""
    return forwarded
