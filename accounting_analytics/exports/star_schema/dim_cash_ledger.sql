-- The ledgers that report cash flow, for a second relation of the facts.
select
    ledger_id as cash_ledger_id,
    name as cash_ledger_name,
    path as cash_ledger_path,
    financial_account_type,
    type,
    display_order
from dim_ledger
where is_cash
order by cash_ledger_id
