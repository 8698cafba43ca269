-- What was the balance of each account at the end of each day?
-- Grain: one day of one account, also without a movement. A credit card has a negative balance.
select
    balance.date,
    balance.cash_ledger_id,
    account.cash_ledger_name,
    balance.closing_balance
from fact_daily_balance as balance
inner join dim_cash_ledger as account on account.cash_ledger_id = balance.cash_ledger_id
order by balance.date, account.display_order
