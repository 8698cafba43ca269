"""Administering the books of the embedded service from the command line."""

import json
import signal
import stat
import subprocess
import sys
import time

import httpx
import pytest

from accounting_analytics.service.check import check_books
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


@pytest.fixture
def command(tmp_path):
    """Return a function that runs the command line on one database in an empty folder."""

    def run(*words, status=0):
        words = [*words, "--database", "books.db"]
        done = subprocess.run(  # noqa: S603 (our own)
            [sys.executable, "-m", "accounting_analytics", *words],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        return done

    return run


def secret(path):
    """Return what a secret file holds; only its owner may read it."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text().strip()


def ask(service, instance, token):
    """Return the status of a report asked for with a token."""
    headers = {"authorization": f"Bearer {token}", "service-instance-id": instance}
    return httpx.get(f"{service.base_url}/v0/reports/cash-flow", params=DAYS, headers=headers).status_code


def test_instances(tmp_path, command):
    """An instance is made as asked, listed, and its token opens it; a second of the same id is refused."""
    options = ["--instance", "acme", "--tier", "2", "--scale", "0", "--entries-start", "2025-01-01"]
    made = json.loads(command("instances", "create", *options, "--token-file", "token", "--json").stdout)
    expected = {
        "id": "acme", "name": "books", "tier": 2, "scale": 0, "localtime": "UTC", "entries_start": "2025-01-01",
    }  # fmt: skip
    assert made == [expected]
    refused = command("instances", "create", "--instance", "acme", status=2)
    assert "acme" in refused.stderr
    assert "2025-13-01" in command("instances", "create", "--entries-start", "2025-13-01", status=2).stderr
    assert json.loads(command("instances", "list", "--json").stdout) == [expected]
    assert "acme" in command("instances", "list").stdout
    with running(tmp_path / "books.db") as service:
        assert ask(service, "acme", secret(tmp_path / "token")) == 200


def test_tokens(tmp_path, command):
    """A token is issued into a private file, never shown, listed by its key, and opens nothing once revoked."""
    command("instances", "create", "--instance", "acme")
    said = command("tokens", "issue", "--token-file", "token", "--label", "nightly", "--lifetime", "600")
    token = secret(tmp_path / "token")
    assert token not in said.stdout + said.stderr
    (listed,) = json.loads(command("tokens", "list", "--json").stdout)
    assert (listed["label"], listed["revoked_at"]) == ("nightly", None)
    assert token.startswith(f"{listed['key']}.")
    with running(tmp_path / "books.db") as service:
        assert ask(service, "acme", token) == 200
        command("tokens", "revoke", listed["key"])
        assert ask(service, "acme", token) == 401
    assert "no access token" in command("tokens", "revoke", "nobody", status=2).stderr


def test_a_secret_is_never_written_over_or_lost(tmp_path, command):
    """A file that is there stays as it is, and a token that cannot be kept opens nothing."""
    command("instances", "create")
    (tmp_path / "token").write_text("precious")
    assert "exists already" in command("tokens", "issue", "--token-file", "token", status=2).stderr
    assert (tmp_path / "token").read_text() == "precious"
    assert "there is no folder" in command("tokens", "issue", "--token-file", "no/folder", status=2).stderr
    nowhere = "/proc/token"  # where nobody makes a file
    assert "cannot be written" in command("tokens", "issue", "--token-file", nowhere, status=2).stderr
    assert "cannot be written" in command("clients", "issue", "--secret-file", nowhere, status=2).stderr
    made = command("instances", "create", "--instance", "b", "--token-file", nowhere, status=2).stderr
    assert "instance 'b' was made all the same" in made
    for group in ("tokens", "clients"):
        kept = json.loads(command(group, "list", "--json").stdout)
        assert kept
        assert all(one["revoked_at"] is not None for one in kept)


def test_clients(tmp_path, command):
    """An OAuth client gets tokens with its secret, until it is revoked; then they open nothing either."""
    command("instances", "create", "--instance", "acme")
    client_id = command("clients", "issue", "--secret-file", "secret").stdout.strip()
    credentials = (client_id, secret(tmp_path / "secret"))
    with running(tmp_path / "books.db") as service:

        def token():
            form = {"grant_type": "client_credentials"}
            return httpx.post(f"{service.base_url}/oauth/token", data=form, auth=credentials)

        issued = token().json()["access_token"]
        assert ask(service, "acme", issued) == 200
        command("clients", "revoke", client_id)
        assert ask(service, "acme", issued) == 401
        assert token().status_code == 401


def test_nothing_is_made_by_looking(tmp_path, command):
    """A list in a database that is not there is refused with what to do, and makes none."""
    for group in ("instances", "tokens", "clients"):
        assert "instances create" in command(group, "list", status=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_which_instance_must_be_said_where_there_are_several(command):
    """With two instances a token cannot guess, and the message names them."""
    for name in ("acme", "globex"):
        command("instances", "create", "--instance", name)
    refused = command("tokens", "issue", "--token-file", "token", status=2)
    assert "acme, globex" in refused.stderr
    command("tokens", "issue", "--token-file", "token", "--instance", "globex")
    (listed,) = json.loads(command("tokens", "list", "--instance", "globex", "--json").stdout)
    assert listed["instance_id"] == "globex"
    assert json.loads(command("tokens", "list", "--instance", "acme", "--json").stdout) == []


def test_a_group_alone_shows_its_help():
    """A group without a command shows what it has, and no error."""
    shown = subprocess.run(
        [sys.executable, "-m", "accounting_analytics", "tokens"], capture_output=True, text=True, check=False
    )
    assert "revoke" in shown.stdout
    assert "error" not in shown.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_import_that_is_stopped_says_so(tmp_path, how):
    """Stopped in the middle, an import says so, ends with 5, and leaves nothing half-posted."""
    header = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"
    rows = (f"e{n},2025-01-01,x,assets:bank,debit,1\ne{n},2025-01-01,x,income:sales,credit,1\n" for n in range(200_000))
    (tmp_path / "books.csv").write_text(header + "".join(rows))
    command = [sys.executable, "-m", "accounting_analytics", "import", "books.csv", "--database", "books.db"]
    process = subprocess.Popen([*command, "--cash", "assets:*"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)  # noqa: S603
    while not (tmp_path / "books.db.token").exists():
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (5, "stopped")
    with Store.open(tmp_path / "books.db") as store:
        checked = check_books(store)
    assert (checked.entries, checked.findings) == (0, [])


def test_a_file_that_is_not_there_makes_no_books(tmp_path, command):
    """A misspelt file is refused before a database is made for it."""
    assert "nofile.csv" in command("import", "nofile.csv", status=2).stderr
    assert list(tmp_path.iterdir()) == []
