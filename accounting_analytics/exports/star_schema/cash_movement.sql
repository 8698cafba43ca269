-- What each journal entry moved on each account that reports cash flow.
select
    journal_entry_id,
    ledger_id as cash_ledger_id,
    min(transaction_id) as transaction_id,
    sum(signed_amount) as movement
from source.line
where ledger_id in (select cash_ledger_id from source.account)
group by journal_entry_id, ledger_id
