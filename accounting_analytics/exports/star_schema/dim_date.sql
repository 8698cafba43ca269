-- Every day of some calendar and fiscal years. A fiscal year has the number of the calendar year it ends in.
with day as (
    select
        unnest(generate_series(first_day, last_day, interval 1 day))::date as date,
        fiscal_year_start_month as fiscal_start
    from calendar
)
select
    date,
    year(date) as year,
    quarter(date) as quarter,
    month(date) as month_number,
    monthname(date) as month_name,
    left(date::varchar, 7) as year_month,
    day(date) as day,
    isodow(date) as weekday,
    dayname(date) as weekday_name,
    isoyear(date) as iso_year,
    weekofyear(date) as iso_week,
    year(date) + (fiscal_start > 1 and month(date) >= fiscal_start)::integer as fiscal_year,
    (month(date) - fiscal_start + 12) % 12 // 3 + 1 as fiscal_quarter,
    (month(date) - fiscal_start + 12) % 12 + 1 as fiscal_month
from day
order by date
