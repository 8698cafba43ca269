"""The change check: changes at the end of a ledger during a load are found."""

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import ChangedWhileReadingError

MARCH = ("2025-03-01", "2025-03-31")
DAYS = [f"2025-03-{day:02}" for day in range(1, 32)]


def change_after(service, change, pages):
    """Return a handler that changes the books after so many pages."""

    def answer(request):
        if service.requests == pages:
            service.change(change)
        return service(request)

    return answer


def add(lines):
    """Post one line at the end."""
    lines.append(lines[-1] | {"id": "lin_new"})


def remove(lines):
    """Delete the newest line."""
    lines.pop()


def amend(lines):
    """Change the newest line."""
    lines[-1] = lines[-1] | {"amount": "0.01"}


@pytest.mark.parametrize("change", [add, remove, amend])
def test_changes_at_the_end_of_a_ledger_are_found(connected, make_ledgers, spread, change):
    """A line that is added, removed or changed at the end of a ledger during the load is named."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=500)
    client = connected(change_after(service, change, pages=3))
    with pytest.raises(ChangedWhileReadingError, match=r"led_1 changed during the load: 1 line.*lin_.*load again"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(aa.load_line_entries(client, ["led_1"], *MARCH)) == len(service.lines)
