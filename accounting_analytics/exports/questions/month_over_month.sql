-- How does the cash flow of each category differ from the month before?
-- Grain: one category in one exported month, also in months without cash flow. The month before is the exported month
-- before; the first month has none.
with categories as (
    select distinct ledger_id
    from fact_cash_flow_line
),
sums as (
    select ledger_id, month, sum(amount) as net_cash_flow
    from fact_cash_flow_line
    group by ledger_id, month
),
months as (
    select
        categories.ledger_id,
        dim_load.month,
        coalesce(sums.net_cash_flow, 0) as net_cash_flow
    from categories
    cross join dim_load
    left join sums on sums.ledger_id = categories.ledger_id and sums.month = dim_load.month
)
select
    months.month,
    months.ledger_id,
    category.path,
    months.net_cash_flow,
    lag(months.net_cash_flow) over (partition by months.ledger_id order by months.month) as month_before,
    months.net_cash_flow
    - lag(months.net_cash_flow) over (partition by months.ledger_id order by months.month) as difference
from months
inner join dim_ledger as category on category.ledger_id = months.ledger_id
order by category.display_order, months.month
