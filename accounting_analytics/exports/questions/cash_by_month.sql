-- How did cash change in each month, without transfers between own accounts?
-- Grain: one exported month. starting_cash + opening_balances + net_cash_flow = ending_cash; transfers is zero, unless
-- one side of a transfer is missing in the books. Entries of opening balances are no cash flow here.
with openings as (
    select flow.journal_entry_id
    from fact_cash_flow_line as flow
    inner join dim_ledger as ledger on ledger.ledger_id = flow.ledger_id
    where ledger.is_required and ledger.sub_type = 'equity'
),
flows as (
    select
        month,
        sum(case when journal_entry_id in (select journal_entry_id from openings) then amount else 0 end)
            as opening_balances,
        sum(case when journal_entry_id in (select journal_entry_id from openings) then 0 else amount end)
            as net_cash_flow
    from fact_cash_flow_line
    group by month
),
transfers as (
    select month, sum(amount) as transfers
    from fact_transfer
    group by month
),
balances as (
    select month, sum(starting_balance) as starting_cash, sum(ending_balance) as ending_cash
    from fact_period_balance
    group by month
)
select
    balances.month,
    balances.starting_cash,
    coalesce(flows.opening_balances, 0) as opening_balances,
    coalesce(flows.net_cash_flow, 0) as net_cash_flow,
    coalesce(transfers.transfers, 0) as transfers,
    balances.ending_cash
from balances
left join flows on flows.month = balances.month
left join transfers on transfers.month = balances.month
order by balances.month
