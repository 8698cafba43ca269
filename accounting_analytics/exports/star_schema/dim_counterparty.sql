-- The counterparties of journal entries of the period.
select distinct counterparty_id, counterparty
from source.counterparty
order by counterparty
