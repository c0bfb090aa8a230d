{# Rows that share a key of several columns. #}
{% test unique_key(model, columns) %}
  select {{ columns | join(', ') }}, count(*) as copies
  from {{ model }}
  group by {{ columns | join(', ') }}
  having count(*) > 1
{% endtest %}
