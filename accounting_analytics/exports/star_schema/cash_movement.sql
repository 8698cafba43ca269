-- What each journal entry moved on each account that reports cash flow.
select
    journal_entry_id,
    ledger_id as cash_ledger_id,
    left(min(date)::varchar, 7) as month,
    min(date) as date,
    min(datetime) as datetime_utc,
    min(transaction_id) as transaction_id,
    min(journal_entry_description) as journal_entry_description,
    sum(signed_amount) as movement
from source.line
where ledger_id in (select cash_ledger_id from source.account)
group by journal_entry_id, ledger_id
