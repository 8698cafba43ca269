-- The line entries of the period, as they are in the books, in the order of the load.
select
    id as line_entry_id,
    month,
    date,
    datetime as datetime_utc,
    ledger_id,
    journal_entry_id,
    transaction_id,
    counterparty_id,
    debit_credit,
    amount,
    signed_amount,
    description,
    journal_entry_description,
    related_line_entry_id,
    editable
from source.line
