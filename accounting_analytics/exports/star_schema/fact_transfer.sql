-- What each account moved beyond its cash flow: it came from, or went to, other own accounts.
with flow as (
    select journal_entry_id, cash_ledger_id, sum(amount) as amount
    from fact_cash_flow_line
    group by journal_entry_id, cash_ledger_id
)
select
    moved.journal_entry_id,
    moved.cash_ledger_id,
    moved.month,
    moved.date,
    moved.datetime_utc,
    moved.transaction_id,
    named.counterparty_id,
    moved.movement - coalesce(flow.amount, 0) as amount,
    moved.journal_entry_description
from source.cash_movement as moved
left join flow on flow.journal_entry_id = moved.journal_entry_id and flow.cash_ledger_id = moved.cash_ledger_id
left join source.counterparty as named on named.journal_entry_id = moved.journal_entry_id
where moved.movement <> coalesce(flow.amount, 0)
order by moved.datetime_utc, moved.journal_entry_id, moved.cash_ledger_id
