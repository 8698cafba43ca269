-- Who were we paid by, and whom did we pay?
-- Grain: one counterparty, which is the description of a transaction without reference codes, dates and store numbers; a
-- payment without a transaction has the description of its journal entry. A payment is what a journal entry moved on an
-- account, so taxes that are withheld from a net pay are not paid to its counterparty.
with payments as (
    select
        flow.journal_entry_id,
        flow.cash_ledger_id,
        coalesce(nullif(bank.counterparty, ''), flow.journal_entry_description, '') as counterparty,
        sum(flow.amount) as amount
    from fact_cash_flow_line as flow
    left join dim_transaction as bank on bank.transaction_id = flow.transaction_id
    group by
        flow.journal_entry_id,
        flow.cash_ledger_id,
        coalesce(nullif(bank.counterparty, ''), flow.journal_entry_description, '')
)
select
    counterparty,
    count(*) as payments,
    sum(case when amount > 0 then amount else 0 end) as inflow,
    sum(case when amount < 0 then amount else 0 end) as outflow,
    sum(amount) as net_cash_flow
from payments
group by counterparty
order by sum(abs(amount)) desc, counterparty
