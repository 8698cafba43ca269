-- A row for each month of the period, also for one without lines.
with counted as (
    select month, count(*) as line_entries
    from source.line
    group by month
)
select
    month.month,
    month.start_date,
    month.end_date,
    export.time_zone,
    export.currency,
    export.scale,
    coalesce(counted.line_entries, 0) as line_entries,
    month.read_at as read_at_utc,
    export.is_partial or not month.is_complete as is_partial,
    month.verdict,
    month.proven_at as proven_at_utc,
    export.known_ledgers,
    export.notes,
    export.package_version
from source.month
cross join source.export
left join counted on counted.month = month.month
order by month.month
