import pg from 'pg';

/**
 * Creates in `public` what any role may create there, under every name in Postgres' own catalog: functions,
 * aggregates called as functions, operators, types and relations. Functions and operators also exist with
 * arguments that fit a literal or a column of another type better than Postgres' own. Each counts its calls,
 * and fails.
 */
export async function plantHostile(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=pg_catalog' });
  await client.connect();
  try {
    await client.query(PLANT);
  } finally {
    await client.end();
  }
}

/** How often a hostile object was called, whatever became of the transaction. */
export async function hostileCalls(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=pg_catalog' });
  await client.connect();
  try {
    const { rows } = await client.query<{ calls: string }>(
      'select case when is_called then last_value else 0 end as calls from public.calls',
    );
    return Number(rows[0]?.calls);
  } finally {
    await client.end();
  }
}

/** The server itself creates the objects: there are tens of thousands. */
const PLANT = `
set check_function_bodies = off;
create sequence public.calls;
grant usage on sequence public.calls to public;
create function public.spy(what text) returns bool language plpgsql volatile as $$
begin
  perform pg_catalog.nextval('public.calls'::pg_catalog.regclass);
  raise exception 'hostile % was called', what;
end $$;
create temp table concrete (type oid primary key, instead text);
insert into concrete values ('"any"'::regtype, 'text'), ('anyelement'::regtype, 'text'), ('anyarray'::regtype, 'text[]'),
  ('anycompatible'::regtype, 'text'), ('anycompatiblearray'::regtype, 'text[]'), ('anynonarray'::regtype, 'text'),
  ('anyrange'::regtype, 'int8range'), ('anymultirange'::regtype, 'int8multirange'), ('anyenum'::regtype, 'text'),
  ('record'::regtype, 'text'), ('void'::regtype, 'text'), ('trigger'::regtype, null), ('cstring'::regtype, null),
  ('internal'::regtype, null), ('event_trigger'::regtype, null), ('language_handler'::regtype, null);
create function pg_temp.of_type(type oid) returns text language sql as $$
  select coalesce((select instead from concrete c where c.type = of_type.type),
    (select format_type(t.oid, null) from pg_type t where t.oid = of_type.type and t.typtype <> 'p'))
$$;
do $$
declare
  made record;
  near text[];
  args text;
begin
  for made in
    select p.proname as name, coalesce(pg_temp.of_type(p.prorettype), 'text') as returns,
      array(select pg_temp.of_type(a) from unnest(p.proargtypes) with ordinality x (a, place) order by place) as args
    from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a', 'w')
      and p.proname !~ '(in|out|recv|send|support|sel|selfunc)$'
  loop
    continue when array_position(made.args, null) is not null;
    foreach near slice 1 in array array[['', ''], ['bigint', 'integer'], ['integer', 'bigint'], ['double precision', 'bigint'],
      ['double precision', 'numeric'], ['text', 'name'], ['text', 'character varying'], ['regclass', 'text'], ['numeric', 'bigint'],
      ['timestamp with time zone', 'date'], ['json', 'text'], ['name', 'text']]
    loop
      continue when near[1] <> '' and near[1] <> all (made.args);
      args := array_to_string(array_replace(made.args, near[1], near[2]), ', ');
      begin
        execute format('create function public.%I(%s) returns %s language plpgsql as %L', made.name, args, made.returns,
          format('begin perform public.spy(%L); end', made.name || '(' || args || ')'));
      exception when duplicate_function or invalid_function_definition or undefined_object then null;
      end;
    end loop;
  end loop;
end $$;
do $$
declare
  made record;
begin
  for made in
    select distinct o.oprname as name, pg_temp.of_type(o.oprleft) as "left", pg_temp.of_type(o.oprright) as "right", coalesce(pg_temp.of_type(o.oprresult), 'bool') as result
    from pg_operator o where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft <> 0 and o.oprright <> 0
    union
    select n, l, r, case when n in ('=', '<>', '<', '>', '<=', '>=', '@>', '<@', '&&', '~') then 'bool' else l end
    from unnest(array['=', '<>', '<', '>', '<=', '>=', '||', '+', '-', '*', '/', '%', '@>', '<@', '&&', '->', '->>', '~', '&', '#', '>>', '<<']) n,
      unnest(array['text', 'name', 'character varying', 'integer', 'bigint', 'numeric', 'smallint', 'date', 'interval',
        'timestamp with time zone', 'jsonb', 'int8range', 'int8multirange', 'text[]', 'regclass', 'oid', 'bytea']) l,
      unnest(array['text', 'name', 'character varying', 'integer', 'bigint', 'numeric', 'smallint', 'date', 'interval',
        'timestamp with time zone', 'jsonb', 'int8range', 'int8multirange', 'text[]', 'regclass', 'oid', 'bytea']) r
  loop
    continue when made."left" is null or made."right" is null;
    begin
      execute format('create function public.hostile_operator(%s, %s) returns %s language plpgsql as %L', made."left", made."right", made.result,
        format('begin perform public.spy(%L); end', 'operator'));
    exception when duplicate_function then null;
    end;
    begin
      execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.hostile_operator)', made.name, made."left", made."right");
    exception when duplicate_function or syntax_error or invalid_function_definition then null;
    end;
  end loop;
end $$;
do $$
declare
  made record;
begin
  for made in
    select c.relname as name from pg_class c where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind in ('r', 'v')
  loop
    begin
      execute format('create view public.%1$I as select * from pg_catalog.%1$I where public.spy(%1$L)', made.name);
    exception when invalid_table_definition or feature_not_supported or duplicate_table then null;
    end;
  end loop;
  for made in
    select t.typname as name, format_type(t.oid, null) as type from pg_type t
    where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm') and t.typname !~ '^_|^pg_'
  loop
    begin
      execute format('create domain public.%1$I as %2$s check (public.spy(%1$L))', made.name, made.type);
    exception when duplicate_object or wrong_object_type then null;
    end;
  end loop;
end $$;
grant execute on all functions in schema public to public;
grant select on all tables in schema public to public;
`;
