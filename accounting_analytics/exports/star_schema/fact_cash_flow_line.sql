-- The lines of the report without transfers between own accounts. A line belongs to the account that the report names,
-- else to the account that its journal entry moved most.
with flow as (
    select *, coalesce(cash_flow_ledger_name, '') as named
    from source.report_line
),
candidate as (
    select
        entry.journal_entry_id,
        entry.named,
        moved.cash_ledger_id,
        moved.transaction_id,
        row_number() over (
            partition by entry.journal_entry_id, entry.named
            order by account.name = entry.named desc, abs(moved.movement) desc, account.display_order
        ) as rank
    from (select distinct journal_entry_id, named from flow) as entry
    inner join source.cash_movement as moved on moved.journal_entry_id = entry.journal_entry_id
    inner join source.account on account.cash_ledger_id = moved.cash_ledger_id
)
select
    flow.line_id,
    flow.month,
    flow.date,
    flow.datetime as datetime_utc,
    flow.ledger_id,
    account.cash_ledger_id,
    flow.journal_entry_id,
    account.transaction_id,
    flow.amount,
    flow.journal_entry_description
from flow
left join candidate as account
    on account.journal_entry_id = flow.journal_entry_id and account.named = flow.named and account.rank = 1
where flow.ledger_id not in (
    select ledger.id
    from source.ledger
    where ledger.sub_type = 'transfers_between_accounts' and not ledger.report_cash_flow
)
order by datetime_utc, flow.line_id
