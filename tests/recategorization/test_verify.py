"""Verifying a plan: what the books and the journal show about items whose category is unchanged."""

import json

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import PlanError

HOUR_AGO = "2025-03-10T12:00:00+00:00"


@pytest.fixture
def write_journal(books, build, tmp_path):
    """Return a function that writes a journal with events at a given time."""

    def write(plan, *names, at=HOUR_AGO):
        header = {"event": "plan", "at": HOUR_AGO, "format": 1, "plan_id": plan.plan_id, "instance_id": books.instance}
        names_of_change = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
        identity = plan.frame.loc[0, names_of_change].to_dict()
        events = [header, *({"event": name, "at": at, **identity} for name in names)]
        path = tmp_path / "written"
        path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
        build.rewrite(path, lambda event: event)
        return path

    return write


@pytest.mark.parametrize(
    ("names", "at", "outcome"),
    [
        ((), HOUR_AGO, "not_done"),
        (("intent",), HOUR_AGO, "not_done"),
        (("intent", "unknown"), HOUR_AGO, "not_done"),
        (("intent",), "2999-01-01T00:00:00+00:00", "unknown"),
        (("intent", "unknown"), "2999-01-01T00:00:00+00:00", "unknown"),
        (("intent", "answer"), "2999-01-01T00:00:00+00:00", "unknown"),
        (("intent", "refused"), "2999-01-01T00:00:00+00:00", "not_done"),
        (("intent", "not_done"), "2999-01-01T00:00:00+00:00", "not_done"),
        (("intent", "intent", "refused"), "2999-01-01T00:00:00+00:00", "unknown"),
    ],
)
def test_unchanged_item(books, many, write_journal, *, names, at, outcome):
    """An unchanged item is not done if its last attempt was a minute ago or refused, and unknown otherwise."""
    plan = many(1)
    frame = aa.verify_plan(books.client, plan, journal=write_journal(plan, *names, at=at))
    assert frame["outcome"].tolist() == [outcome]
    assert frame["reason"].iloc[0].startswith("the category is unchanged")


def test_attempt_of_a_moment_ago(books, build, many, tmp_path):
    """Right after a run whose responses were lost, its items are unknown."""
    plan = many(2)
    with books.connected(build.Faulty(on_put=lambda *_: "lost before")) as client:
        aa.apply_plan(client, plan, journal=tmp_path / "journal", confirm=True)
        frame = aa.verify_plan(client, plan, journal=tmp_path / "journal")
    assert set(frame["outcome"]) == {"unknown"}
    assert frame["reason"].str.contains("sent less than 60 seconds before may still be carried out").all()


def test_without_journal(books, many):
    """Without the journal it is not known whether a change was sent, and the reason says so."""
    frame = aa.verify_plan(books.client, many(1))
    assert frame["outcome"].tolist() == ["unknown"]
    assert "without the journal" in frame["reason"].iloc[0]


def test_unusable_journal_is_refused(books, many, write_journal, tmp_path):
    """A journal that does not exist, or belongs to another plan, is refused, and nothing is created."""
    plan = many(2)
    with pytest.raises(PlanError, match="does not exist or is empty"):
        aa.verify_plan(books.client, plan, journal=tmp_path / "nowhere")
    with pytest.raises(PlanError, match="belongs to another plan"):
        aa.verify_plan(books.client, aa.Plan(plan.frame[:1]), journal=write_journal(plan))
    assert [path.name for path in tmp_path.iterdir() if "nowhere" in path.name] == []
