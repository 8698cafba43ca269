"""Access tokens of the embedded service from the command line."""

import json

from accounting_analytics.service.server import running


def test_issue_list_revoke(tmp_path, run_on_books, read_secret, request_report):
    """A token is issued into a private file, never printed, listed by its key, and refused once revoked."""
    run_on_books("instances", "create", "--instance", "acme")
    issued = run_on_books("tokens", "issue", "--token-file", "token", "--label", "nightly", "--lifetime", "600")
    token = read_secret(tmp_path / "token")
    assert token not in issued.stdout + issued.stderr
    (row,) = json.loads(run_on_books("tokens", "list", "--json").stdout)
    assert (row["label"], row["revoked_at"]) == ("nightly", None)
    assert token.startswith(f"{row['key']}.")
    with running(tmp_path / "books.db") as service:
        assert request_report(service, "acme", token) == 200
        run_on_books("tokens", "revoke", row["key"])
        assert request_report(service, "acme", token) == 401
    assert "no access token" in run_on_books("tokens", "revoke", "unknown", code=2).stderr


def test_a_secret_is_never_overwritten_or_lost(tmp_path, run_on_books):
    """An existing file stays as it is, and a secret that cannot be saved is not issued."""
    run_on_books("instances", "create")
    (tmp_path / "token").write_text("precious")
    assert "exists already" in run_on_books("tokens", "issue", "--token-file", "token", code=2).stderr
    assert (tmp_path / "token").read_text() == "precious"
    assert "there is no folder" in run_on_books("tokens", "issue", "--token-file", "no/folder", code=2).stderr
    unwritable = "/proc/token"  # no process can create files there
    assert "cannot be written" in run_on_books("tokens", "issue", "--token-file", unwritable, code=2).stderr
    created = run_on_books("instances", "create", "--instance", "b", "--token-file", unwritable, code=2).stderr
    assert "cannot be written" in created
    assert "nothing was issued" in created
    assert "b" not in [one["id"] for one in json.loads(run_on_books("instances", "list", "--json").stdout)]
    assert json.loads(run_on_books("tokens", "list", "--json").stdout) == []


def test_several_instances_need_the_option(run_on_books):
    """With two instances a token needs --instance, and the message names both."""
    for name in ("acme", "globex"):
        run_on_books("instances", "create", "--instance", name)
    refused = run_on_books("tokens", "issue", "--token-file", "token", code=2)
    assert "(--instance): acme, globex" in refused.stderr
    run_on_books("tokens", "issue", "--token-file", "token", "--instance", "globex")
    (row,) = json.loads(run_on_books("tokens", "list", "--instance", "globex", "--json").stdout)
    assert row["instance_id"] == "globex"
    assert json.loads(run_on_books("tokens", "list", "--instance", "acme", "--json").stdout) == []


def test_a_group_alone_prints_its_help(run):
    """A group without a command prints its commands, and no error."""
    printed = run("tokens")
    assert "revoke" in printed.stdout
    assert "error" not in printed.stderr
