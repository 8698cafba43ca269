-- Who were we paid by, and whom did we pay?
-- Grain: one merchant, which is the description of a transaction without reference codes, dates and store numbers; a
-- line without a transaction has the description of its journal entry.
with named as (
    select
        coalesce(nullif(bank.merchant, ''), flow.journal_entry_description, '') as merchant,
        flow.amount
    from fact_cash_flow_line as flow
    left join dim_transaction as bank on bank.transaction_id = flow.transaction_id
)
select
    merchant,
    count(*) as cash_flow_lines,
    sum(case when amount > 0 then amount else 0 end) as inflow,
    sum(case when amount < 0 then amount else 0 end) as outflow,
    sum(amount) as net_cash_flow
from named
group by merchant
order by sum(abs(amount)) desc, merchant
