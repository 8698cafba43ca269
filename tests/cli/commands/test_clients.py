"""OAuth clients of the embedded service from the command line."""

import httpx

from accounting_analytics.service.web.server import running


def test_issue_and_revoke(tmp_path, run_on_books, read_secret, request_report):
    """An OAuth client gets tokens with its secret until it is revoked; then its tokens are refused too."""
    run_on_books("instances", "create", "--instance", "acme")
    client_id = run_on_books("clients", "issue", "--secret-file", "secret").stdout.strip()
    credentials = (client_id, read_secret(tmp_path / "secret"))
    with running(tmp_path / "books.db") as service:

        def request_token():
            form = {"grant_type": "client_credentials"}
            return httpx.post(f"{service.base_url}/oauth/token", data=form, auth=credentials)

        token = request_token().json()["access_token"]
        assert request_report(service, "acme", token) == 200
        run_on_books("clients", "revoke", client_id)
        assert request_report(service, "acme", token) == 401
        assert request_token().status_code == 401
