"""Parse the dates, times and amounts of a file exactly."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

from accounting_analytics.errors import AmountError
from accounting_analytics.money import PRECISION, parse_amount
from accounting_analytics.periods import as_utc, zone

_NOON = dt.time(12)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


class InstantParser:
    """Parses dates and times, each distinct value once.

    Parameters
    ----------
    time_zone : str
        Zone of bare dates (that local day at noon) and of times without an offset.

    Attributes
    ----------
    local_count : int
        How many different values had no offset so far.
    """

    def __init__(self, time_zone: str) -> None:
        self._zone = zone(time_zone)
        self._name = time_zone
        self._parsed: dict[object, dt.datetime] = {}
        self.local_count = 0

    def parse(self, value: object) -> dt.datetime:
        """UTC instant of ISO 8601 text, a date or a datetime.

        Raises
        ------
        ValueError
            It is neither, or a local time that does not exist or occurs twice; the message says which.
        """
        if isinstance(value, dt.datetime) and value.tzinfo is dt.UTC:
            return value
        instant = self._parsed.get(value)
        if instant is None:
            instant = self._parsed[value] = self._to_utc(value)
        return instant

    def _to_utc(self, value: object) -> dt.datetime:
        moment = self._moment(value)
        if moment.tzinfo is None:
            self.local_count += 1
            moment = self._local(moment, value)
        try:
            return as_utc(moment)
        except OverflowError:
            msg = f"datetime {str(value)!r} is outside the calendar"
            raise ValueError(msg) from None

    def _moment(self, value: object) -> dt.datetime:
        if isinstance(value, dt.datetime):
            return value
        if isinstance(value, dt.date):
            return dt.datetime.combine(value, _NOON)
        text = str(value)
        try:
            if _DATE.fullmatch(text):
                return dt.datetime.combine(dt.date.fromisoformat(text), _NOON)
            if _DATE_AND_TIME.fullmatch(text):
                return dt.datetime.fromisoformat(text)
        except ValueError:
            pass
        msg = f"datetime {text!r} is not a date or time; write it like 2025-01-31 or 2025-01-31T18:30:00-05:00"
        raise ValueError(msg)

    def _local(self, moment: dt.datetime, value: object) -> dt.datetime:
        first, second = (moment.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first
        # the two folds differ if the clock changed: forward past this time, or back so that it occurs twice
        exists = as_utc(first).astimezone(self._zone).replace(tzinfo=None) == moment
        problem = "occurs twice" if exists else "does not exist"
        msg = f"datetime {str(value)!r} {problem} in {self._name}; write it with its offset from UTC"
        raise ValueError(msg)


class AmountParser:
    """Parses amounts exactly at one scale, each distinct value once."""

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._quantum = Decimal(1).scaleb(-scale)
        self._digits = PRECISION - scale
        self._parsed: dict[object, Decimal] = {}

    def parse(self, value: object) -> Decimal:
        """Exact amount of a value.

        Raises
        ------
        AmountError
            It is not an exact amount at the scale; float rounding noise is refused too: files contain decimal text.
        """
        if isinstance(value, Decimal) and value.same_quantum(self._quantum) and value.adjusted() < self._digits:
            return value or abs(value)  # minus zero becomes zero
        amount = self._parsed.get(value)
        if amount is None:
            parsed = parse_amount(value, self._scale)
            if parsed.rounding_noise_removed:
                msg = f"amount {value} does not fit {self._scale} fraction digits"
                raise AmountError(msg)
            amount = self._parsed[value] = parsed.amount
        return amount
