-- The starting balance of each account, and its movements day by day.
with day as (
    select unnest(generate_series(start_date, end_date, interval 1 day))::date as date
    from source.export
),
moved as (
    select ledger_id as cash_ledger_id, date, sum(signed_amount) as movement
    from source.line
    where ledger_id in (select cash_ledger_id from source.account)
    group by ledger_id, date
),
daily as (
    select
        account.cash_ledger_id,
        account.starting_balance,
        day.date,
        coalesce(moved.movement, 0) as movement
    from source.account
    cross join day
    left join moved on moved.cash_ledger_id = account.cash_ledger_id and moved.date = day.date
),
closed as (
    select
        *,
        starting_balance + sum(movement) over (partition by cash_ledger_id order by date) as closing_balance
    from daily
)
select
    cash_ledger_id,
    left(date::varchar, 7) as month,
    date,
    closing_balance - movement as opening_balance,
    movement,
    closing_balance
from closed
order by cash_ledger_id, date
