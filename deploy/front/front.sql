-- A front: one database that shows several databases of toncenter-etl as one, each with its own stretch of time.
-- docs/scaling.md says how to use it, and what it cannot do. Run it in a database of its own, after
-- `npx toncenter-etl migrate`, as a role that may create servers:
--
--   psql "$FRONT" -v ON_ERROR_STOP=1 -f front.sql
--   psql "$FRONT" -c "call front.add('cold', 'host=pg-1 dbname=ton', 'reader', 'password', '2025-01-01', '2026-01-01')"
--   psql "$FRONT" -c "call front.add('hot', 'host=pg-2 dbname=ton', 'reader', 'password', '2026-01-01', 'infinity')"

create extension if not exists postgres_fdw;
create schema if not exists front;
comment on schema front is 'What makes this database a front of others: see deploy/front/front.sql.';

create table if not exists front.servers (
  name name primary key,
  span int8range not null,
  exclude using gist (span with &&)
);
comment on table front.servers is 'The servers behind this front, and the unix seconds of chain time that each one holds.';

-- The first server gives the names of accounts and tokens, and the lists. The role must be able to read the schemas ton,
-- etl and etl_partitions there.
create or replace procedure front.add(
  server name, options text, "user" text, password text, "from" timestamptz, "to" timestamptz)
language plpgsql as $$
declare
  is_first constant boolean := not exists (select from front.servers);
begin
  if is_first then
    perform front.make_room();
  end if;
  insert into front.servers values (add.server, int8range(extract(epoch from add."from")::int8,
    case when add."to" < 'infinity' then extract(epoch from add."to")::int8 end));
  execute format('create server %I foreign data wrapper postgres_fdw options (%s, fetch_size ''10000'', async_capable ''true'')',
    add.server, (select string_agg(format('%I %L', word[1], word[2]), ', ')
      from regexp_matches(add.options, '(\w+)=(\S+)', 'g') word));
  execute format('create user mapping for public server %I options (user %L, password %L)',
    add.server, add."user", add.password);
  perform front.import(add.server, 'etl', front.additive() || array['coverage', 'partitions']);
  perform front.inherit(add.server, 'etl', front.additive());
  if is_first then
    perform front.import(add.server, 'ton', front.lists());
    perform front.inherit(add.server, 'ton', front.lists());
  end if;
  perform front.merge_coverage();
  call front.attach(add.server);
end $$;

-- Attaches the partitions that a server has made since it was added: once for each new month, or every night.
create or replace procedure front.attach(server name) language plpgsql as $$
declare
  mine constant int8range := (select span from front.servers where servers.name = attach.server);
  part record;
begin
  for part in execute format('select parent, name, span from front_%s_etl.partitions where span && $1
    and not exists (select from etl.partitions p where (p.parent, p.span) = (partitions.parent, partitions.span))
    order by parent, span', attach.server) using mine
  loop
    if not part.span <@ mine then
      raise exception 'partition % of server % holds time that is not the server''s', part.name, attach.server
        using errcode = 'invalid_parameter_value', hint = 'Cut between two partitions: at the start of a month, unless ETL_PARTITION is set.';
    end if;
    perform front.import(attach.server, 'etl_partitions', array[part.name]);
    execute format('alter table ton.%I attach partition front_%s_etl_partitions.%I for values from (%L) to (%L)',
      part.parent, attach.server, part.name, to_timestamp(lower(part.span)), to_timestamp(upper(part.span)));
    insert into etl.partitions (parent, name, span) values (part.parent, part.name, part.span);
  end loop;
end $$;

-- Tables of etl whose rows of all servers stand side by side.
create or replace function front.additive() returns text[] immutable language sql as
$$ select array['refused', 'findings', 'quarantine', 'watch'] $$;

-- Tables of ton that are not partitioned by time.
create or replace function front.lists() returns text[] stable language sql as
$$ select array_agg(relname::text) from pg_class where relnamespace = 'ton'::regnamespace and relkind = 'r' $$;

-- A foreign table cannot be a partition of a table with a unique index, and nothing is written here.
create or replace function front.make_room() returns void language plpgsql as $$
declare
  key record;
begin
  for key in select conrelid::regclass as parent, conname from pg_constraint
    where connamespace = 'ton'::regnamespace and contype in ('p', 'u') and conparentid = 0
      and conrelid in (select oid from pg_class where relkind = 'p')
  loop
    execute format('alter table %s drop constraint %I', key.parent, key.conname);
  end loop;
end $$;

create or replace function front.import(server name, remote text, tables text[]) returns void language plpgsql as $$
begin
  execute format('create schema if not exists front_%s_%s', server, remote);
  execute format('import foreign schema %I limit to (%s) from server %I into front_%s_%s', remote,
    (select string_agg(quote_ident(name), ', ') from unnest(tables) name), server, server, remote);
end $$;

create or replace function front.inherit(server name, remote text, tables text[]) returns void language plpgsql as $$
declare
  name text;
begin
  foreach name in array tables loop
    execute format('alter foreign table front_%s_%s.%I inherit %I.%I', server, remote, name, remote, name);
  end loop;
end $$;

-- A dataset has one row of coverage: what each server covers of its own stretch, together. The views that read the table
-- before are made anew over the view.
create or replace function front.merge_coverage() returns void language plpgsql as $$
declare
  reader record;
begin
  if to_regclass('front.own_coverage') is null then
    create temporary table readers on commit drop as
    select distinct v.oid::regclass::text as name, pg_get_viewdef(v.oid) as body
    from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
    where d.classid = 'pg_rewrite'::regclass and d.refobjid = 'etl.coverage'::regclass;
    alter table etl.coverage rename to own_coverage;
    alter table etl.own_coverage set schema front;
  end if;
  execute format('create or replace view etl.coverage as
    select dataset, scope, pass, coalesce(range_agg(part) filter (where not is_verified), ''{}'') as covered,
      coalesce(range_agg(part) filter (where is_verified), ''{}'') as verified, max(updated_at) as updated_at
    from (%s) parts group by dataset, scope, pass',
    (select string_agg(format('
      select dataset, scope, pass, unnest(covered * int8multirange(%1$L::int8range)) as part, false as is_verified, updated_at from front_%2$s_etl.coverage
      union all
      select dataset, scope, pass, unnest(verified * int8multirange(%1$L::int8range)), true, updated_at from front_%2$s_etl.coverage', span, name),
      ' union all ') from front.servers));
  if to_regclass('pg_temp.readers') is not null then
    for reader in select * from readers loop
      execute format('create or replace view %s as %s', reader.name, reader.body);
    end loop;
  end if;
end $$;
