{# Days whose certificate is not that of the database: a build has to follow. #}
{% test whole(model, report) %}
  select b.day
  from {{ model }} b
  left join etl.closed_days c on c.relation = '{{ report }}' and c.day = b.day and c.closed_at is not null
  where b.certified and (c.day is null or b.built_at <= c.closed_at)
{% endtest %}
