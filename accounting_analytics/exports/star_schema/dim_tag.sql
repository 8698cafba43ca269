-- The tags that lines of the period carry; the latest name counts.
with tagged as (
    select
        datetime,
        id,
        unnest(string_split(tag_ids, '|')) as tag_id,
        unnest(string_split(tag_names, '|')) as tag_name,
        unnest(string_split(tag_group_ids, '|')) as tag_group_id
    from source.line
    where tag_ids <> ''
)
select tag_id, nullif(tag_name, '') as tag_name, nullif(tag_group_id, '') as tag_group_id
from tagged
qualify row_number() over (partition by tag_id order by datetime desc, id desc) = 1
order by tag_id
