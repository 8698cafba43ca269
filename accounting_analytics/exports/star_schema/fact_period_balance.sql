-- The first opening and the last closing balance of each account and month.
select
    cash_ledger_id,
    month,
    min(date) as start_date,
    max(date) as date,
    arg_min(opening_balance, date) as starting_balance,
    sum(movement) as movement,
    arg_max(closing_balance, date) as ending_balance
from fact_daily_balance
group by cash_ledger_id, month
order by cash_ledger_id, month
