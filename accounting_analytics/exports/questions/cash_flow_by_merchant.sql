-- Who were we paid by, and whom did we pay?
-- Grain: one merchant, which is the description of a transaction without reference codes, dates and store numbers; a
-- payment without a transaction has the description of its journal entry. A payment is what a journal entry moved on an
-- account, so taxes that are withheld from a net pay are not paid to its payee.
with payments as (
    select
        flow.journal_entry_id,
        flow.cash_ledger_id,
        coalesce(nullif(bank.merchant, ''), flow.journal_entry_description, '') as merchant,
        sum(flow.amount) as amount
    from fact_cash_flow_line as flow
    left join dim_transaction as bank on bank.transaction_id = flow.transaction_id
    group by
        flow.journal_entry_id,
        flow.cash_ledger_id,
        coalesce(nullif(bank.merchant, ''), flow.journal_entry_description, '')
)
select
    merchant,
    count(*) as payments,
    sum(case when amount > 0 then amount else 0 end) as inflow,
    sum(case when amount < 0 then amount else 0 end) as outflow,
    sum(amount) as net_cash_flow
from payments
group by merchant
order by sum(abs(amount)) desc, merchant
