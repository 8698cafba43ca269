"""The change check: changes at the end of a ledger during a load are found."""

import threading
from contextvars import ContextVar

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import ChangedWhileReadingError
from accounting_analytics.loader.checkpoint import WindowStore
from accounting_analytics.loader.load_request import LoadRequest
from accounting_analytics.loader.whole_load import load_windows
from accounting_analytics.progress import LoadProgress

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


class ChangeCheckHeld:
    """Ledgers whose change check is answered only after the result of the load is being built."""

    def __init__(self, service):
        self.service = service
        self.check_requested, self.build_started = threading.Event(), threading.Event()
        self.timed_out = False

    def __call__(self, request):
        days = request.url.params["start_date"], request.url.params["end_date"]
        if days != MARCH and days[1] == MARCH[1]:
            self.check_requested.set()
            self.wait(self.build_started)
        return self.service(request)

    def wait(self, event):
        self.timed_out |= not event.wait(20)


@pytest.mark.parametrize("change", [None, add])
def test_the_result_is_built_during_the_check(connected, make_ledgers, spread, change):
    """The result of a load is built while the change check waits, and returned only if the check passes."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=500)
    held = ChangeCheckHeld(service)
    client = connected(held)
    setting = ContextVar("setting", default="the default")
    setting.set("the caller's")

    def build(loaded):
        held.wait(held.check_requested)
        if change:
            service.change(change)
        held.build_started.set()
        return sum(one.lines for one in loaded.windows), setting.get()

    def load():
        options = {"expand": ["journal_entry"], "consistency": "newest", "checkpoint": None, "in_flight": 1}
        request = LoadRequest.from_arguments(client, ["led_1"], *MARCH, None, **options)
        with LoadProgress(progress=False, remaining=lambda: None) as progress:
            return load_windows(request, WindowStore(), progress, build)

    if change is None:
        assert load() == (len(service.lines), "the caller's")
    else:
        with pytest.raises(ChangedWhileReadingError):
            load()
    assert not held.timed_out
