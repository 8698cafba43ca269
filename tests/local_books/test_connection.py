"""Connecting to local books: by name, by the setting, never silently in place of a service; a notebook on them."""

import datetime as dt
import json
from pathlib import Path

import msgspec
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import ConfigurationError, InputError
from accounting_analytics.local_books.version_reader import VersionReader


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """Return a function that sets the environment and the default profile, and nothing else."""
    for name in ("BASE_URL", "INSTANCE_ID", "TOKEN", "BOOKS", "PROFILE"):
        monkeypatch.delenv(f"ACCOUNTING_ANALYTICS_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "accounting-analytics" / "config.toml"

    def configure(environment=(), profile=()):
        for name, value in dict(environment).items():
            monkeypatch.setenv(f"ACCOUNTING_ANALYTICS_{name}", str(value))
        file.parent.mkdir(exist_ok=True)
        settings = "".join(f'{name} = "{value}"\n' for name, value in dict(profile).items())
        file.write_text(f"[default]\n{settings}", encoding="utf-8")
        file.chmod(0o600)

    return configure


SERVICE = {"base_url": "http://127.0.0.1:9", "instance_id": "ins_1", "token": "secret"}


@pytest.mark.long
def test_named_folder_is_loaded_like_a_client(demo_books, demo_company):
    books = aa.LocalBooks.open(demo_books)
    assert isinstance(books, aa.LocalBooks)
    assert books.instance_id == demo_company.instance_id
    assert aa.check_completeness(aa.load_books(books, "2025-02")).complete


def test_folder_without_books_names_the_sync_command(configured, tmp_path):
    configured({"BOOKS": tmp_path / "none"})
    with pytest.raises(InputError, match=r"none has no local books yet; .*: accounting-analytics sync --books .*none$"):
        aa.connect()
    assert not (tmp_path / "none").exists()
    configured({"BOOKS": __file__})
    with pytest.raises(InputError, match="is a file; local books are in a folder"):
        aa.connect()


def test_setting_names_books_without_a_service(configured, demo_books):
    configured({"BOOKS": demo_books})
    assert aa.connect().folder == demo_books
    configured({"BOOKS": ""}, {"books": demo_books})
    assert aa.connect().folder == demo_books


@pytest.mark.parametrize("where", ["environment", "profile"])
def test_a_configured_service_comes_first(configured, demo_books, where):
    upper = {name.upper(): value for name, value in SERVICE.items()}
    if where == "environment":
        configured(upper | {"BOOKS": demo_books}, {"books": demo_books})
    else:
        configured({}, SERVICE | {"books": demo_books})
    assert isinstance(aa.connect(), aa.LedgerClient)


def test_environment_wins_over_profile_for_books_too(configured, demo_books):
    configured({"BOOKS": demo_books}, SERVICE)
    assert isinstance(aa.connect(), aa.LocalBooks)
    assert isinstance(aa.connect(time_zone="UTC"), aa.LedgerClient)


def test_nothing_configured_has_the_message_of_the_service(configured):
    configured()
    with pytest.raises(ConfigurationError, match="no Ledger Accounting Service is configured"):
        aa.connect()


def test_books_have_summary_text_json_html_and_frame(demo_books):
    books = aa.LocalBooks.open(demo_books)
    assert books.summary() in books.explain()
    assert "all 3 months agree with the service's cash flow reports" in books.summary()
    assert json.loads(books.to_json())["instance_id"] == books.instance_id
    assert "2025-02" in books._repr_html_()
    assert list(books.frame["version"]) == [0]


def test_months_without_lines_agree_with_nothing(demo_company, tmp_path):
    """The demo ends in June: a month after it is compared, and is not counted as one that agrees."""
    days = {"start_date": "2026-05-01", "end_date": "2026-07-31", "months_a_night": 0, "progress": False}
    result = aa.LocalBooks.open(tmp_path / "books").sync(demo_company.client, **days)
    assert result.verdict == "all 2 months with lines agree with the service's cash flow reports"
    assert result.months["ties"].tolist() == [True] * 3


NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "scheduled_report.ipynb"
FEBRUARY = {"start_date": "2025-02-01", "end_date": "2025-02-28"}
DECEMBER = {"start_date": "2025-12-01", "end_date": "2025-12-31"}


@pytest.fixture
def run_cells(monkeypatch, demo_books):
    """Return a function that runs the code of the notebook where only local books are configured.

    It returns the names of the notebook, and what it displays.
    """
    for name in ("BASE_URL", "INSTANCE_ID", "TOKEN", "PROFILE"):
        monkeypatch.delenv(f"ACCOUNTING_ANALYTICS_{name}", raising=False)

    def run(folder=demo_books, parameters=FEBRUARY):
        monkeypatch.setenv("ACCOUNTING_ANALYTICS_BOOKS", str(folder))
        displayed = []
        names = {"display": displayed.append}
        for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)  # noqa: S102 (our own notebook)
                names |= parameters
        return names, displayed

    return run


def test_notebook_report_has_figures_and_proofs_of_months(run_cells, capsys):
    names, displayed = run_cells()
    assert isinstance(names["client"], aa.LocalBooks)
    pack = names["pack"]
    assert pack.certificate.complete
    assert pack.proven
    when = f"{names['client'].synced_at:%Y-%m-%d %H:%M} UTC"
    assert pack.compared["2025-02"].verdict == f"every month agreed with the service's report, the last at {when}"
    report = names["client"].report(names["books"].period)
    assert pack["cash_flow:net_cash_flow|2025-02"].exact() == report.exact().net_cash_flow
    assert "No closed month was changed." in capsys.readouterr().out
    assert displayed == []


def test_the_report_shows_what_was_changed_in_a_closed_month(run_cells, serve, tmp_path, capsys):
    local = aa.LocalBooks.open(tmp_path / "books")
    with serve(500, dt.date(2025, 10, 1)) as service:
        days = {"start_date": service.first, "end_date": "2025-12-31", "months_a_night": 0}
        local.sync(service.client, **days)
        local.close(aa.Period("2025-10-01", "2025-10-31", "America/New_York"))
        service.execute(
            "UPDATE line_entries SET units = 2 * units WHERE journal_entry_pk = "
            "(SELECT min(pk) FROM journal_entries WHERE cash_ledger_pk IS NOT NULL AND datetime < ?)",
            1_000_000 * int(dt.datetime(2025, 10, 25, tzinfo=dt.UTC).timestamp()),
        )
        assert len(local.sync(service.client, **days).alarms) == 1
    _, (drift,) = run_cells(local.folder, DECEMBER)
    assert "Oct 2025 changed since it was closed on " in capsys.readouterr().out
    assert drift.months == ["2025-10"]
    assert set(drift.frame["kind"]) == {"amended"}


def test_month_that_does_not_agree_fails_by_its_name(run_cells, monkeypatch):
    version = VersionReader._version.fget

    def differing(books):
        months = version(books).months
        other = msgspec.structs.replace(months["2025-02"], problem="2 differences")
        return msgspec.structs.replace(version(books), months=months | {"2025-02": other})

    monkeypatch.setattr(VersionReader, "_version", property(differing))
    with pytest.raises(aa.errors.BooksDoNotTieError, match=r"2025-02: The service's report does not agree .*2 diff"):
        run_cells()
