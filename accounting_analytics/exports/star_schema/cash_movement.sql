-- What each journal entry moved on each account that reports cash flow.
select
    line.journal_entry_id,
    line.ledger_id as cash_ledger_id,
    account.name as account_name,
    account.display_order,
    min(line.month) as month,
    min(line.date) as date,
    min(line.datetime) as datetime_utc,
    min(line.transaction_id) as transaction_id,
    min(line.journal_entry_description) as journal_entry_description,
    sum(line.signed_amount) as movement
from source.line
inner join source.account on account.cash_ledger_id = line.ledger_id
group by line.journal_entry_id, line.ledger_id, account.name, account.display_order
