-- Which groups of expenses cost the most cash?
-- Grain: one parent of expense categories; a category without a parent is its own group. The largest is first, and
-- refunds reduce the cost. Expenses that were not paid in the exported days are not in the cash flow.
select
    coalesce(category.parent_ledger_id, category.ledger_id) as parent_ledger_id,
    coalesce(category.parent_name, category.name) as parent_name,
    count(distinct category.ledger_id) as categories,
    count(*) as cash_flow_lines,
    -sum(flow.amount) as cost
from fact_cash_flow_line as flow
inner join dim_ledger as category on category.ledger_id = flow.ledger_id
where category.type = 'expense'
group by coalesce(category.parent_ledger_id, category.ledger_id), coalesce(category.parent_name, category.name)
order by cost desc, parent_ledger_id
