-- The lines of the report without transfers between own accounts. A line belongs to the account that its journal entry
-- moved; of several, to the one that the report names, else to the one that was moved most.
with flow as not materialized (
    select *, coalesce(cash_flow_ledger_name, '') as named
    from source.report_line
),
several as (
    select journal_entry_id
    from source.cash_movement
    group by journal_entry_id
    having count(*) > 1
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
    from (select distinct journal_entry_id, named from flow where journal_entry_id in (from several)) as entry
    inner join source.cash_movement as moved on moved.journal_entry_id = entry.journal_entry_id
    inner join source.account on account.cash_ledger_id = moved.cash_ledger_id
),
account as (
    select journal_entry_id, null as named, cash_ledger_id, transaction_id
    from source.cash_movement
    where journal_entry_id not in (from several)
    union all by name
    select * exclude rank
    from candidate
    where rank = 1
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
    flow.counterparty_id,
    flow.amount,
    flow.journal_entry_description
from flow
left join account
    on account.journal_entry_id = flow.journal_entry_id and coalesce(account.named, flow.named) = flow.named
where flow.ledger_id not in (
    select ledger.id
    from source.ledger
    where ledger.sub_type = 'transfers_between_accounts' and not ledger.report_cash_flow
)
order by datetime_utc, flow.line_id
