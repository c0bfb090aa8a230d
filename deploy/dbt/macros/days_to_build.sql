{#
  Days, UTC, that a model has to build: on the first run all that are stored, later those that it lacks, that were not
  certified, or that were summed up again since. `report` is the view by day whose certificate the model takes over.
#}
{% macro days_to_build(report) %}
  select d.day, c.closed_at is not null as certified
  from {{ source('ton', 'days') }} d
  left join etl.closed_days c on c.relation = '{{ report }}' and c.day = d.day and c.closed_at is not null
  where d.day <= current_date
  {% if is_incremental() %}
    and not exists (select 1 from {{ this }} b where b.day = d.day and b.certified and b.built_at > c.closed_at)
  {% endif %}
{% endmacro %}
