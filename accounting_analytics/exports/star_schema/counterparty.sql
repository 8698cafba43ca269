-- The counterparty of each journal entry, as reports/books/payees decides it: of its lines on receivables and payables
-- the party, else of those on cash the merchant of the transaction, of the line or of the entry; of several lines that
-- with the first id. A blank text has white space only. Adjustments have no row.
with open_line as (
    select
        line.journal_entry_id,
        line.id,
        ledger.open_item_path,
        [line.description, line.journal_entry_description, line.transaction_description] as texts
    from source.line
    inner join source.ledger on ledger.id = line.ledger_id
    where ledger.open_item_path is not null
),
cash_line as (
    select
        line.journal_entry_id,
        line.id,
        case
            when regexp_matches(line.transaction_description, '[^\pZ\t-\r\x1c-\x1f\x{85}]') then 1
            when regexp_matches(line.description, '[^\pZ\t-\r\x1c-\x1f\x{85}]') then 2
            when regexp_matches(line.journal_entry_description, '[^\pZ\t-\r\x1c-\x1f\x{85}]') then 3
        end as place,
        case place
            when 1 then line.transaction_description
            when 2 then line.description
            when 3 then line.journal_entry_description
        end as text
    from source.line
    inner join source.ledger on ledger.id = line.ledger_id
    where ledger.report_cash_flow and place is not null
),
party as (
    select open_item_path, texts, party(open_item_path, texts) as counterparty
    from (select distinct open_item_path, texts from open_line)
),
merchant as (
    select text, merchant(text) as counterparty
    from (select distinct text from cash_line)
),
identified as (
    select counterparty, to_base((md5_number_lower(counterparty) >> 4)::bigint, 32, 12) as counterparty_id
    from (select counterparty from party union select counterparty from merchant)
    where counterparty <> ''
),
named as (
    select open_line.journal_entry_id, open_line.id, 0 as place, party.counterparty
    from open_line
    inner join party using (open_item_path, texts)
    where party.counterparty <> ''
    union all
    select cash_line.journal_entry_id, cash_line.id, cash_line.place, merchant.counterparty
    from cash_line
    inner join merchant using (text)
),
first_named as (
    select journal_entry_id, counterparty
    from named
    qualify row_number() over (partition by journal_entry_id order by place, id) = 1
)
select first_named.journal_entry_id, counterparty, identified.counterparty_id
from first_named
inner join identified using (counterparty)
