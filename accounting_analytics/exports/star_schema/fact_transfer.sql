-- What each account moved beyond its cash flow: it came from, or went to, other own accounts.
with flow as (
    select journal_entry_id, cash_ledger_id, sum(amount) as amount
    from fact_cash_flow_line
    group by journal_entry_id, cash_ledger_id
),
transfer as (
    select
        moved.journal_entry_id,
        moved.cash_ledger_id,
        moved.transaction_id,
        moved.movement - coalesce(flow.amount, 0) as amount
    from source.cash_movement as moved
    left join flow on flow.journal_entry_id = moved.journal_entry_id and flow.cash_ledger_id = moved.cash_ledger_id
    where moved.movement <> coalesce(flow.amount, 0)
)
select
    transfer.journal_entry_id,
    transfer.cash_ledger_id,
    left(min(line.date)::varchar, 7) as month,
    min(line.date) as date,
    min(line.datetime) as datetime_utc,
    transfer.transaction_id,
    min(line.counterparty_id) as counterparty_id,
    transfer.amount,
    min(line.journal_entry_description) as journal_entry_description
from transfer
inner join source.line
    on line.journal_entry_id = transfer.journal_entry_id and line.ledger_id = transfer.cash_ledger_id
group by transfer.journal_entry_id, transfer.cash_ledger_id, transfer.transaction_id, transfer.amount
order by datetime_utc, transfer.journal_entry_id, transfer.cash_ledger_id
