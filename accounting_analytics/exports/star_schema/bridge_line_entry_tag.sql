-- A row for each tag of each line entry.
select
    id as line_entry_id,
    unnest(string_split(tag_ids, '|')) as tag_id,
    month
from source.line
where tag_ids <> ''
order by datetime, id
