-- How much cash flow carries each tag?
-- Grain: one tag; the row without a tag_id is the cash flow without tags. A line with two tags counts for both, so the
-- rows do not add up to the net cash flow.
select
    tagged.tag_id,
    tag.tag_name,
    count(*) as cash_flow_lines,
    sum(case when flow.amount > 0 then flow.amount else 0 end) as inflow,
    sum(case when flow.amount < 0 then flow.amount else 0 end) as outflow
from fact_cash_flow_line as flow
left join bridge_line_entry_tag as tagged on tagged.line_entry_id = flow.line_id
left join dim_tag as tag on tag.tag_id = tagged.tag_id
group by tagged.tag_id, tag.tag_name
order by cash_flow_lines desc, tagged.tag_id
