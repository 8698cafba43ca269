-- What are the figures of the income statement and the changes of the balance sheet, by section?
-- Grain: one section of a statement. change is positive where the section grew on its normal side: debit for assets and
-- expenses, credit for liabilities, equity and revenue.
select
    ledger.statement,
    ledger.statement_section,
    ledger.type,
    sum(case when line.debit_credit = 'debit' then line.amount else 0 end) as debit,
    sum(case when line.debit_credit = 'credit' then line.amount else 0 end) as credit,
    sum(case when ledger.type in ('asset', 'expense') then line.signed_amount else -line.signed_amount end) as change
from fact_line_entry as line
inner join dim_ledger as ledger on ledger.ledger_id = line.ledger_id
group by ledger.statement, ledger.statement_section, ledger.type
order by ledger.statement desc, min(ledger.display_order)
