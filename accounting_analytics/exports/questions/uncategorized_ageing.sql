-- How much is uncategorized, and for how long?
-- Grain: one age band, counted in days up to the last exported day; the last band has no to_days. A band without line
-- entries has zeros.
with bands as (
    select 0 as from_days, 30 as to_days
    union all
    select 31, 60
    union all
    select 61, 90
    union all
    select 91, 999999
),
last_day as (
    select max(end_date) as end_date
    from dim_load
),
uncategorized as (
    select last_day.end_date - line.date as age_in_days, -line.signed_amount as amount
    from fact_line_entry as line
    inner join dim_ledger as category on category.ledger_id = line.ledger_id
    cross join last_day
    where category.is_uncategorized
)
select
    bands.from_days,
    nullif(bands.to_days, 999999) as to_days,
    count(uncategorized.amount) as line_entries,
    coalesce(sum(case when uncategorized.amount > 0 then uncategorized.amount else 0 end), 0) as inflow,
    coalesce(sum(case when uncategorized.amount < 0 then uncategorized.amount else 0 end), 0) as outflow
from bands
left join uncategorized on uncategorized.age_in_days between bands.from_days and bands.to_days
group by bands.from_days, bands.to_days
order by bands.from_days
