-- Which journal entries make up the cash flow of a category in a month?
-- Grain: one line entry of a journal entry that has cash flow of the category $ledger_id in $month ('2025-01').
-- The amounts of the rows with is_in_cash_flow add up to the figure, with the other sign: debit is positive here.
select
    line.date,
    line.journal_entry_id,
    line.journal_entry_description,
    line.line_entry_id,
    ledger.path,
    line.transaction_id,
    line.signed_amount,
    flow.line_id is not null as is_in_cash_flow
from fact_line_entry as line
inner join dim_ledger as ledger on ledger.ledger_id = line.ledger_id
left join fact_cash_flow_line as flow
    on flow.line_id = line.line_entry_id and flow.ledger_id = $ledger_id and flow.month = $month
where line.journal_entry_id in (
    select journal_entry_id
    from fact_cash_flow_line
    where ledger_id = $ledger_id and month = $month
)
order by line.datetime_utc, line.journal_entry_id, line.line_entry_id
