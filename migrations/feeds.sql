-- Which datasets feed which relation. Applied last: it asks Postgres what every view depends on. The view
-- etl.datasets is created from the files in jobs/, next to this file.

create or replace view etl.feeds as
with recursive parts as (
  select c.relname::text as name, 'pg_catalog.pg_class'::regclass as kind, c.oid as part from pg_catalog.pg_class c
  where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v')
  union
  select f.proname::text, 'pg_catalog.pg_proc'::regclass, f.oid from pg_catalog.pg_proc f where f.pronamespace = 'ton'::regnamespace
  union
  select p.name, d.refclassid, d.refobjid from parts p
  left join pg_catalog.pg_rewrite r on p.kind = 'pg_catalog.pg_class'::regclass and r.ev_class = p.part
  join pg_catalog.pg_depend d on d.refclassid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass)
    and (d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = r.oid or d.classid = p.kind and d.objid = p.part and r.oid is null)
)
select p.name as relation, s.dataset
from parts p join pg_catalog.pg_class t on t.oid = p.part and p.kind = 'pg_catalog.pg_class'::regclass
join etl.datasets s on t.relname = any (s.tables) and t.relnamespace = 'ton'::regnamespace
union
-- Postgres knows no dependencies of a function in PL/pgSQL.
select 'trace_tree', s.dataset from etl.datasets s where s.dataset in ('traces', 'transactions');
comment on view etl.feeds is 'Which datasets fill each table, view and function of schema ton: what has to be read before it has rows.';
comment on column etl.feeds.relation is 'Table, view or function of schema ton that is fed, without its schema.';
comment on column etl.feeds.dataset is 'Name of a dataset that feeds the relation: its file in jobs/ without the ending.';

create or replace view etl.seen_bidders as
select a.source as address, a.start_lt as lt, a.utime from ton.actions a
where a.type = 'auction_bid'
union all
select f.bidder, f.start_lt, f.utime from etl.first_bids f;
comment on view etl.seen_bidders is 'Accounts that bid in auctions, or began one for a domain below .ton, by indexed actions: whose auctions dns_auctions looks up.';
comment on column etl.seen_bidders.address is 'Account that bid, raw form; null if the action names none.';
comment on column etl.seen_bidders.lt is 'Logical time at which the action of the bid began.';
comment on column etl.seen_bidders.utime is 'Block time, UTC, of the action of the bid.';

-- Only the newest million rows of each relation are used: without a range it would read all that is stored.
create or replace function etl.looked_up(dataset text, "from" timestamptz default null, "to" timestamptz default null)
returns table (known bigint, seen bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  subjects text;
  own text;
  own_key text;
begin
  select d.subjects, k.relation, k.key into subjects, own, own_key
  from etl.datasets d left join lateral (
    select c.oid::regclass::text as relation, min(a.attname) as key
    from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
    join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
    where c.relnamespace = 'ton'::regnamespace and c.relname = d.tables[1]
    group by c.oid having count(*) = 1 and bool_and(a.atttypid = 'text'::regtype)) k on true
  where d.dataset = looked_up.dataset;
  if subjects is null then
    return;
  end if;
  return query execute format('
    select count(*) filter (where exists (
        select from etl.lookups l where (l.dataset, l.walk, l.subject) = ($1, s.walk, s.subject) and l.asked_at is not null)
      %2$s), count(*)
    from (select distinct walk, subject from (%1$s) named where subject !~ ''^((addr_none)?$|(ext|var)[$])'') s',
    subjects, case when own is not null then format('or exists (select from %s o where o.%I = s.subject)', own, own_key) end)
  using looked_up.dataset, coalesce(looked_up."from", '-infinity'), coalesce(looked_up."to", 'infinity');
end $$;
comment on function etl.looked_up(text, timestamptz, timestamptz) is
  'How many subjects the watch list and stored rows name between two times (default: always), and how many of them are known: they were looked up, or have a row. Only the newest million rows of each relation count. No row for datasets that look up nothing.';

create or replace function etl.begun(dataset text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from etl.coverage c where c.dataset = begun.dataset and c.pass = 0 and not isempty(c.covered))
    or exists (select from etl.cursors c where c.dataset = begun.dataset and c.cursor is not null)
    or exists (select from etl.lookups l where l.dataset = begun.dataset and l.asked_at is not null)
$$;
comment on function etl.begun(text) is
  'Whether the reading of a dataset has begun: a second of a stream is covered, a page of a list was read, or a subject was looked up. It does not say that everything is known: etl.fed does.';

drop function if exists etl.fed(text, timestamptz, timestamptz);
create or replace function etl.fed(relation text, "from" timestamptz default null, "to" timestamptz default null,
  reader name default current_user)
returns table (dataset text, fed boolean, missing_from timestamptz, missing_to timestamptz, known bigint, seen bigint, hint text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  name constant text := regexp_replace(fed.relation, '^ton\.', '');
  wanted int8multirange;
begin
  if not exists (select from etl.feeds f where f.relation = name) then
    raise exception 'there is no table, view or function "%" that a dataset feeds', fed.relation
      using errcode = 'undefined_table', hint = etl.did_you_mean(name, array(select distinct f.relation from etl.feeds f))
        || 'select distinct relation from etl.feeds lists them.';
  end if;
  if (fed."from" is null) <> (fed."to" is null) then
    raise exception 'a range has both ends: give from and to, or neither' using errcode = 'invalid_parameter_value';
  end if;
  if fed."from" is not null then
    wanted := etl.seconds_between(fed."from", fed."to");
  end if;
  return query
  select d.dataset, s.state and h.hint is null, s.missing_from, s.missing_to, s.known, s.seen,
    coalesce(h.hint, case when not s.state then s.hint end)
  from etl.feeds f join etl.datasets d on d.dataset = f.dataset
  left join lateral (
    select h.why || '. ' || h.hint as hint from etl.hidden_from(fed.reader, d.tables) h limit 1) h on true
  cross join lateral (
    -- Without a range, a stream feeds if any second of it is covered.
    select case when wanted is null then exists (
          select from etl.coverage c where c.dataset = d.dataset and c.pass = 0 and not isempty(c.covered))
        else isempty(m.gaps) end as state,
      to_timestamp(lower(m.gaps)) as missing_from, to_timestamp(upper(m.gaps)) as missing_to,
      null::bigint as known, null::bigint as seen,
      etl.command(format('backfill --from %s --to %s --only %s',
        coalesce(etl.as_argument(lower(m.gaps)), '-1h'), coalesce(etl.as_argument(upper(m.gaps)), 'now'), d.dataset)) as hint
    from (select case when wanted is not null then etl.missing_seconds(d.dataset, wanted, false) end as gaps) m
    where d.kind = 'stream'
    union all
    select b.begun and coalesce(l.known = l.seen, true), null, null, l.known, l.seen,
      case when l.known < l.seen then format('%s of %s %s are known. ', to_char(l.known, 'FM999,999,999,999'),
        to_char(l.seen, 'FM999,999,999,999'), case when d.only_if_seen then 'seen accounts' else 'subjects' end) else '' end
      || etl.command(format('backfill --only %s, or name it in ETL_DATASETS of sync%s', d.dataset,
        case when d.only_if_seen then ', with ETL_ACCOUNTS=seen' end), case when d.only_if_seen then 'ETL_ACCOUNTS=seen ' else '' end)
    from (select etl.begun(d.dataset) as begun) b
    left join lateral etl.looked_up(d.dataset, fed."from", fed."to") l on true
    where d.kind = 'list') s
  where f.relation = name
  order by 2, 1;
end $$;
comment on function etl.fed(text, timestamptz, timestamptz, name) is
  'Whether a table, view or function has what it needs between two times (the second exclusive), and the role that asks (or the one that is named) sees it. One row for each dataset that feeds it, with the first and the last missing time and what to do: those that lack something come first. A list is fed once its reading has begun. What is looked up by name is fed if everything is known that the watch list and stored rows of that time name: known of seen. If fed is false, missing rows mean nothing.';

-- The comment of a view or a function names the datasets that it needs. Comments of tables follow after this file.
do $$
declare
  fed record;
begin
  for fed in
    select r.what, r.comment || ' Needs: ' || string_agg(f.dataset || case when d.core then '' else ' (not core)' end, ', ' order by f.dataset) || '.' as comment
    from (
      select c.relname::text as name, 'view ' || c.oid::regclass as what, obj_description(c.oid, 'pg_class') as comment
      from pg_catalog.pg_class c where c.relnamespace = 'ton'::regnamespace and c.relkind = 'v'
      union all
      select p.proname::text, 'function ' || p.oid::regprocedure, obj_description(p.oid, 'pg_proc')
      from pg_catalog.pg_proc p where p.pronamespace = 'ton'::regnamespace
    ) r join etl.feeds f on f.relation = r.name join etl.datasets d on d.dataset = f.dataset
    group by r.what, r.comment
  loop
    execute format('comment on %s is %L', fed.what, fed.comment);
  end loop;
end $$;

-- Readers that were created before these views.
do $$
declare
  reader record;
begin
  for reader in
    select distinct a.grantee::regrole as name from pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
    where c.oid = 'etl.coverage_report'::regclass and a.grantee <> 0 and a.grantee <> c.relowner and a.privilege_type = 'SELECT'
  loop
    execute format('grant select on etl.datasets, etl.feeds to %s', reader.name);
  end loop;
end $$;

-- Reports by day store the sums of days that are final.

create or replace function etl.is_certain(streams text[], "from" timestamptz, "to" timestamptz) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  seconds constant int8multirange := etl.seconds_between(is_certain."from", is_certain."to");
  -- What is looked up by name has no seconds.
  timed constant text[] := array(
    select d.dataset from etl.datasets d where d.dataset = any (is_certain.streams) and d.kind = 'stream');
  stored constant text[] := array(
    select c.dataset from etl.coverage c where c.dataset = any (timed) and c.pass = 0
      and not isempty(c.covered) and range_merge(c.covered) && range_merge(seconds)
    union
    select w.dataset from etl.wanted w where w.dataset = any (timed) and w.since < upper(seconds));
  stream text;
begin
  foreach stream in array stored loop
    -- A second that is not verified yet has no grade, and is not final.
    perform etl.assert_complete(stream, is_certain."from", is_certain."to",
      coalesce((select g.grade from etl.grades g where g.dataset = stream), 'proved'));
  end loop;
  return cardinality(stored) > 0;
exception when object_not_in_prerequisite_state then
  return false;
end $$;
comment on function etl.is_certain(text[], timestamptz, timestamptz) is
  'True if streams are complete between two times (the second exclusive) at their highest grade. Only those count that are wanted there, or were read before and after: there must be one.';

-- Its row must be committed before the sums are computed: a later change of the day then deletes it.
create or replace function etl.keep_day(report text, day date) returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform pg_advisory_xact_lock(hashtextextended('toncenter-etl/report/' || keep_day.report, 0));
  execute format('delete from etl.kept_%s where day = %L', keep_day.report, keep_day.day);
  execute format('insert into etl.kept_%1$s (day, position, %2$s)
    select day, row_number() over (), %2$s from etl.open_%1$s where day = %3$L',
    keep_day.report, etl.columns_of_report(keep_day.report), keep_day.day);
  update etl.closed_days c set closed_at = clock_timestamp() where c.relation = keep_day.report and c.day = keep_day.day;
  return found;
end $$;
comment on function etl.keep_day(text, date) is
  'Sums up a day of a report that was begun, and keeps the rows; false if the day changed meanwhile.';

-- A role that may change coverage need not have rights on etl.closed_days.
create or replace function etl.reopen_days() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  stream constant text := coalesce(new.dataset, old.dataset);
  was constant int8multirange[] := array[coalesce(old.covered, '{}'), coalesce(old.verified, '{}')];
  becomes constant int8multirange[] := array[coalesce(new.covered, '{}'), coalesce(new.verified, '{}')];
  changed int8multirange;
begin
  if exists (select from etl.closed_days) then
    changed := (was[1] - becomes[1]) + (becomes[1] - was[1]) + (was[2] - becomes[2]) + (becomes[2] - was[2])
      -- Expired rows do not change what was summed up.
      - coalesce((select int8multirange(int8range(null, (s.value->'datasets'->>stream)::float8::int8))
          from etl.settings s where s.name = 'floors'), '{}');
    delete from etl.closed_days c
    where changed && int8range(extract(epoch from c.day)::int8, extract(epoch from c.day)::int8 + 86400)
      and c.relation in (select f.relation from etl.feeds f where f.dataset = stream);
  end if;
  return null;
end $$;
comment on function etl.reopen_days() is
  'Deletes from etl.closed_days the days that a change of coverage concerns.';

create or replace trigger reopen_days after update on etl.coverage
for each row when (old.covered <> new.covered or old.verified <> new.verified) execute function etl.reopen_days();
create or replace trigger reopen_days_of_streams after insert or delete on etl.coverage
for each row execute function etl.reopen_days();

-- In the transaction that changes the evidence: a process that ends now leaves no certificate without it.
create or replace function etl.withdraw_unsupported() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  evidence constant text := coalesce(new.dataset, old.dataset);
  lacking int8multirange := coalesce(old.verified, '{}') + (coalesce(new.covered, '{}') - coalesce(old.covered, '{}')) - coalesce(new.verified, '{}');
begin
  if coalesce(new.pass, old.pass) <> 0 or coalesce(new.scope, old.scope) <> '' or isempty(lacking) then return null; end if;
  -- What retention drops was proved before.
  lacking := lacking * int8multirange(int8range((select (s.value->'datasets'->>evidence)::float8::int8 from etl.settings s where s.name = 'floors'), null));
  update etl.coverage c set verified = c.verified - lacking, updated_at = default
  from etl.datasets d
  where evidence = any(d.rests_on) and c.dataset = d.dataset and c.pass = 0 and c.verified && lacking;
  return null;
end $$;
comment on function etl.withdraw_unsupported() is
  'Withdraws certificates that depend on a dataset in the seconds in which that one has lost its own, or is read for the first time.';

create or replace trigger withdraw_unsupported after insert or update or delete on etl.coverage
for each row execute function etl.withdraw_unsupported();

-- A list of a person's was another one when the days were summed up.
create or replace function etl.reports_made_of(list regclass) returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with recursive users as (
    select reports_made_of.list::oid as relation
    union
    select r.ev_class from users u
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = u.relation and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite r on r.oid = d.objid)
  select r from etl.reports_by_day() r where ('etl.open_' || r)::regclass in (select u.relation from users u)
$$;
comment on function etl.reports_made_of(regclass) is
  'Reports by day that read a table, directly or through other views.';

drop trigger if exists reopen_prices on etl.stable_jettons;
drop function if exists etl.reopen_prices();
create or replace function etl.reopen_days_of_assets() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from etl.closed_days c using ton.days d where d.day = c.day and c.relation in (select etl.reports_made_of(tg_relid));
  return null;
end $$;
comment on function etl.reopen_days_of_assets() is
  'Deletes the days of reports that are made of a list of assets from etl.closed_days, if their rows are still stored.';
create or replace trigger reopen_days after insert or update or delete on etl.ton_proxies
for each statement execute function etl.reopen_days_of_assets();
create or replace trigger reopen_days after insert or update or delete on etl.stable_jettons
for each statement execute function etl.reopen_days_of_assets();
