"""Instances of the embedded service from the command line."""

import json

from accounting_analytics.service.server import running


def test_create_and_list(tmp_path, run_on_books, read_secret, request_report):
    """An instance has the given options, is listed, and its token gives access; a second of the same id is refused."""
    options = ["--instance", "acme", "--tier", "2", "--scale", "0", "--entries-start", "2025-01-01"]
    created = json.loads(run_on_books("instances", "create", *options, "--token-file", "token", "--json").stdout)
    expected = {
        "id": "acme", "name": "books", "tier": 2, "scale": 0, "localtime": "UTC", "entries_start": "2025-01-01",
    }  # fmt: skip
    assert created == [expected]
    refused = run_on_books("instances", "create", "--instance", "acme", code=2)
    assert "acme" in refused.stderr
    assert "2025-13-01" in run_on_books("instances", "create", "--entries-start", "2025-13-01", code=2).stderr
    assert json.loads(run_on_books("instances", "list", "--json").stdout) == [expected]
    assert "acme" in run_on_books("instances", "list").stdout
    with running(tmp_path / "books.db") as service:
        assert request_report(service, "acme", read_secret(tmp_path / "token")) == 200


def test_lists_create_no_database(tmp_path, run_on_books):
    """A list of a database that does not exist is refused with the command to create one, and creates none."""
    for group in ("instances", "tokens"):
        assert "instances create" in run_on_books(group, "list", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_set_tier(run_on_books):
    """The tier of the named instance is changed."""
    for name in ("kept", "acme"):
        run_on_books("instances", "create", "--instance", name)
    changed = run_on_books("instances", "set-tier", "--instance", "acme", "--tier", "1")
    assert "instance acme has tier 1" in changed.stderr
    listed = json.loads(run_on_books("instances", "list", "--json").stdout)
    assert [(instance["id"], instance["tier"]) for instance in listed] == [("kept", 3), ("acme", 1)]
