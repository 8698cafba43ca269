"""Weeks of cash ahead: what is due, balances and their range, and how such outlooks erred in past weeks."""

import datetime as dt
import json
import math
import runpy
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pandas as pd
import pytest

import accounting_analytics as aa

PLANTED = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "planted_rhythms.py")))
COMPANY = PLANTED.FRAMES["COMPANY"]
LAST = dt.date(2026, 6, 30)
DAY = dt.timedelta(days=1)
CENT = Decimal("0.01")


def pay(day, counterparty, amount, category="Rent"):
    return PLANTED.PAYMENT(day, "checking", Decimal(amount), counterparty, counterparty, "plain", category, category)


def payments_of_weeks(weeks):
    """Return payments of so many weeks: rent, wages every second Friday, sales and purchases of any day."""
    random = Random(7)  # noqa: S311 (books, not secrets)
    payments = []
    for number in range(7 * weeks):
        day = LAST - number * DAY
        if day.day == 1:
            payments.append(pay(day, "LANDLORD", "-1200.00"))
        if day.toordinal() % 14 == 5:
            payments.append(pay(day, "WAGES", "-2200.00", "Payroll"))
        if random.random() < 0.4 or number == 7 * weeks - 1:
            payments.append(
                pay(day, f"CUSTOMER {random.choice('ABCDE')}", f"{random.randint(200, 900)}.10", "Online Sales")
            )
        if random.random() < 0.2:
            payments.append(pay(day, f"SHOP {random.choice('PQRS')}", f"-{random.randint(50, 200)}.35", "Tools"))
    return payments


def with_series_that_stop(weeks):
    """Return the payments of a company with weekly ones that stop after four weeks."""
    days = [(start, LAST - (7 * (start + number) + 3) * DAY) for start in range(0, weeks, 6) for number in range(4)]
    series = [pay(day, f"SERIES {'ABCDEFGHIJ'[start // 6] * 4}", "-5000.00", "Tools") for start, day in days]
    return [*payments_of_weeks(weeks), *series]


def frames(payments):
    """Return line entries and ledgers of payments."""
    return PLANTED.FRAMES["frames"](sorted(payments, key=lambda one: (one.day, one.payee)), dt.date.max)


BOOKS = frames(payments_of_weeks(75))
GAINS = [pay(LAST - 7 * week * DAY, "CUSTOMER", f"{1000 + 7 * week}.00", "Tools") for week in range(75)]
"""A receipt of each week, a little less each: more than no change, and what is due moves nothing within weeks."""
START = str(LAST - 75 * 7 * DAY + DAY)


def ahead(as_of=LAST, books=BOOKS, opening=START, **options):
    """Return the outlook of books, whose first day is known unless it is left out."""
    loaded = aa.Books(books.line_entries, books.ledgers, time_zone="UTC", opening=opening)
    return aa.outlook(loaded, as_of=as_of, **options)


def exact(values):
    """Return amounts of a frame as cents."""
    return [Decimal(str(one)).quantize(CENT) for one in values]


def moved(payments, first, count):
    """Return the cash of weeks from a day on."""
    sums = [Decimal(0)] * count
    for one in payments:
        week = (one.day - first).days // 7
        if one.day >= first and week < count:
            sums[week] += one.amount
    return sums


def test_the_weeks_follow_from_what_recurs_and_the_average():
    result = ahead()
    frame = result.frame
    assert list(frame["end_date"]) == [pd.Timestamp(LAST + week * 7 * DAY) for week in range(1, 14)]
    due = result.payments
    rent = due[due["counterparty"] == "LANDLORD"]
    assert list(rent["date"]) == [pd.Timestamp(2026, month, 1) for month in (7, 8, 9)]
    assert set(rent["amount"]) == {-1200.0}
    assert (due.loc[due["counterparty"] == "WAGES", "date"].diff().dropna() == pd.Timedelta(days=14)).all()
    in_weeks = [
        -sum(-one.amount for one in due.itertuples() if week.start_date <= one.date <= week.end_date)
        for week in frame.itertuples()
    ]
    assert in_weeks == pytest.approx(list(frame["recurring_payments"]))
    average = sum(moved(payments_of_weeks(75), LAST - 26 * 7 * DAY + DAY, 26)) / 26
    measure = {"no change": 0, "average": 13 * average}[result.method]
    assert abs(Decimal(str(frame["net_cash_flow"].sum())) - measure) <= 13 * CENT
    assert len(set(frame["other_cash"])) == 1
    parts = ["recurring_receipts", "recurring_payments", "open_items", "known_items", "other_cash"]
    assert exact(frame[parts].sum(axis=1)) == exact(frame["net_cash_flow"])
    cash = sum(one.amount for one in payments_of_weeks(75))
    assert exact(frame["cash"]) == exact(cash + Decimal(str(one)) for one in frame["net_cash_flow"].cumsum())
    assert result.cash.exact() == cash


def test_what_is_late_is_due_at_once_and_what_has_stopped_is_not():
    months = [dt.date(2025, month, 20) for month in range(7, 13)] + [dt.date(2026, month, 20) for month in range(1, 6)]
    late = [pay(day, "INSURER", "-310.00") for day in months]
    stopped = [pay(day, "OLD CLOUD", "-99.00") for day in months[:-2]]
    weekly = [pay(dt.date(2026, 6, 16) - number * 7 * DAY, "CLEANER", "-45.00") for number in range(12)]
    due = ahead(books=frames([*payments_of_weeks(75), *late, *stopped, *weekly]), weeks=4).payments
    assert list(due.loc[due["counterparty"] == "CLEANER", "date"].dt.day) == [1, 7, 14, 21, 28]
    assert list(due.loc[due["counterparty"] == "INSURER", "date"]) == [
        pd.Timestamp("2026-07-01"),
        pd.Timestamp("2026-07-20"),
    ]
    assert "OLD CLOUD" not in set(due["counterparty"])


@pytest.mark.parametrize("days", [9, 100])
def test_an_outlook_knows_nothing_of_later_lines(days):
    day = LAST - days * DAY
    cut = frames([one for one in payments_of_weeks(75) if one.day <= day])
    with_later, without = ahead(day), ahead(day, cut)
    pd.testing.assert_frame_equal(with_later.frame, without.frame)
    pd.testing.assert_frame_equal(with_later.payments, without.payments)
    assert with_later.score == without.score
    assert with_later.sentences() == without.sentences()


def test_the_score_is_that_of_outlooks_made_in_past_weeks():
    history, weeks = 60, 4
    payments = with_series_that_stop(history)
    books = frames(payments)
    errors = {"outlook": [], "average": [], "no change": []}
    methods = []
    for back in range(history - 26, weeks - 1, -1):
        day = LAST - back * 7 * DAY
        came = moved(payments, day + DAY, weeks)
        average = (sum(moved(payments, day - 26 * 7 * DAY + DAY, 26)) / 26).quantize(CENT)
        result = ahead(day, books, weeks=weeks)
        methods.append(result.method)
        made = {
            "outlook": exact(result.frame["net_cash_flow"]),
            "average": [average] * weeks,
            "no change": [Decimal(0)] * weeks,
        }
        for name, nets in made.items():
            errors[name].append([there - net for there, net in zip(came, nets, strict=True)])
    assert methods == ["no change"] * 29 + ["average"] * 2
    score = ahead(books=books, weeks=weeks).score
    assert score.origins == len(errors["average"]) == 31
    for name, missed in errors.items():
        weekly = sum(abs(error) for of in missed for error in of) / len(missed) / weeks
        balance = sum(abs(error) for of in missed for error in accumulate(of)) / len(missed) / weeks
        assert (Decimal(score.weekly[name]) / 100, Decimal(score.balance[name]) / 100) == (
            weekly.quantize(CENT),
            balance.quantize(CENT),
        )
    assert score.is_better == (
        score.balance["outlook"] < score.balance["average"] and score.balance["outlook"] < score.balance["no change"]
    )


def test_the_range_is_of_the_past_errors_in_proportion_to_what_moved():
    least, later = 26 + 1 + 20, 8
    payments = payments_of_weeks(least + later)
    books = frames(payments)
    errors, inside, percent = [], [], 80
    for back in range(least + later - 26, -1, -1):
        day = LAST - back * 7 * DAY
        result = ahead(day, books, weeks=1)
        (week,) = result.frame.itertuples()
        before = moved(payments, day - 26 * 7 * DAY + DAY, 26)
        size = sum(abs(units) for units in before)
        if inside:
            percent += -1 if inside[-1] else 4
        margin = None
        if len(errors) > 20:
            place = math.ceil(Decimal(percent * (len(errors) + 1)) / 100)
            margin = sorted(of_method[result.method] * size / of for of_method, of in errors)[place - 1].quantize(CENT)
            assert exact([week.high - week.cash, week.cash - week.low]) == [margin, margin]
        else:
            assert math.isnan(week.high)
        if back:
            (came,) = moved(payments, day + DAY, 1)
            nets = {"no change": Decimal(0), "average": (sum(before) / 26).quantize(CENT)}
            assert exact([week.net_cash_flow]) == [nets[result.method]]
            errors.append(({method: abs(came - net) for method, net in nets.items()}, size))
            inside += [] if margin is None else [errors[-1][0][result.method] <= margin]
    score = ahead(books=books, weeks=1).score
    assert (score.covered, score.ranges) == (sum(inside), len(inside)) == (sum(inside), later)
    assert 0 < sum(inside) < later
    short = ahead(books=frames(payments_of_weeks(least - 1)), weeks=1)
    assert not short.has_range
    assert short.frame[["low", "high"]].isna().all(axis=None)
    assert not short["low", 1].units


def test_weeks_at_rest_do_not_make_a_range_boundless():
    rest = [pay(LAST - week * 7 * DAY, "BANK", "-0.01") for week in range(30, 75)]
    busy = [pay(LAST - week * 7 * DAY, "CUSTOMER", f"{5000 + 100 * (week % 3)}.00", "Tools") for week in range(30)]
    last = ahead(books=frames([*rest, *busy])).frame.iloc[5]
    assert 0 < last["high"] - last["cash"] <= 10 * 6 * 5200


def test_too_short_a_history_has_no_outlook():
    with pytest.raises(aa.errors.IncompleteLoadError, match="takes 26 weeks of lines that move cash, and there are 25"):
        ahead(books=frames(payments_of_weeks(25)))
    short = ahead(books=frames(payments_of_weeks(45)), weeks=4)
    assert short["low", 1].terms[1].calculation == (
        "it is not known: it takes 50 weeks of history (26 to average, 4 ahead, 20 to compare), and there are 45"
    )
    result = ahead(books=frames(payments_of_weeks(30)))
    assert result.score is None
    assert not result.is_better
    assert "not known: no past one has come to its end" in result.explain()


def test_last_years_weeks_are_the_measure_where_they_were_much_better():
    first = LAST - 130 * 7 * DAY + DAY
    days = [first + number * DAY for number in range(130 * 7)]
    payments = [
        pay(
            day,
            f"GUEST {'ABC'[day.day % 3]}",
            f"{100 + 90 * math.sin(2 * math.pi * day.timetuple().tm_yday / 365):.2f}",
        )
        for day in days
    ]
    books = frames(payments)
    result = ahead(books=books, opening=str(first))
    assert result.method == "last year"
    assert "the same weeks of last year" in result.explain()
    year_before = sum(moved(payments, LAST - 52 * 7 * DAY + DAY, 13))
    assert abs(Decimal(str(result.frame["net_cash_flow"].sum())) - year_before) <= 13 * CENT
    assert result.score.balance["outlook"] < result.score.balance["average"]


def test_no_forecast_is_shown_where_it_was_no_better():
    result = ahead(books=frames(GAINS), limit=1)
    assert not result.is_better
    shown = min(result.score.balance["average"], result.score.balance["no change"])
    assert result.score.balance["outlook"] >= shown
    text = str(result)
    assert "Cash at end" not in text
    assert "No forecast was nearer than today's balance" in text
    assert "Whether cash falls below 1.00 is not known, because no forecast is shown." in result.sentences()
    assert result.lowest_week is None
    assert len(result.frame) == 13
    assert "not nearer than today's balance" in aa.charts.outlook(result).layout.title.subtitle.text
    better = ahead()
    assert better.is_better
    assert "Cash at end" in str(better)


def test_the_weeks_move_nothing_where_no_change_was_nearer():
    calm = [pay(LAST - number * DAY, "CUSTOMER", "100.00", "Online Sales") for number in range(90 * 7)]
    rent = [pay(day.day, "LANDLORD", "-3043.75") for day in calm if day.day.day == 1]
    result = ahead(books=frames([*calm, *rent]), opening=str(LAST - 90 * 7 * DAY + DAY))
    assert result.method == "no change"
    assert abs(Decimal(str(result.frame["net_cash_flow"].sum()))) <= 13 * CENT
    assert result.is_better
    assert "The weeks together are expected to change nothing" in result.explain()
    rest = result["other_cash", 1].terms[1]
    assert [sign for sign, *_ in rest.signed_terms()] == ["+", "-"]


def test_known_items_are_added_and_checked(tmp_path):
    known = pd.DataFrame(
        {"date": ["2026-07-15", "2027-01-01"], "amount": [-12000.0, 1.0], "note": ["new oven", "too late"]}
    )
    result = ahead(known=known)
    assert exact(result.frame["cash"] - ahead().frame["cash"]) == [Decimal(0)] * 2 + [Decimal(-12000)] * 11
    assert result["known_items", 3].terms[0].label == "new oven, 15 Jul 2026"
    assert "1 known item of days that are not in these weeks left out." in result.notes
    (row,) = result.payments[result.payments["rhythm"] == "known"].itertuples()
    assert (row.counterparty, row.amount, row.date) == ("new oven", -12000.0, pd.Timestamp("2026-07-15"))
    file = tmp_path / "known.csv"
    file.write_text("date,amount,category,note\n2026-07-15,-12000.00,Tools,new oven\n")
    pd.testing.assert_frame_equal(ahead(known=file).frame, result.frame)
    for text, message in (
        ("date,amount\n2026-07-15,12.345\n", "known, row 1: amount '12.345' does not fit 2 fraction digits"),
        ("date,amount\n15.07.2026,12\n", "known, row 1: date '15.07.2026' is not a calendar date"),
        ("date,amount\n2026-07-15,\n", "known, row 1: '' is not an amount"),
        ("day,amount\n2026-07-15,12\n", "known lacks date; its columns are date, amount, category, note"),
        ("date,amount,who\n2026-07-15,12,me\n", "known has who"),
    ):
        file.write_text(text)
        with pytest.raises((aa.errors.InputError, aa.errors.FrameError), match=message):
            ahead(known=file)
    with pytest.raises(aa.errors.InputError, match=r"known: .*nothing\.csv cannot be read"):
        ahead(known=tmp_path / "nothing.csv")


def known_items(*rows):
    return pd.DataFrame(rows, columns=["date", "amount", "category", "note"])


@pytest.mark.parametrize(
    ("category", "note"),
    [("Rent", ""), ("", "Landlord"), ("Rent", "July, to the LANDLORD"), ("", "Land\u200blord"), ("\uff32ent", "July")],
)
def test_a_known_payment_replaces_the_one_that_recurs(category, note):
    result = ahead(known=known_items(("2026-07-05", "-1250.00", category, note)))
    assert exact(result.frame["cash"] - ahead().frame["cash"]) == [Decimal(-50)] * 13
    due = result.payments
    assert list(due.loc[due["counterparty"] == "LANDLORD", "date"]) == [
        pd.Timestamp(2026, month, 1) for month in (8, 9)
    ]
    assert ("The known -1,250.00 on 5 Jul 2026 replaces LANDLORD, -1,200.00 due on 1 Jul 2026.") in result.notes
    assert result["known_items", 1].amount == -1250.0


def test_what_is_known_beside_what_recurs():
    before = ahead().frame["cash"]

    def change(*rows):
        return exact(ahead(known=known_items(*rows)).frame["cash"] - before)[-1]

    assert change(("2026-07-02", "-70.00", "Rent", "SHOP P")) == -70
    assert change(("2026-07-02", "70.00", "Rent", "")) == 70
    assert change(("2026-07-06", "-70.00", "Rent", "")) == -70
    assert change(("2026-07-02", "-700.00", "Rent", ""), ("2026-07-03", "-800.00", "Rent", "")) == -300
    assert change(("2026-07-02", "0", "Rent", "")) == 1200
    assert change(("2026-07-02", "-1200.00", "Rent", ""), ("2026-07-31", "-1200.00", "Rent", "")) == 0
    assert change(("2026-07-20", "-1200.00", "", "Landlord")) == 0
    assert change(("2026-07-02", "-1200.00", "", "for July")) == 0
    assert change(("2026-07-02", "-1200.00", "Tools", "for July")) == -1200
    with pytest.raises(aa.errors.InputError) as refused:
        ahead(known=known_items(("2026-07-10", "-9", "", "Landlord")))
    assert str(refused.value) == (
        "known: -9.00 on 10 Jul 2026 may be LANDLORD, -1,200.00 due on 1 Jul 2026, or another payment; for the first "
        "give its amount, or a day from 27 Jun 2026 to 5 Jul 2026, and for another name no counterparty"
    )


def test_a_known_payment_of_one_of_several():
    days = [(2025 + at // 12, at % 12 + 1, 1) for at in range(1, 18)]
    books = frames([*payments_of_weeks(75), *(pay(dt.date(*day), "STORAGE", "-90.00") for day in days)])
    with pytest.raises(aa.errors.InputError) as refused:
        ahead(books=books, known=known_items(("2026-07-02", "-100.00", "Rent", "")))
    assert str(refused.value) == (
        "known: -100.00 on 2 Jul 2026 may be LANDLORD, -1,200.00 due on 1 Jul 2026 or STORAGE, -90.00 due on 1 Jul "
        "2026; name the counterparty in its note, with the amount of one of them, or give it another category, and no "
        "counterparty, if it is another payment"
    )
    before = ahead(books=books).frame["cash"]
    for row, change in ((("2026-07-02", "-100.00", "Rent", "Storage"), -10), (("2026-07-02", "-90.00", "Rent", ""), 0)):
        assert exact(ahead(books=books, known=known_items(row)).frame["cash"] - before) == [Decimal(change)] * 13


def test_known_late_payment_replaces_the_one_due():
    books = frames([one for one in payments_of_weeks(75) if (one.payee, one.day) != ("LANDLORD", dt.date(2026, 6, 1))])
    before = ahead("2026-06-15", books=books).frame["cash"]
    known = known_items(("2026-06-25", "-1200.00", "Rent", ""))
    after = ahead("2026-06-15", books=books, known=known)
    assert exact(after.frame["cash"] - before) == [Decimal(1200), *[Decimal(0)] * 12]


def test_point_before_three_digits_names_both_readings(tmp_path):
    file = tmp_path / "known.csv"
    for text, message in (
        ("-1.050", "known, row 1: '-1.050' may be -1.05 or -1050; write one of these"),
        ("20.000", "known, row 1: '20.000' may be 20.00 or 20000; write one of these"),
    ):
        file.write_text(f"date,amount\n2026-07-15,{text}\n")
        with pytest.raises(aa.errors.InputError, match=message):
            ahead(known=file)
    with pytest.raises(aa.errors.InputError, match=r"limit: '20\.000' may be 20\.00 or 20000"):
        ahead(limit="20.000")
    for text in ("-0.050", "-1050.000", "-1.05"):
        file.write_text(f"date,amount\n2026-07-15,{text}\n")
        assert ahead(known=file)["known_items", 3].exact() == Decimal(text)


def test_known_items_count_on_first_and_last_days_of_weeks():
    days = [LAST + number * DAY for number in (1, 7, 8, 91)]
    known = known_items(*((str(day), str(10**at), "", "") for at, day in enumerate(days)))
    items = list(ahead(known=known).frame["known_items"])
    assert (items[0], items[1], items[12], sum(items)) == (11.0, 100.0, 1000.0, 1111.0)


def test_no_range_where_nothing_moves():
    last = max(one.day for one in payments_of_weeks(75) if one.amount)
    for days, has_range in ((7 * 13 - 1, True), (7 * 13, False), (400, False)):
        result = ahead(last + days * DAY, limit=1000)
        ends = result.frame[["low", "high"]].notna().all(axis=1)
        assert (result.has_range, list(ends)) == (has_range, [has_range] * 6 + [False] * 7), days
        assert (result["low", 6].units is not None) is has_range
        assert (result["low", 7].units, result["low", 7].text) == (None, "")
    assert result.frame["net_cash_flow"].eq(0).all()


def test_a_limit_says_in_which_week_cash_falls_below():
    frame = ahead().frame
    limit = frame["cash"].iloc[4] + 1

    def week(at):
        return f"week {at}, {LAST.replace(day=1) + (29 + 7 * at) * DAY:%-d %b %Y}"

    first = next(row.week for row in frame.itertuples() if row.cash < limit)
    low = next(row.week for row in frame.itertuples() if row.low < limit)
    (sentence,) = (text for text in ahead(limit=limit).sentences() if "Cash is expected" in text)
    already = "" if low == first else f", and may be below it at the end of {week(low)}"
    assert sentence == (
        f"Cash is expected to be below {limit:,.2f} first at the end of {week(first)}{already}. Days within a week may "
        "be lower."
    )
    assert (
        "Cash is expected to stay at or above -90,000.00 at the end of all 13 weeks. Days within a week may be lower."
        in ahead(limit="-90000").sentences()
    )
    with pytest.raises(aa.errors.InputError, match="limit: 'much' is not an amount"):
        ahead(limit="much")


def test_cash_is_not_known_without_the_beginning_of_the_books():
    result = ahead(opening=None, limit="1000")
    assert result.cash.units is None
    assert result.lowest_week is None
    assert result.frame[["cash", "low", "high"]].isna().all(axis=None)
    assert result.frame["net_cash_flow"].notna().all()
    assert "load the books since their first entry, or give their opening" in result.summary()
    assert "Whether cash falls below 1,000.00 is not known" in result.explain()
    assert not aa.charts.outlook(result).data


def test_figures_unfold_to_past_payments_and_weeks():
    result = ahead()
    week = next(one.week for one in result.frame.itertuples() if one.recurring_payments)
    (payment, *_) = result["recurring_payments", week].terms
    assert payment.entries["figure_amount"].sum() == payment.amount
    later, other = result["other_cash", 1].terms
    assert later.exact() == 0
    assert [sign for sign, *_ in other.signed_terms()] == ["+", "-"]
    average = ahead(books=frames(GAINS))["other_cash", 1].terms[1].terms[0]
    assert len(average.terms) == 26
    assert [one.entries["figure_amount"].sum() for one in average.terms] == pytest.approx(
        [one.amount for one in average.terms]
    )
    margin = result["high", 1].terms[1]
    assert result["high", 1].exact() == result["cash", 1].exact() + margin.exact()
    assert "data-key" in result._repr_html_()
    for key in (("cash", 14), ("cahs", 1), "cash"):
        with pytest.raises(aa.errors.InputError, match="is not a figure: give one of recurring_receipts"):
            result[key]


def test_opening_balances_do_not_move_cash():
    books = frames([*payments_of_weeks(75), pay(LAST, "OWNER", "9000.00", "Charity")])
    is_opening = books.ledgers["name"] == "Charity"
    kinds = {name: books.ledgers[name].mask(is_opening, "equity") for name in ("type", "sub_type")}
    ledgers = books.ledgers.assign(is_required=books.ledgers["is_required"] | is_opening, **kinds)
    with_opening = ahead(books=books._replace(ledgers=ledgers))
    assert exact(with_opening.frame["net_cash_flow"]) == exact(ahead().frame["net_cash_flow"])
    assert with_opening.cash.exact() == ahead().cash.exact() + 9000


def test_chart_and_json_have_balance_range_and_limit():
    result = ahead(limit="1000")
    figure = aa.charts.outlook(result)
    assert [one.name for one in figure.data] == ["Cash at end", "High, 80 %", "Low, 80 %", "Limit"]
    assert list(figure.data[0].y) == list(result.frame["cash"])
    assert figure.mark(f"low|{LAST + 7 * DAY}").exact() == result["low", 1].exact()
    content = json.loads(result.to_json())
    assert content["weeks"][0]["cash"] == f"{result['cash', 1].exact():f}"
    assert set(content["score"]["weekly_error"]) == {"outlook", "average", "no change"}
    with pytest.raises(aa.errors.InputError, match=r"pass what outlook\(...\) returns"):
        aa.charts.outlook(result.frame)


@pytest.mark.parametrize("weeks", [0, 27, True, 2.5])
def test_weeks_are_a_small_whole_number(weeks):
    with pytest.raises(aa.errors.InputError, match="weeks must be a whole number from 1 to 26"):
        ahead(weeks=weeks)
