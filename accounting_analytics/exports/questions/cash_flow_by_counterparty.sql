-- Who were we paid by, and whom did we pay?
-- Grain: one counterparty; the row without a name has the journal entries without one. A payment is what a journal entry
-- moved on an account, so taxes that are withheld from a net pay are not paid to its counterparty.
with payments as (
    select journal_entry_id, cash_ledger_id, counterparty_id, sum(amount) as amount
    from fact_cash_flow_line
    group by journal_entry_id, cash_ledger_id, counterparty_id
)
select
    party.counterparty,
    count(*) as payments,
    sum(case when payments.amount > 0 then payments.amount else 0 end) as inflow,
    sum(case when payments.amount < 0 then payments.amount else 0 end) as outflow,
    sum(payments.amount) as net_cash_flow
from payments
left join dim_counterparty as party on party.counterparty_id = payments.counterparty_id
group by party.counterparty
order by sum(abs(payments.amount)) desc, party.counterparty
