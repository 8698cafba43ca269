"""Instances, tokens, ledgers and the audit log of the embedded service from the command line."""

import httpx

from accounting_analytics.service.server import running


def report_status(database, instance, token):
    headers = {"authorization": f"Bearer {token}", "service-instance-id": instance}
    params = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
    with running(database) as service:
        return httpx.get(f"{service.base_url}/v0/reports/cash-flow", params=params, headers=headers).status_code


def read_secret(path):
    """Read a secret file, and check that only its owner may read it."""
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text().strip()


def test_instance_is_created_listed_and_reached_by_its_token(tmp_path, run_on_books):
    options = ["--instance", "acme", "--tier", "2", "--scale", "0", "--entries-start", "2025-01-01"]
    options += ["--time-zone", "Asia/Tokyo", "--company", "Acme Ltd", "--currency", "JPY"]
    created = run_on_books("service", "instances", "create", *options, "--token-file", "token", "--json").content
    expected = {
        "id": "acme", "name": "books", "tier": 2, "scale": 0, "localtime": "Asia/Tokyo", "entries_start": "2025-01-01",
        "company": "Acme Ltd", "currency": "JPY",
    }  # fmt: skip
    assert created == [expected]
    refused = run_on_books("service", "instances", "create", "--instance", "acme", code=2)
    assert "acme" in refused.stderr
    assert (
        "2025-13-01" in run_on_books("service", "instances", "create", "--entries-start", "2025-13-01", code=2).stderr
    )
    assert run_on_books("service", "instances", "list", "--json").content == [expected]
    assert "acme" in run_on_books("service", "instances", "list").stdout
    assert report_status(tmp_path / "books.db", "acme", read_secret(tmp_path / "token")) == 200
    run_on_books("service", "instances", "create", "--instance", "other")
    changed = run_on_books("service", "instances", "set-tier", "--instance", "acme", "--tier", "1")
    assert "instance acme has tier 1" in changed.stderr
    listed = run_on_books("service", "instances", "list", "--json").content
    assert [(instance["id"], instance["tier"]) for instance in listed] == [("acme", 1), ("other", 3)]


def test_lists_create_no_database(tmp_path, run_on_books):
    for group in ("instances", "tokens"):
        assert "instances create" in run_on_books("service", group, "list", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_token_is_issued_privately_listed_and_revoked(tmp_path, run_on_books):
    run_on_books("service", "instances", "create", "--instance", "acme")
    issued = run_on_books("service", "tokens", "issue", "--token-file", "token")
    token = read_secret(tmp_path / "token")
    assert token not in issued.stdout + issued.stderr
    (row,) = run_on_books("service", "tokens", "list", "--json").content
    assert row["revoked_at"] is None
    assert token.startswith(f"{row['key']}.")
    assert report_status(tmp_path / "books.db", "acme", token) == 200
    run_on_books("service", "tokens", "revoke", row["key"])
    assert report_status(tmp_path / "books.db", "acme", token) == 401
    assert "no access token" in run_on_books("service", "tokens", "revoke", "unknown", code=2).stderr


def test_a_secret_is_never_overwritten_or_lost(tmp_path, run_on_books):
    run_on_books("service", "instances", "create")
    (tmp_path / "token").write_text("precious")
    assert "exists already" in run_on_books("service", "tokens", "issue", "--token-file", "token", code=2).stderr
    assert (tmp_path / "token").read_text() == "precious"
    assert (
        "there is no folder" in run_on_books("service", "tokens", "issue", "--token-file", "no/folder", code=2).stderr
    )
    unwritable = "/proc/token"  # no process can create files there
    assert "cannot be written" in run_on_books("service", "tokens", "issue", "--token-file", unwritable, code=2).stderr
    created = run_on_books(
        "service", "instances", "create", "--instance", "b", "--token-file", unwritable, code=2
    ).stderr
    assert "cannot be written" in created
    assert "nothing was issued" in created
    assert "b" not in [one["id"] for one in run_on_books("service", "instances", "list", "--json").content]
    assert run_on_books("service", "tokens", "list", "--json").content == []


def test_several_instances_need_the_option(run_on_books):
    for name in ("acme", "globex"):
        run_on_books("service", "instances", "create", "--instance", name)
    refused = run_on_books("service", "tokens", "issue", "--token-file", "token", code=2)
    assert "(--instance): acme, globex" in refused.stderr
    run_on_books("service", "tokens", "issue", "--token-file", "token", "--instance", "globex")
    (row,) = run_on_books("service", "tokens", "list", "--instance", "globex", "--json").content
    assert row["instance_id"] == "globex"
    assert run_on_books("service", "tokens", "list", "--instance", "acme", "--json").content == []


def test_a_group_alone_prints_its_help(run):
    printed = run("service", "tokens")
    assert "revoke" in printed.stdout
    assert "error" not in printed.stderr


def test_ledgers_are_listed_and_renamed(run_on_books):
    run_on_books("service", "instances", "create")
    old, new = "Uncategorized Cash Outflow", "Ask the owner"
    renamed = run_on_books("service", "ledgers", "rename", old, new, "--modified-by", "Ada")
    listed = run_on_books("service", "ledgers", "list", "--json").content
    (ledger,) = [ledger for ledger in listed if ledger["name"] == new]
    assert (ledger["path"], ledger["is_required"], ledger["sort_code"]) == (new, True, "10003")
    assert renamed.stderr.strip() == f"ledger {ledger['id']}: '{old}' is now '{new}'"
    assert new in run_on_books("service", "ledgers", "list").stdout
    assert "ledgers list" in run_on_books("service", "ledgers", "rename", "nobody", "x", code=2).stderr


def test_audit_lists_new_names_newest_first(run_on_books):
    run_on_books("service", "instances", "create")
    for old, new in (("Uncategorized Cash Outflow", "Costs"), ("Costs", "Ask the owner")):
        run_on_books("service", "ledgers", "rename", old, new, "--modified-by", "Ada")
    listed = run_on_books("service", "audit", "--json").content
    assert [(row["before_names"], row["after_names"], row["modified_by"]) for row in listed] == [
        ("Costs", "Ask the owner", "Ada"),
        ("Uncategorized Cash Outflow", "Costs", "Ada"),
        ("", "4 ledgers", None),
    ]
    assert [(row["actor"], row["operation"]) for row in listed] == [
        ("local", "rename_ledger"),
        ("local", "rename_ledger"),
        ("local", "create_ledger"),
    ]
    limited = run_on_books("service", "audit", "--limit", "1")
    assert "Ask the owner" in limited.stdout
    assert "the newest 1 of 3 changes" in limited.stderr
