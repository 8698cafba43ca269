-- How much cash came in and went out of each account in each month, without transfers between own accounts?
-- Grain: one account in one month with cash flow. outflow is negative, so that inflow + outflow = net_cash_flow.
select
    flow.month,
    flow.cash_ledger_id,
    account.cash_ledger_name,
    sum(case when flow.amount > 0 then flow.amount else 0 end) as inflow,
    sum(case when flow.amount < 0 then flow.amount else 0 end) as outflow,
    sum(flow.amount) as net_cash_flow
from fact_cash_flow_line as flow
left join dim_cash_ledger as account on account.cash_ledger_id = flow.cash_ledger_id
group by flow.month, flow.cash_ledger_id, account.cash_ledger_name
order by flow.month, flow.cash_ledger_id
