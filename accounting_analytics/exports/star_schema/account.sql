-- The accounts that report cash flow, with their balances at the start of the period: the chart of accounts has
-- precedence over the report, and an account that the report does not list starts at zero.
with named as (
    select
        ledger.id as cash_ledger_id,
        case when ledger.report_cash_flow then ledger.name else balance.ledger_name end as name,
        case when ledger.report_cash_flow then ledger.sort_code else balance.sort_code end as sort_code,
        coalesce(balance.cash_balance, 0) as starting_balance
    from source.ledger
    left join source.starting_balance as balance on balance.ledger_id = ledger.id
    where ledger.is_cash
)
select *, row_number() over (order by sort_code, cash_ledger_id) as display_order
from named
