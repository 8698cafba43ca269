-- The first line of each transaction on its account; fields that were not loaded are null.
with first_line as (
    select id
    from source.line
    where transaction_id is not null
    qualify row_number() over (partition by transaction_id order by datetime, id) = 1
),
own as (
    select *
    from source.line
    where id in (select id from first_line)
)
select
    own.transaction_id,
    own.date as transaction_date,
    own.transaction_description as description,
    named.counterparty,
    account.name as account_name,
    account.is_cash,
    own.signed_amount as transaction_amount,
    case when own.signed_amount >= 0 then 'inflow' else 'outflow' end as direction,
    own.journal_entry_id in (
        select line.journal_entry_id
        from source.line
        inner join source.ledger on ledger.id = line.ledger_id
        where ledger.is_uncategorized
    ) as is_uncategorized,
    export.end_date - own.date as age_in_days,
    own.transaction_review_status as review_status,
    own.transaction_posted_status as posted_status,
    own.transaction_personal as personal,
    own.source_account_id
from own
cross join source.export
left join dim_counterparty as named on named.counterparty_id = own.counterparty_id
left join source.ledger as account on account.id = own.ledger_id
order by own.transaction_id
