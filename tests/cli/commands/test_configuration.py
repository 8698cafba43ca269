"""The configuration in effect, and the doctor, on the command line."""

import re


def test_profile_file(run, tmp_path):
    """`config show` prints which file profiles are read from, and whether it exists."""
    assert run("config", "show").stderr.endswith("config.toml, which does not exist\n")
    file = tmp_path / "config" / "accounting-analytics" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[sandbox]\nbase_url = "http://127.0.0.1:8080"\nfiscal_year_start_month = 7\n')
    finished = run("config", "show", "--profile", "sandbox")
    assert f"profile 'sandbox' of {file}\n" in finished.stderr
    assert "http://127.0.0.1:8080" in finished.stdout
    assert re.search(r"fiscal_year_start_month +7 +profile 'sandbox'", finished.stdout)


def test_a_password_in_an_address_is_masked(run, assert_refused):
    """A password in the base address is refused, and not repeated."""
    environment = {"INSTANCE_ID": "i", "TOKEN": "t", "BASE_URL": "http://ana:canary@127.0.0.1:1"}
    environment = {f"ACCOUNTING_ANALYTICS_{name}": value for name, value in environment.items()}
    finished = run("report", "--start-date", "2025-03-01", "--end-date", "2025-03-31", **environment, code=2)
    assert_refused(finished, "base_url must not contain a user name or password")
    shown = run("config", "show", **environment)
    assert "http://***@127.0.0.1:1" in shown.stdout
    assert "canary" not in finished.stderr + shown.stdout + shown.stderr


def test_failures_have_exit_codes(run, demo_company):
    """Without configuration the doctor exits with 2, with a wrong token with 4; findings are on stdout."""
    finished = run("doctor", code=2)
    assert "failed       configuration" in finished.stdout
    assert finished.stderr.startswith("error: 1 check failed: configuration")
    unauthorized = run("doctor", **demo_company.environment() | {"ACCOUNTING_ANALYTICS_TOKEN": "not-the-token"}, code=4)
    assert "failed       authentication" in unauthorized.stdout
    assert "not-the-token" not in unauthorized.stdout + unauthorized.stderr
    assert "Traceback" not in finished.stderr + unauthorized.stderr
