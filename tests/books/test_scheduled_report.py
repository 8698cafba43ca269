"""The notebook of the scheduled report on local books."""

import json
from pathlib import Path

import msgspec
import pytest

import accounting_analytics as aa
from accounting_analytics.books.reading import VersionReader

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "scheduled_report.ipynb"
PARAMETERS = {"start_date": "2025-02-01", "end_date": "2025-02-28"}


@pytest.fixture
def run_cells(monkeypatch, demo_books):
    """Return a function that runs the code of the notebook where only local books are configured."""
    for name in ("BASE_URL", "INSTANCE_ID", "TOKEN", "PROFILE"):
        monkeypatch.delenv(f"ACCOUNTING_ANALYTICS_{name}", raising=False)
    monkeypatch.setenv("ACCOUNTING_ANALYTICS_BOOKS", str(demo_books))

    def run():
        names = {}
        for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)  # noqa: S102 (our own notebook)
                names |= PARAMETERS
        return names

    return run


def test_the_report_of_local_books(run_cells):
    """It has the figures of the books, and what the last sync proved of each month."""
    names = run_cells()
    assert isinstance(names["client"], aa.Books)
    pack = names["pack"]
    assert pack.certificate.complete
    assert pack.proven
    when = f"{names['client'].synced_at:%Y-%m-%d %H:%M} UTC"
    assert pack.compared["2025-02"].verdict == f"every month agreed with the service's report, the last at {when}"
    report = names["client"].report(names["period"])
    assert pack["cash_flow:net_cash_flow|2025-02"].exact() == report.exact_sums().net_cash_flow


def test_a_month_that_does_not_agree(run_cells, monkeypatch):
    """It fails as on the service, and names the month."""
    version = VersionReader._version.fget

    def differing(books):
        months = version(books).months
        other = msgspec.structs.replace(months["2025-02"], problem="2 differences")
        return msgspec.structs.replace(version(books), months=months | {"2025-02": other})

    monkeypatch.setattr(VersionReader, "_version", property(differing))
    with pytest.raises(aa.errors.BooksDoNotTieError, match=r"2025-02: The service's report does not agree .*2 diff"):
        run_cells()
