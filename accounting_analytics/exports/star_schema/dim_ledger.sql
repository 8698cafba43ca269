-- The chart of accounts, and ledgers that only lines or the report name.
select
    ledger.id as ledger_id,
    ledger.name,
    ledger.path,
    ledger.level,
    ledger.root_name,
    ledger.parent_id as parent_ledger_id,
    parent.name as parent_name,
    ledger.type,
    ledger.sub_type,
    case
        when ledger.type in ('asset', 'liability', 'equity') then 'balance sheet'
        when ledger.type is not null then 'income statement'
    end as statement,
    upper(left(ledger.sub_type, 1)) || lower(replace(ledger.sub_type, '_', ' '))[2:] as statement_section,
    ledger.debit_credit,
    ledger.financial_account_type,
    ledger.sort_code,
    row_number() over (order by ledger.sort_code, ledger.id) as display_order,
    ledger.is_cash,
    coalesce(ledger.sub_type = 'transfers_between_accounts', false) as is_transfer,
    ledger.is_uncategorized,
    ledger.is_required,
    ledger.created_at as created_at_utc
from source.ledger
left join source.ledger as parent on parent.id = ledger.parent_id
order by ledger_id
