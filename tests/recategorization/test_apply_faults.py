"""Lost responses, refusals, rate limits and service failures: outcomes match the books, each change is made once."""

import collections

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.recategorization import apply

IN_BOOKS = {"done", "already_done"}


def recategorized(books, plan):
    found = set()
    lines = books.client.iter_line_entries(books.bank, "2025-03-01", "2025-12-31", expand=["opposing_ledger_ids"])
    now = {line.transaction_id: line.opposing_ledger_ids for line in lines}
    for item in plan.items:
        if item.updated_category_ledger_id in now[item.transaction_id]:
            found.add(item.transaction_id)
    return found


def changes(books):
    return collections.Counter(row["transaction_id"] for row in books.audit())


@pytest.mark.parametrize("answer", [409, 422, 404, 429, 503])
def test_refusal_after_a_lost_response_is_unknown(company_books, build, many, tmp_path, answer):
    """A refusal does not show that an earlier attempt, whose response was lost, will not be carried out."""
    plan = many(1)
    transport = build.Faulty(on_put=lambda count, _: "late" if count == 1 else answer)
    with company_books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
        assert frame["outcome"].tolist() == ["unknown"]
        assert "may still be carried out" in frame["reason"].iloc[0]
        assert str(answer) in frame["reason"].iloc[0]
        transport.carry_out_late()
        assert aa.verify_plan(client, plan, journal=tmp_path / "journal")["outcome"].tolist() == ["done"]


def test_item_that_is_sent_again_says_so(company_books, build, plan, tmp_path):
    with company_books.connected(build.Faulty(on_put=build.only(3, "lost before"))) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"done"}
    (reason,) = frame.loc[frame["reason"] != "", "reason"]
    assert reason == "sent again: a response was lost, and the books did not show the change"
    assert set(changes(company_books).values()) == {1}


@pytest.mark.parametrize("faults", [[None], ["lost after"], ["lost before", 409]])
def test_change_of_an_unlisted_transaction_is_unknown(company_books, build, many, tmp_path, faults):
    plan, journal, left = many(1), tmp_path / "journal", [*faults]
    nothing = {"records": [], "next_page_token": None, "prev_page_token": None}

    def hide(_count, request):
        is_listing = request.url.path.endswith(f"/{company_books.bank}/line-entries")
        return httpx.Response(200, json=nothing) if is_listing and not left else None

    with company_books.connected(build.Faulty(on_put=lambda *_: left.pop(0), on_get=hide)) as client:
        frame = aa.apply_plan(client, plan, journal=journal, confirm=True)
        assert "has no transaction txn_10 on 2025-03-10 (UTC)" in frame["reason"].iloc[0]
        verified = aa.verify_plan(client, plan, journal=journal)
        resumed = aa.apply_plan(client, plan, journal=journal, confirm=True)
    for found in (frame, verified, resumed):
        assert found["outcome"].tolist() == ["unknown"]
    assert len(company_books.audit()) == (faults[0] != "lost before")


def test_unreadable_books_after_sending_are_reported(company_books, build, plan, tmp_path):
    transport = build.Faulty(on_put=build.only(2, "lost after"))
    transport._faults["GET"] = lambda *_: 503 if transport.puts else None
    with company_books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert sorted(frame["outcome"]) == ["done", "done", "done", "unknown"]
    assert frame["reason"].str.contains("not read back").all()
    again = aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(again["outcome"]) == {"already_done"}
    assert set(changes(company_books).values()) == {1}


@pytest.fixture
def small_batches(monkeypatch):
    """Let a batch be 20 items, so that a few items are several batches."""
    monkeypatch.setattr(apply, "_BATCH_SIZE", 20)


@pytest.mark.usefixtures("small_batches")
def test_unavailable_service_stops_the_run(company_books, build, many, tmp_path):
    plan = many(50)
    transport = build.Faulty(on_get=lambda *_: "lost before" if transport.puts >= 20 else None)
    with company_books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert transport.puts == 20
    assert collections.Counter(frame["outcome"]) == {"done": 20, "not_done": 30}
    assert frame.loc[frame["outcome"] == "not_done", "reason"].str.startswith("not sent: ").all()
    assert set(aa.apply_plan(company_books.client, plan, journal=tmp_path / "journal", confirm=True)["outcome"]) == {
        "done", "already_done",
    }  # fmt: skip
    assert set(changes(company_books).values()) == {1}


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("fault", ["lost before", 408, 503, 429, 507])
def test_run_stops_if_every_change_fails(company_books, build, many, tmp_path, fault):
    plan = many(50)
    transport = build.Faulty(on_put=lambda *_: fault)
    with company_books.connected(transport) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    sent = {event["transaction_id"] for event in build.events(tmp_path / "journal") if event["event"] == "intent"}
    found = build.outcomes(frame)
    unchanged = fault in {429, 507}  # the service has certainly changed nothing
    assert {one for one, outcome in found.items() if outcome == "unknown"} == (set() if unchanged else sent)
    assert set(found.values()) == {"not_done"} | (set() if unchanged else {"unknown"})
    assert frame.loc[~frame["transaction_id"].isin(sent), "reason"].str.contains(str(fault), regex=False).all()
    assert transport.puts <= 30
    assert company_books.audit() == []


def test_failing_items_do_not_stop_the_rest(company_books, build, many, tmp_path):
    plan = many(24)
    failing = {f"txn_{number}" for number in range(10, 22)}

    def broken(_count, request):
        return 503 if request.url.path.split("/")[-2] in failing else None

    with company_books.connected(build.Faulty(on_put=broken)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert {one for one, outcome in build.outcomes(frame).items() if outcome == "unknown"} == failing
    assert collections.Counter(frame["outcome"]) == {"done": 12, "unknown": 12}


def test_rate_limit_is_waited_for(company_books, build, many, tmp_path):
    plan = many(40)
    state = {"left": 15}

    def limited(_count, _request):
        if not state["left"]:
            return 429
        state["left"] -= 1
        return None

    def refill(_count, _request):
        state["left"] = 15

    with company_books.connected(build.Faulty(on_put=limited, on_get=refill)) as client:
        frame = aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(frame["outcome"]) == {"done"}
    assert set(changes(company_books).values()) == {1}


def test_late_request_of_a_change_that_was_made(company_books, build, many, tmp_path):
    """While a request may still make a change again it is not undone, and unknown if another user took it back."""
    plan, journal = many(1), tmp_path / "journal"
    with company_books.connected(build.Faulty(on_put=build.only(1, "late"))) as client:
        sent = aa.apply_plan(client, plan, journal=journal, confirm=True)
        assert sent["outcome"].tolist() == ["done"]  # by the second request
        (item,) = aa.undo_plan(client, journal).left_out
        client.recategorize_transaction(
            item.ledger_id,
            item.transaction_id,
            updated_category_ledger_id=item.category_ledger_id,
            category_ledger_id=item.updated_category_ledger_id,
        )
        assert aa.apply_plan(client, plan, journal=journal)["outcome"].tolist() == ["unknown"]
    build.rewrite(journal, build.a_minute_ago)
    assert len(aa.undo_plan(company_books.client, journal)) == 1
