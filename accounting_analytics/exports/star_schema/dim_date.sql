-- Every day of the calendar and fiscal years that have exported days. A fiscal year has the number of the calendar year
-- it ends in; years before 1 and after 9999 are left out.
with whole as (
    select
        fiscal_start,
        case
            when month(start_date) < fiscal_start and year(start_date) > 1
                then make_date(year(start_date) - 1, fiscal_start, 1)
            else make_date(year(start_date), 1, 1)
        end as first_day,
        case
            when fiscal_start > 1 and month(end_date) >= fiscal_start and year(end_date) < 9999
                then make_date(year(end_date) + 1, fiscal_start, 1) - 1
            else make_date(year(end_date), 12, 31)
        end as last_day
    from source.export
),
day as (
    select
        unnest(generate_series(first_day, last_day, interval 1 day))::date as date,
        fiscal_start
    from whole
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
