-- How much cash came in and went out of each account in each month, without transfers between own accounts?
-- Grain: one account in one month with cash flow. outflow is negative, so that inflow + outflow = net_cash_flow. Entries
-- of opening balances are neither.
with openings as (
    select flow.journal_entry_id
    from fact_cash_flow_line as flow
    inner join dim_ledger as ledger on ledger.ledger_id = flow.ledger_id
    where ledger.is_required and ledger.sub_type = 'equity'
)
select
    flow.month,
    flow.cash_ledger_id,
    account.cash_ledger_name,
    sum(case when flow.amount > 0 then flow.amount else 0 end) as inflow,
    sum(case when flow.amount < 0 then flow.amount else 0 end) as outflow,
    sum(flow.amount) as net_cash_flow
from fact_cash_flow_line as flow
left join dim_cash_ledger as account on account.cash_ledger_id = flow.cash_ledger_id
where not exists (select 1 from openings where openings.journal_entry_id = flow.journal_entry_id)
group by flow.month, flow.cash_ledger_id, account.cash_ledger_name
order by flow.month, flow.cash_ledger_id
