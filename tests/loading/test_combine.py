"""Combined loads: each line once, what differs is refused or stated, and gaps stay gaps."""

import httpx
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import ChangedWhileReadingError, FrameError, IncompleteLoadError, InputError

DAYS = [f"2025-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
JANUARY, FEBRUARY, MARCH = ("2025-01-01", "2025-01-31"), ("2025-02-01", "2025-02-28"), ("2025-03-01", "2025-03-31")
QUARTER = (JANUARY[0], MARCH[1])
LEDGERS = ["led_1", "led_2"]


@pytest.fixture
def books(make_ledgers, spread):
    """Return two ledgers of a quarter, ten lines a day in one and one in the other."""
    return make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 10), "led_2": dict.fromkeys(DAYS, 1)}), page_size=100)


@pytest.fixture
def load(connected, books):
    """Return a function that loads days of the two ledgers."""

    def load(days, ledger_ids=LEDGERS, *, options=(), **arguments):
        return aa.load_line_entries(connected(books, **dict(options)), ledger_ids, *days, **arguments)

    return load


@pytest.mark.parametrize("amounts", ["float64", "decimal"])
@pytest.mark.parametrize(
    "parts",
    [
        [JANUARY, FEBRUARY, MARCH],
        [MARCH, JANUARY, FEBRUARY],
        [QUARTER],
        [(JANUARY[0], "2025-02-20"), ("2025-02-10", MARCH[1])],
        [QUARTER, FEBRUARY, QUARTER],
    ],
    ids=["touching", "in another order", "one", "overlapping", "repeated"],
)
def test_parts_are_the_whole(load, parts, amounts):
    """Loads that touch or overlap, in any order, are the frame of one load, and state what it states."""
    options = {"amounts": amounts}
    whole = load(QUARTER, options=options)
    combined = aa.combine_loads([load(part, options=options) for part in parts])
    pd.testing.assert_frame_equal(combined, whole)
    metadata, expected = combined.attrs["load"], whole.attrs["load"]
    for name in ("base_url", "instance_id", "start_date", "end_date", "time_zone", "scale", "filters", "complete"):
        assert metadata[name] == expected[name], name
    assert metadata["ledgers"] == dict.fromkeys(LEDGERS, "2025-01-01/2025-03-31")
    assert (metadata["lines"], metadata["missing"], metadata["gaps"]) == (len(whole), {}, {})
    assert combined.attrs["scale"] == 2
    assert aa.check_completeness(combined).checks[:-2] == aa.check_completeness(whole).checks[:-2]


@pytest.mark.parametrize("name", ["id", "ledger_id", "datetime"])
def test_a_missing_column_is_named(load, name):
    """A frame without a column by which lines are compared is refused."""
    whole = load(QUARTER)
    with pytest.raises(FrameError, match=f"load 2: column is missing: {name}"):
        aa.combine_loads([whole, whole.drop(columns=name)])


def test_days_in_common_need_local_dates(load):
    """The lines of days that two loads have are known by their local dates."""
    january, february, first = (
        load(days).drop(columns="local_date") for days in (JANUARY, FEBRUARY, (JANUARY[0], "2025-01-05"))
    )
    assert aa.combine_loads([january, february]).attrs["load"]["complete"]
    with pytest.raises(FrameError, match="overlaps another one: column is missing: local_date"):
        aa.combine_loads([january, first])


def test_a_repeated_column_is_named(load):
    """A frame that has a column twice, as after a merge, is refused."""
    january = load(JANUARY)
    twice = january.set_axis([*january.columns[:-1], "id"], axis="columns")
    with pytest.raises(FrameError, match="load 1 has a column twice: id"):
        aa.combine_loads([twice, twice])


def test_repeats_are_counted(load):
    """Lines that are in two loads are kept once, and noted."""
    combined = aa.combine_loads([load(QUARTER), load(FEBRUARY)])
    assert "308 lines in more than one load, the same in each, kept once." in aa.notes(combined)
    assert aa.notes(aa.combine_loads([load(JANUARY), load(FEBRUARY)])) == ()


def test_the_index_does_not_matter(load):
    """Frames with another index, or with the same labels, give the same result."""
    parts = [load(JANUARY), load(FEBRUARY), load(MARCH)]
    shuffled = [part.sample(frac=1, random_state=7).set_axis([0] * len(part)) for part in parts]
    pd.testing.assert_frame_equal(aa.combine_loads(shuffled), aa.combine_loads(parts))


def test_gaps_stay_gaps(load):
    """Days between the loads are stated, found by the certificate, and refused by a calculation that needs them."""
    combined = aa.combine_loads([load(JANUARY), load(MARCH)])
    assert combined.attrs["load"]["gaps"] == dict.fromkeys(LEDGERS, "2025-02-01/2025-02-28")
    assert not combined.attrs["load"]["complete"]
    assert any("2025-02-01/2025-02-28" in note for note in aa.notes(combined))
    certificate = aa.check_completeness(combined)
    assert not certificate.complete
    assert "ledger led_1: between 2025-01-31 and 2025-03-01" in certificate.problems["where"].tolist()
    ledgers = pd.DataFrame(
        {"id": LEDGERS, "name": LEDGERS, "report_cash_flow": [True, False], "parent_id": [None, None], "sort_code": ""}
    )
    options = {"time_zone": "UTC", "allow_partial": False}
    gap = r"2 ledgers have days that no load has \(ledger led_1: 2025-02-01/2025-02-28\)"
    for days in (QUARTER, FEBRUARY, MARCH):
        with pytest.raises(IncompleteLoadError, match=gap):
            aa.recompute_cash_flow(combined, ledgers, *days, **options)
    for days, starting in ((JANUARY, None), (MARCH, {"led_1": 0})):  # the gap is after, or before what is given
        with pytest.raises(IncompleteLoadError) as caught:  # entries of one line do not balance
            aa.recompute_cash_flow(combined, ledgers, *days, **options, starting_balances=starting)
        assert "days that no load has" not in str(caught.value)


def test_ledgers_of_other_days_are_gaps(load):
    """A ledger that only one load has is missing on the days of the others."""
    combined = aa.combine_loads([load(QUARTER, ["led_1"]), load(MARCH, ["led_2"])])
    assert combined.attrs["load"]["gaps"] == {"led_2": "2025-01-01/2025-02-28"}
    assert combined.attrs["load"]["ledgers"]["led_2"] == "2025-03-01/2025-03-31"


def changed(**fields):
    """Return a change of a line of 10 February: other fields, or none left of it."""

    def change(lines):
        at = next(number for number, one in enumerate(lines) if one["id"].startswith("lin_led_1_2025-02-10"))
        lines[at : at + 1] = [lines[at] | fields] if fields else []

    return change


def add_one(lines):
    """Add a line on 11 February."""
    lines.append(lines[0] | {"id": "lin_added", "datetime": "2025-02-11T05:00:00+00:00", "journal_entry_id": "ent_new"})


@pytest.mark.parametrize(
    "change",
    [
        changed(amount="77.77"),
        changed(ledger_id="led_2"),
        changed(datetime="2025-03-20T00:00:00+00:00"),  # which only the later load has
        changed(datetime="2025-01-03T00:00:00+00:00"),  # which only the earlier load has
        changed(),
        add_one,
    ],
    ids=["amount", "ledger", "later", "earlier", "deleted", "added"],
)
def test_a_change_between_the_loads_is_refused_or_taken_from_the_later(load, books, change):
    """Any change on days of both loads is found; by choice the days of both are those of the later load."""
    first = load((JANUARY[0], FEBRUARY[1]))
    books.change(change)
    second = load((FEBRUARY[0], MARCH[1]))
    with pytest.raises(ChangedWhileReadingError, match=r"1 line changed between the loads: lin_.*load these days"):
        aa.combine_loads([first, second])
    combined = aa.combine_loads([first, second], changed="later")
    kept = first[~first["id"].isin(second["id"]) & (first["local_date"] < FEBRUARY[0])]
    expected = pd.concat([kept, second]).sort_values(["datetime", "id"], ignore_index=True)
    pd.testing.assert_frame_equal(combined, expected)
    assert any("1 line changed between the loads, taken from the later one: lin_" in one for one in aa.notes(
        combined
    ))  # fmt: skip
    earlier_wins = aa.combine_loads([second, first], changed="later")
    assert set(earlier_wins["id"]) >= set(first["id"])


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("time_zone", {"time_zone": "Asia/Tokyo"}, {}),
        ("filters", {"is_cashflow": True}, {}),
        ("filters", {"tag_ids": ["t"]}, {}),
        ("expand", {"expand": ["journal_entry"]}, {}),
        ("scale", {}, {"scale": 3}),
    ],
)
def test_loads_that_differ_are_refused(load, name, arguments, options):
    """Loads of other days' zones, filters, expansions or scales are not one."""
    loads = [load(JANUARY), load(FEBRUARY), load(MARCH, options=options, **arguments)]
    with pytest.raises(FrameError, match=rf"loads 1 and 3 cannot be combined: their {name} differs"):
        aa.combine_loads(loads)


@pytest.mark.parametrize("name", ["base_url", "instance_id"])
def test_loads_of_two_instances_are_refused(load, name):
    """The same ids on another instance, or at another service, are other books."""
    other = load(FEBRUARY)
    other.attrs["load"] = other.attrs["load"] | {name: "another"}
    with pytest.raises(FrameError, match=rf"loads 1 and 2 cannot be combined: their {name} differs"):
        aa.combine_loads([load(JANUARY), other])


def test_amounts_of_two_kinds_are_refused(load):
    """Floats and decimals in one column would be exact in neither."""
    with pytest.raises(FrameError, match="their column amount differs, 'float64' and 'decimal"):
        aa.combine_loads([load(JANUARY), load(FEBRUARY, options={"amounts": "decimal"})])


def unstated(frame):
    """Return a frame that states nothing about itself."""
    return frame.set_axis(frame.index).pipe(lambda one: pd.DataFrame(one.to_dict("series")))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (unstated, "states no load"),
        (lambda frame: frame.iloc[1:], "has 1 line fewer than were loaded"),
        (lambda frame: pd.concat([frame, frame.iloc[:2]]), "has 2 lines more than were loaded"),
    ],
    ids=["unstated", "filtered", "repeated"],
)
def test_frames_that_state_nothing_are_refused_or_not_checked(load, change, reason):
    """A frame that does not state what it holds is refused; by choice it is added, and the result says so."""
    loads = [load(JANUARY), change(load(FEBRUARY))]
    with pytest.raises(FrameError) as caught:
        aa.combine_loads(loads)
    assert f"load 2 {reason}" in str(caught.value)
    combined = aa.combine_loads(loads, allow_unchecked=True)
    assert "load" not in combined.attrs
    assert combined.attrs["scale"] == 2
    assert any(note.startswith(f"Not checked: load 2 {reason}") for note in aa.notes(combined))
    assert not aa.check_completeness(combined).complete
    assert combined["id"].is_unique


def test_missing_windows_of_one_load_are_read_by_another(load, connected, books):
    """Days that failed in one load count as read if another load has them; else they stay missing."""

    def failing(request):
        failed = request.url.params["start_date"] == FEBRUARY[0] and "led_2" in request.url.path
        return httpx.Response(403) if failed else books(request)

    partial = aa.load_line_entries(connected(failing), LEDGERS, *FEBRUARY, allow_partial=True)
    still = aa.combine_loads([load(JANUARY), partial]).attrs["load"]
    assert (still["missing"], still["gaps"], still["complete"]) == ({"led_2": "2025-02-01/2025-02-28"}, {}, False)
    repaired = aa.combine_loads([partial, load(QUARTER, ["led_2"]), load(JANUARY)]).attrs["load"]
    assert (repaired["missing"], repaired["gaps"]) == ({}, {"led_1": "2025-03-01/2025-03-31"})


def test_combined_loads_combine(load):
    """The result is a load that can be combined, and is not said to be of one moment."""
    options = {"consistency": "all"}
    half = aa.combine_loads([load(JANUARY, **options), load(FEBRUARY, **options)])
    whole = aa.combine_loads([half, load(MARCH, **options)])
    pd.testing.assert_frame_equal(whole, load(QUARTER))
    assert whole.attrs["load"]["of_one_moment"] == "not checked"
    assert whole.attrs["load"]["read_at"] == half.attrs["load"]["read_at"]
    certificate = aa.check_completeness(whole)
    assert (certificate.consistency, certificate.of_one_moment) == ("combined", "not checked")
    assert "(not checked: the lines are of several loads)" in certificate.explain()


def test_the_service_zone_has_no_days_to_compare(load):
    """In the zone localtime loads are combined only where they have no day in common."""
    january, february = load(JANUARY, time_zone="localtime"), load(FEBRUARY, time_zone="localtime")
    assert aa.combine_loads([january, february])["id"].is_unique
    with pytest.raises(FrameError, match="only the service knows the day"):
        aa.combine_loads([january, load((JANUARY[0], "2025-02-20"), time_zone="localtime")])


def test_a_file_of_a_load_combines_with_a_frame(load, connected, books, tmp_path):
    """A Parquet file of a load that is read back states what it holds."""
    path = tmp_path / "january.parquet"
    aa.load_line_entries_to_parquet(connected(books), LEDGERS, *JANUARY, path)
    combined = aa.combine_loads([aa.read_line_entries(path), load(FEBRUARY)])
    pd.testing.assert_frame_equal(combined, load((JANUARY[0], FEBRUARY[1])))


@pytest.mark.parametrize(
    ("loads", "options", "message"),
    [
        ([], {}, "no loads given"),
        (pd.DataFrame({"id": ["a"]}), {}, "loads is of type DataFrame"),
        (["lines.parquet"], {}, "loads[0] is of type str"),
        (None, {}, "loads is of type NoneType"),
        ([pd.DataFrame()], {"changed": "first"}, "changed is 'first'"),
    ],
)
def test_wrong_arguments_are_refused(loads, options, message):
    """A frame instead of several, a path, nothing, or an unknown choice is refused with a sentence."""
    with pytest.raises(InputError) as caught:
        aa.combine_loads(loads, **options)
    assert message in str(caught.value)
