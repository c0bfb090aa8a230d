-- Functions, views and comments. Applied as a whole, in one transaction, whenever this text has changed. Comments of
-- tables and columns are in src/tables/ and follow after this file.

do $$
begin
  comment on schema ton is 'The chain as the API gives it: the tables, views and functions to query. Every stream table is partitioned by utime, block time in UTC.';
  comment on schema etl is 'The program''s own tables: what is covered, verified, refused, leased, quarantined, and every page that was committed.';
  comment on schema etl_partitions is 'Partitions of the stream tables in schema ton; query their parents instead.';
exception
  -- An administrator has created them for this role, and owns them.
  when insufficient_privilege then null;
end $$;
comment on table etl.migrations is 'The migrations that were applied to the database, one row each. A program that does not know one of them refuses to work.';
comment on column etl.migrations.id is 'Number of the row, in the order in which they were applied.';
comment on column etl.migrations.hash is 'SHA-256 of the migration''s SQL, hex.';
comment on column etl.migrations.created_at is 'When the migration was made, unix milliseconds; not when it was applied.';

-- Completeness for SQL.

create or replace function etl.as_times(spans int8multirange) returns tstzmultirange
language sql immutable parallel safe begin atomic
  select coalesce(range_agg(tstzrange(to_timestamp(lower(span)), to_timestamp(upper(span)))), '{}') from unnest(spans) span;
end;
comment on function etl.as_times(int8multirange) is
  'Ranges of unix seconds as ranges of time: etl.as_times(covered) of etl.coverage.';

-- Without settings of its own the function is inlined, and costs as much as a cast. The chain's amounts have 37 digits: a
-- greater number from a message would make every sum worthless.
create or replace function etl.to_numeric(value text) returns numeric
language sql immutable parallel safe
return case when length(value) <= 1000 and value ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?$'
  then case when abs(value::numeric) < 1e38 then value::numeric end end;
comment on function etl.to_numeric(text) is
  'A text as a number; null if it is none, is NaN or infinite, is 10^38 or more, or has more than 1000 characters.';

create or replace function etl.grade_rank(grade text) returns int
language sql immutable parallel safe begin atomic
  select array_position(array['covered', 'cross-checked', 'proved'], grade);
end;
comment on function etl.grade_rank(text) is
  'Order of the grades of completeness: covered (1), cross-checked (2), proved (3); null for any other word.';

create or replace function etl.as_argument(second int8) returns text
language sql immutable strict parallel safe begin atomic
  select to_char(to_timestamp(second) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
end;
comment on function etl.as_argument(int8) is
  'A unix second as commands take it: 2026-01-01T00:00:00Z.';

create or replace function etl.command(arguments text, environment text default '') returns text
language sql stable security definer set search_path = pg_catalog, pg_temp begin atomic
  select 'Run: ' || environment || coalesce((select s.value->>'environment' from etl.settings s where s.name = 'caller'), '')
    || 'npx toncenter-etl ' || arguments;
end;
comment on function etl.command(text, text) is
  'A command of the program for hints. It begins with the variables that chose the network and the directory of the last crawl.';

create or replace function etl.seconds_between("from" timestamptz, "to" timestamptz) returns int8multirange
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if seconds_between."from" < seconds_between."to" then
    return int8multirange(int8range(floor(extract(epoch from seconds_between."from"))::int8,
      ceil(extract(epoch from seconds_between."to"))::int8));
  end if;
  raise exception 'from (%) must lie before to (%), which is exclusive', seconds_between."from", seconds_between."to"
    using errcode = 'invalid_parameter_value';
end $$;
comment on function etl.seconds_between(timestamptz, timestamptz) is
  'The unix seconds between two times (the second exclusive), as coverage counts them; raises an error if there are none.';

create or replace view etl.scopes as
select d.dataset, n.address as scope from (values ('nominator_pool_events'), ('nominator_events')) d (dataset)
cross join (
  select w.address from etl.watch w
  union select e.stake_holder_address from ton.validator_events e
  union select p.pool_address from ton.nominator_pool_events p
  union select p.pool_address from ton.nominator_events p
  -- Each name once: the pattern takes longer than reading all of their rows.
  offset 0) n
-- What is no account never becomes a scope: its requests would be refused for ever.
where n.address ~ '^(-1|0):[0-9A-F]{64}$';
comment on view etl.scopes is 'Accounts for each of which a dataset is read, by dataset. No endpoint lists nominator pools, so each account of the watch list and each that staked with the elector is asked for. For an account that is no pool, the answer is an empty list.';
comment on column etl.scopes.dataset is 'Name of a dataset that is read for several accounts.';
comment on column etl.scopes.scope is 'Account for which the dataset is read, raw form.';

create or replace function etl.missing_seconds(dataset text, wanted int8multirange, verified boolean) returns int8multirange
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(range_agg(gap), '{}') from (
    select unnest(wanted - case when missing_seconds.verified then c.verified else c.covered end) as gap
    from etl.coverage c where c.dataset = missing_seconds.dataset and c.pass = 0
    union all
    select unnest(wanted) where not exists (select from etl.coverage c where c.dataset = missing_seconds.dataset and c.pass = 0)
    union all
    select unnest(wanted) where exists (
      select from etl.scopes s where s.dataset = missing_seconds.dataset
        and s.scope not in (select c.scope from etl.coverage c where c.dataset = s.dataset and c.pass = 0))
  ) gaps
$$;
comment on function etl.missing_seconds(text, int8multirange, boolean) is
  'Which of the wanted unix seconds a stream does not cover, or has not verified; of a dataset that is read for several accounts, those that any of them lacks.';

create or replace function etl.did_you_mean(word text, names text[]) returns text
language sql immutable parallel safe begin atomic
  -- The score is the number of common trigrams, then the length.
  select coalesce((
    select format('Did you mean "%s"? ', name)
    from unnest(names) name
    cross join lateral (select count(*) as common from generate_series(1, length(word) - 2) place
      where strpos(name, lower(substr(word, place, 3))) > 0) score
    where common > 0 order by common desc, abs(length(name) - length(word)), name limit 1), '');
end;
comment on function etl.did_you_mean(text, text[]) is
  'A question with the name that is most similar to a misspelled word, for a hint; empty if none is similar.';

create or replace function etl.require_stream(dataset text) returns void
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  found record;
  feeding text;
begin
  select d.kind, d.tables into found from etl.datasets d where d.dataset = require_stream.dataset;
  if found.kind = 'stream' then
    return;
  end if;
  if found.kind is not null then
    raise exception '% is a list, not a stream of time: it has no range that could be complete', require_stream.dataset
      using errcode = 'invalid_parameter_value',
        hint = format('select * from etl.fed(%L) says whether it has been read.', found.tables[1]);
  end if;
  select string_agg(f.dataset, ', ' order by f.dataset) into feeding from etl.feeds f where f.relation = require_stream.dataset;
  raise exception 'there is no dataset "%"', require_stream.dataset
    using errcode = 'invalid_parameter_value',
      hint = case when feeding is null
        then etl.did_you_mean(require_stream.dataset, array(select d.dataset from etl.datasets d))
          || 'select dataset, title from etl.datasets lists them.'
        else format('What fills %s is %s: give a dataset, or ask etl.fed(%L, from, to).', require_stream.dataset, feeding,
          require_stream.dataset) end;
end $$;
comment on function etl.require_stream(text) is
  'Raises an error if a word names no dataset, or one that is not a stream of time.';

-- The function finds out which roles a policy binds: row_security_active() only knows the role that runs it.
create or replace function etl.hidden_from(reader name, tables text[] default null)
returns table (relation text, role name, why text, hint text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with roles as (
    -- Views and this program's functions read as the owner.
    select r.oid, r.rolname, r.rolsuper or r.rolbypassrls as is_exempt from pg_roles r where r.rolname in (reader, current_user)
  ), parts as (
    select c.oid as root, c.oid as part, n.nspname = 'ton' as is_data
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and (n.nspname = 'etl' or n.nspname = 'ton' and (tables is null or c.relname = any (tables)))
  ), hidden as (
    select p.root, p.part, p.is_data, r.rolname, r.oid as role, c.relname
    from (select * from parts union all select p.root, i.inhrelid, p.is_data from parts p join pg_inherits i on i.inhparent = p.root) p
    join pg_class c on c.oid = p.part and c.relrowsecurity
    join roles r on not r.is_exempt and (c.relforcerowsecurity or not pg_has_role(r.oid, c.relowner, 'usage'))
    -- A policy may show all rows.
    cross join lateral (
      select coalesce(bool_or(o.polpermissive and pg_get_expr(o.polqual, o.polrelid) = 'true'), false)
        and not coalesce(bool_or(not o.polpermissive and pg_get_expr(o.polqual, o.polrelid) <> 'true'), false) as shows_all
      from pg_policy o where o.polrelid = p.part and o.polcmd in ('r', '*')
        and exists (select from unnest(o.polroles) named where named = 0 or pg_has_role(r.oid, named, 'usage'))) o
    where not o.shows_all and (p.is_data or has_table_privilege(r.oid, p.root, 'select'))
  )
  select h.root::regclass::text, h.rolname, 'row-level security hides rows of ' || case when bool_or(h.part = h.root) then h.root::regclass::text
      else format('%s of the partitions of %s (%s)', count(*), h.root::regclass, min(h.part::regclass::text)) end || ' from ' || h.rolname,
    format('Let its owner run: alter table %s disable row level security%s. Or give the role a policy that shows all rows: create policy … for select to %I using (true).',
      case when bool_or(h.part = h.root) then h.root::regclass::text else min(h.part::regclass::text) end,
      case when bool_or(h.part = h.root) or count(*) = 1 then '' else ', and likewise of the others' end, h.rolname)
  from hidden h group by h.root, h.rolname
  union all
  select p.root::regclass::text, r.rolname, format('%s may not read %s', r.rolname, p.root::regclass),
    format('Let its owner run: grant select on %s to %I.', p.root::regclass, r.rolname)
  from parts p, roles r
  where p.is_data and not (has_schema_privilege(r.oid, 'ton', 'usage') and has_any_column_privilege(r.oid, p.root, 'select'))
  order by 1 desc, 2
$$;
comment on function etl.hidden_from(name, text[]) is
  'Tables whose rows a role, or the owner of the views, cannot see. Either the right to read is missing, or row-level security is on for the table or some of its partitions, without a policy that shows all rows. Each with the statement that changes this. If tables of schema ton are named, only those.';

create or replace function etl.way_to(dataset text, missing int8multirange, proving boolean) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- What the newest run of each check left open, of the dataset and of those that it rests on.
  return (
  with recursive needs as (
    select way_to.dataset, null::text as detail
    union
    select coalesce(d.dataset, n.dataset), case when d.dataset is null then v.detail end
    from needs n cross join lateral (
      select distinct on (r.check_name, r.scope, r.span) r.holes, r.detail from etl.verifications r
      where r.dataset = n.dataset and r.span && range_merge(way_to.missing) order by r.check_name, r.scope, r.span, r.id desc) v
    left join etl.datasets d on strpos(substring(v.detail from 'no_proved_[a-z_]+'), '_' || d.dataset) > 0
    where way_to.proving and v.holes && way_to.missing),
  facts as (
    select string_agg(distinct n.dataset, ',') as needed,
      string_agg(distinct n.dataset, ',') filter (where not isempty(etl.missing_seconds(n.dataset, way_to.missing, false))) as unread,
      coalesce(bool_or(n.detail like '%no_shard%'), false) as is_shardless,
      coalesce(bool_or(n.detail ~ 'read_(once|differently)'), false) as is_read_once
    from needs n)
  select case when f.unread is not null or not way_to.proving then 'backfill' || f.range || coalesce(f.unread, way_to.dataset)
    when f.is_read_once then 'backfill' || f.range || way_to.dataset || ' --again'
    else 'verify' || f.range || f.needed || case when f.is_shardless then ' --deep 100%' else '' end || ' --repair' end
  from (select *, format(' --from %s --to %s --only ', etl.as_argument(lower(way_to.missing)),
      etl.as_argument(upper(way_to.missing))) as range from facts) f);
end $$;
comment on function etl.way_to(text, int8multirange, boolean) is
  'The command that covers missing seconds of a stream or, if proving, certifies them. It is backfill if the stream, or one that it rests on, was not read, or not read twice. Otherwise it is verify --repair, with --deep 100% if the rows lack values that only the source has.';

drop function if exists etl.assert_complete(text, timestamptz, timestamptz, text);
-- The default is evaluated in the calling statement: it is the role that asks.
create or replace function etl.assert_complete(dataset text, "from" timestamptz, "to" timestamptz, grade text default 'covered',
  reader name default current_user)
-- A role that may read the data may call this, even though it may not read the quarantine.
returns boolean language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted int8multirange;
  missing int8multirange;
  highest text := (select g.grade from etl.grades g where g.dataset = assert_complete.dataset);
  proving boolean := etl.grade_rank(assert_complete.grade) > 1;
  why text;
  lake text;
  unfit record;
  wrong record;
begin
  if etl.grade_rank(assert_complete.grade) is null then
    raise exception '"%" is no grade', assert_complete.grade
      using errcode = 'invalid_parameter_value', hint = 'Grades are covered, cross-checked and proved.';
  end if;
  perform etl.require_stream(assert_complete.dataset);
  select h.why, h.hint into wrong
  from etl.hidden_from(assert_complete.reader, (select d.tables from etl.datasets d where d.dataset = assert_complete.dataset)) h limit 1;
  if found then
    raise exception '%', wrong.why
      using errcode = 'object_not_in_prerequisite_state',
        detail = 'Rows may be stored and yet not be in the result of a query.', hint = wrong.hint;
  end if;
  wanted := etl.seconds_between(assert_complete."from", assert_complete."to");
  if proving and etl.grade_rank(highest) < etl.grade_rank(assert_complete.grade) then
    raise exception '% cannot be %, only %', assert_complete.dataset, assert_complete.grade, highest
      using errcode = 'object_not_in_prerequisite_state', hint = 'The source gives no checksum for it: ask for grade ' || highest || '.';
  end if;
  missing := etl.missing_seconds(assert_complete.dataset, wanted, proving);
  select f.table_name, f.row_key, f.differs, f.check_name, f.span, range_merge(f.span, f.row_span) as reach, substring(f.row_key from '[A-Za-z0-9+/]{43}=') as hash
  into wrong from etl.findings f
  where f.dataset = assert_complete.dataset and f.span && wanted
  order by f.row_key = '', lower(f.span), f.row_key limit 1;
  if wrong.table_name is not null then
    raise exception '% has rows that are known to be wrong from % to %', assert_complete.dataset,
      assert_complete."from", assert_complete."to"
      using errcode = 'object_not_in_prerequisite_state',
        detail = format('%s %s of %s: %s (%s).', wrong.table_name, wrong.row_key,
          etl.as_argument(lower(wrong.span)), wrong.differs, wrong.check_name),
        -- Some wrong values can only be told from right ones by the source: plain --repair does not heal these.
        hint = etl.command(case when wrong.hash is not null then 'why ' || wrong.hash
          else format('verify --from %s --to %s --only %s --deep 100%% --repair', etl.as_argument(lower(wrong.reach)),
            etl.as_argument(upper(wrong.reach)), assert_complete.dataset) end);
  end if;
  select count(*), coalesce(range_agg(q.span), '{}') as spans into unfit from etl.quarantine q
  where q.dataset = assert_complete.dataset and q.span && wanted;
  if not isempty(missing) and not (proving and missing <@ unfit.spans) then
    select s.value->'lakes'->>assert_complete.dataset into lake from etl.settings s where s.name = 'floors'
      and lower(missing) < (s.value->'datasets'->>assert_complete.dataset)::float8;
    select string_agg(reason, '; ') into why from (
      select distinct r.reason || ': ' || r.detail as reason from etl.refused r
      where r.dataset = assert_complete.dataset and r.span && missing
        and (proving or (r.reason <> 'disputed' and r.retry_at is not null))
      union select 'expired, or never wanted: kept from ' || etl.as_argument(w.since) || ' on' from etl.wanted w
      where w.dataset = assert_complete.dataset and lower(missing) < w.since and not proving and lake is null
      union select case when lake is null then 'expired: kept from ' else 'in the lake ' || lake || ': here from ' end
        || etl.as_argument((s.value->'datasets'->>assert_complete.dataset)::float8::int8) || ' on'
      from etl.settings s where s.name = 'floors'
        and lower(missing) < (s.value->'datasets'->>assert_complete.dataset)::float8
      limit 10) reasons;
    raise exception '% is not % in %', assert_complete.dataset, assert_complete.grade, etl.as_times(missing)
      using errcode = 'object_not_in_prerequisite_state',
        detail = coalesce(why, case when proving and missing <@ (select range_agg(part) from etl.coverage c, unnest(c.covered) part
            where c.dataset = assert_complete.dataset and c.pass = 0)
          then 'It is covered, but not verified yet.' else 'It has not been read yet.' end),
        hint = etl.command(case when lake is not null
          then format('import --lake %s --from %s --to %s --only %s', lake, etl.as_argument(lower(missing)),
            etl.as_argument(upper(missing)), assert_complete.dataset)
          else etl.way_to(assert_complete.dataset, missing, proving) end);
  end if;
  if unfit.count > 0 then
    raise exception '% lacks % from % to %: in quarantine', assert_complete.dataset,
      unfit.count || case unfit.count when 1 then ' record' else ' records' end, assert_complete."from", assert_complete."to"
      using errcode = 'object_not_in_prerequisite_state', hint = etl.command('quarantine list');
  end if;
  return true;
end
$$;
comment on function etl.assert_complete(text, timestamptz, timestamptz, text, name) is
  'True if a dataset is complete between two times (the second exclusive). Complete means that every row of the source is stored, and the role that asks (or the one that is named) sees it. Otherwise it raises an error with the missing ranges, the reason and the command that fills them. Grade covered: read completely; cross-checked: two readings agree; proved: compared with the chain''s own checksums (etl.grades says what that means for each dataset).';

create or replace view etl.coverage_report as
select c.dataset, c.scope,
  coalesce(g.grade, 'covered') as grade,
  etl.as_times(c.covered) as covered,
  etl.as_times(c.verified) as verified,
  etl.as_times(case when isempty(c.covered) then '{}' else int8multirange(range_merge(c.covered)) - c.covered end) as holes,
  etl.as_times(coalesce(again.covered, '{}')) as read_twice,
  coalesce(r.refused, '{}') as refused,
  nullif(concat_ws('; ', r.why, q.why), '') as why
from etl.coverage c
left join etl.grades g on g.dataset = c.dataset and not isempty(c.verified)
left join etl.coverage again on again.dataset = c.dataset and again.scope = c.scope and again.pass = 1
left join lateral (
  select etl.as_times(range_agg(r.span) filter (where r.reason <> 'disputed')) as refused,
    string_agg(distinct r.reason || ': ' || r.detail, '; ') as why
  from etl.refused r where r.retry_at is not null and ((r.dataset = c.dataset and r.scope = c.scope)
    or (r.dataset = 'blocks' and r.pass = 0 and r.reason = 'source_gap'))) r on true
left join lateral (
  select count(*) || ' records in quarantine' as why
  from etl.quarantine q where q.dataset = c.dataset and q.scope = c.scope having count(*) > 0) q on true
where c.pass = 0;
comment on view etl.coverage_report is 'The state of every dataset: which times are covered and verified, what is missing and why.';
comment on column etl.coverage_report.dataset is 'Name of the reported dataset: its file in jobs/ without the ending.';
comment on column etl.coverage_report.scope is 'Pool or account that the dataset is read for; empty if it is read whole.';
comment on column etl.coverage_report.grade is 'What verified means here: proved or cross-checked; covered while nothing is verified.';
comment on column etl.coverage_report.covered is 'Times whose rows are stored.';
comment on column etl.coverage_report.verified is 'Times whose rows were checked afterwards and have the grade.';
comment on column etl.coverage_report.holes is 'Times between the first and the last covered one that are not covered.';
comment on column etl.coverage_report.read_twice is 'Times that were read a second time, for datasets whose rows mature or have no checksum.';
comment on column etl.coverage_report.refused is 'Times that could not be read, and are not read again before a pause is over.';
comment on column etl.coverage_report.why is 'Why times are refused or stay unverified, and how many records are in quarantine; null if nothing is wrong.';

-- Details of actions are stored as they were sent, and servers may print addresses in other forms than those of the
-- tables.
create or replace function etl.raw_of_friendly(word text) returns text language sql immutable parallel safe begin atomic
  select case get_byte(bytes, 1) when 255 then '-1' else get_byte(bytes, 1)::text end || ':' || upper(encode(substring(bytes from 3 for 32), 'hex'))
  from decode(translate(word, '-_', '+/'), 'base64') as bytes;
end;
comment on function etl.raw_of_friendly(text) is 'The raw form of an address of 48 characters.';

-- Inlined, as it has no subquery. A count such as {64} makes an expression slow.
create or replace function etl.raw_address(word text) returns text language sql immutable parallel safe
return case
  when length(word) = 66 and word ~ '^0:[0-9A-F]+$' then word
  when length(word) = 66 and word ~ '^0:[0-9A-Fa-f]+$' or length(word) = 67 and word ~ '^-1:[0-9A-Fa-f]+$' then upper(word)
  when length(word) = 48 and word ~ '^[A-Za-z0-9+/_-]+$' then etl.raw_of_friendly(word)
end;
comment on function etl.raw_address is 'The raw form of an account''s address in raw or friendly form; null for anything else.';

create or replace view etl.seen_multisigs as
select etl.raw_address(a.details->>'destination') as address, a.start_lt as lt, a.utime
from ton.actions a where a.type in ('multisig_create_order', 'multisig_execute') and etl.raw_address(a.details->>'destination') is not null;
comment on view etl.seen_multisigs is 'Multisig wallets that indexed actions name: those that multisig_wallets looks up.';
comment on column etl.seen_multisigs.address is 'Account of the multisig wallet, raw form, out of an action''s details.';
comment on column etl.seen_multisigs.lt is 'Logical time at which the action that names the wallet began.';
comment on column etl.seen_multisigs.utime is 'Block time, UTC, of the action that names the wallet.';

create or replace view etl.seen_multisig_orders as
select etl.raw_address(case a.type when 'multisig_create_order' then a.details->>'destination_order' else a.details->>'destination' end) as address,
  a.start_lt as lt, a.utime
from ton.actions a where a.type in ('multisig_create_order', 'multisig_approve');
comment on view etl.seen_multisig_orders is 'Orders of multisig wallets that indexed actions name: those that multisig_orders looks up.';
comment on column etl.seen_multisig_orders.address is 'Account of the order, raw form, out of an action''s details; null if they lack it.';
comment on column etl.seen_multisig_orders.lt is 'Logical time at which the action that names the order began.';
comment on column etl.seen_multisig_orders.utime is 'Block time, UTC, of the action that names the order.';

create or replace view etl.seen_jetton_wallets as
select m.destination as address, m.created_lt as lt, m.utime from ton.messages m where m.opcode = '0x178d4519';
comment on view etl.seen_jetton_wallets is 'Jetton wallets that stored messages gave jettons to, by a mint or a transfer: whom jetton_wallets looks up beside those that sent some.';
comment on column etl.seen_jetton_wallets.address is 'Jetton wallet that was given jettons, raw form.';
comment on column etl.seen_jetton_wallets.lt is 'Logical time at which the message that gives jettons was sent.';
comment on column etl.seen_jetton_wallets.utime is 'Block time, UTC, at which the message that gives jettons was sent.';

create or replace view etl.seen_telemints as
with recursive codes as (
  (select min(code_hash) as code_hash from ton.nft_items)
  union all
  select (select min(i.code_hash) from ton.nft_items i where i.code_hash > c.code_hash) from codes c where c.code_hash is not null),
telemints as (select code_hash, min(loaded_at) as since from ton.nft_sales where type = 'telemint' group by code_hash)
select i.address, i.last_transaction_lt as lt, greatest(i.loaded_at, t.since) as loaded_at
from telemints t join ton.nft_items i using (code_hash)
union all
select i.address, i.last_transaction_lt, i.loaded_at
from codes c cross join lateral (
  select * from ton.nft_items n where n.code_hash = c.code_hash order by n.address limit 3) i;
comment on view etl.seen_telemints is 'Items that may be auctions of user names and numbers, which nft_sales looks up. Of each code hash there are three items, or all if one of them was found to be such an auction.';
comment on column etl.seen_telemints.address is 'Account of the item, raw form, which is its own auction.';
comment on column etl.seen_telemints.lt is 'Logical time of the last transaction of the item that is known.';
comment on column etl.seen_telemints.loaded_at is 'When the row of the item was written last, or the first auction of its code, whichever came later, wall time, UTC.';

create or replace view etl.seen_pools as
select address, loaded_at from ton.address_book where 'tv_pool' = any (interfaces)
union all
select address, loaded_at from ton.account_states where 'tv_pool' = any (interfaces);
comment on view etl.seen_pools is 'Accounts that the indexer takes for nominator pools, by their interfaces: whom nominator_pools looks up beside those that had events.';
comment on column etl.seen_pools.address is 'Account of the nominator pool, raw form.';
comment on column etl.seen_pools.loaded_at is 'When the row that names the interfaces of the pool was written last, wall time, UTC.';

create or replace view etl.seen_sales as
select etl.raw_address(a.details->>'old_owner') as address, a.start_lt as lt, a.utime
from ton.actions a where a.type in ('nft_purchase', 'nft_transfer') and (a.details->>'old_owner') <> (a.details->>'real_old_owner');
comment on view etl.seen_sales is 'Contracts that sold an item by indexed actions: sales and auctions that nft_sales looks up although they have ended.';
comment on column etl.seen_sales.address is 'Account of the contract that sold the item, raw form, out of an action''s details.';
comment on column etl.seen_sales.lt is 'Logical time at which the action of the sale began.';
comment on column etl.seen_sales.utime is 'Block time, UTC, of the action of the sale.';

create or replace view etl.seen_vestings as
select etl.raw_address(a.details->>'vesting') as address, a.start_lt as lt, a.utime
from ton.actions a where a.type in ('vesting_send_message', 'vesting_add_whitelist');
comment on view etl.seen_vestings is 'Vesting contracts that indexed actions name: those that vesting_contracts looks up.';
comment on column etl.seen_vestings.address is 'Account of the vesting contract, raw form, out of an action''s details; null if they lack it.';
comment on column etl.seen_vestings.lt is 'Logical time at which the action that names the contract began.';
comment on column etl.seen_vestings.utime is 'Block time, UTC, of the action that names the contract.';

create or replace function etl.decimals_of(own int, content jsonb, found int, is_indexed boolean) returns int
language sql immutable parallel safe
return coalesce(own, found, case when is_indexed or jsonb_typeof(content) = 'object' and (content->>'uri') is null then 9 end);
comment on function etl.decimals_of(int, jsonb, int, boolean) is
  'Decimals of a jetton by its master, else by the indexer''s metadata. If one of these is whole and says none, they are 9, as in wallets. Null if what lies off chain is not known.';

create or replace view ton.accounts as
select address, b.user_friendly, b.domain, coalesce(b.interfaces, s.interfaces) as interfaces,
  t.type as token_type, t.name as token_name, coalesce(m.symbol, t.symbol) as token_symbol,
  etl.decimals_of(m.decimals, m.jetton_content, t.decimals, t.is_indexed and t.type = 'jetton_masters') as token_decimals, t.is_scam,
  s.status, s.balance, s.last_transaction_lt, w.note,
  coalesce(nullif(w.note, ''), l.label, b.domain, t.name, b.user_friendly) as label
from ton.address_book b
full join ton.token_metadata t using (address)
full join ton.jetton_masters m using (address)
full join ton.account_states s using (address)
full join etl.watch w using (address)
full join etl.labels l using (address);
comment on view ton.accounts is 'What is known about an account by name: join this view for labels. It draws on the address book, the metadata of tokens, the masters of jettons, the states that were looked up, the watch list and labels.';
comment on column ton.accounts.address is 'Account, raw form: join it to any address of another table.';
comment on column ton.accounts.user_friendly is 'The form in which wallets show the account; null if the API has not named it.';
comment on column ton.accounts.domain is 'A domain that leads to the account; null if none is known.';
comment on column ton.accounts.interfaces is 'What kinds of contract the indexer takes the account for; null if it is not known.';
comment on column ton.accounts.token_type is 'What kind of token the account is: jetton_masters, nft_items, …; null if it is none or not known.';
comment on column ton.accounts.token_name is 'Name of the token that the account is; null if it is none.';
comment on column ton.accounts.token_symbol is 'Ticker of the jetton that the account is; null if it is none.';
comment on column ton.accounts.token_decimals is 'Decimal places of amounts of the jetton that the account is, by the rule of jetton_units. Null if they are not known.';
comment on column ton.accounts.is_scam is 'True if the token is marked as fraud; null if it is not known.';
comment on column ton.accounts.status is 'Status of the account when it was looked up last: active, uninit, frozen or nonexist; null if it never was looked up.';
comment on column ton.accounts.balance is 'Nanotons when it was looked up last; null if it never was.';
comment on column ton.accounts.last_transaction_lt is 'Logical time up to which the looked-up state goes; null if it never was looked up.';
comment on column ton.accounts.note is 'Why the account is watched; null if it is not.';
comment on column ton.accounts.label is 'What to call the account: the note of the watch list, or else its label, its domain, its token''s name, its friendly form.';

create or replace view etl.watched_moves as
select distinct t.account || '@' || t.mc_block_seqno as key, t.account as address, t.mc_block_seqno as seqno, t.utime
from etl.watch w join ton.transactions t on t.account = w.address where t.mc_block_seqno is not null;
comment on view etl.watched_moves is 'Masterchain blocks in which watched accounts moved, as far as their transactions are stored: which states extended_account_states asks for.';
comment on column etl.watched_moves.key is 'Account and block as one text: what is asked for.';
comment on column etl.watched_moves.address is 'Watched account that moved, raw form.';
comment on column etl.watched_moves.seqno is 'Masterchain block that registered the move.';
comment on column etl.watched_moves.utime is 'Block time, UTC, of the transaction by which the account moved.';

create or replace view etl.unlocated_messages as
select m.hash, m.source, m.destination, m.created_lt, m.utime
from ton.messages m
where m.source is not null and m.destination is not null and m.created_lt is not null
  and not exists (select from ton.transactions t where t.in_msg_hash = m.hash and t.in_msg_utime = m.utime);
comment on view etl.unlocated_messages is 'Messages between accounts whose receiving transaction is not stored: what message_locations asks for.';
comment on column etl.unlocated_messages.hash is 'Hash of the message whose receiving transaction is not stored, base64.';
comment on column etl.unlocated_messages.source is 'Account that sent the message, raw form.';
comment on column etl.unlocated_messages.destination is 'Account that is to receive the message, raw form.';
comment on column etl.unlocated_messages.created_lt is 'Logical time at which the message was sent.';
comment on column etl.unlocated_messages.utime is 'Block time, UTC, at which the message was sent.';

create or replace view etl.stored_shard_blocks as
select b.workchain || ':' || b.shard || ':' || b.seqno as key, b.workchain,
  case when b.shard ~ '^[0-9A-Fa-f]{1,16}$' then ('x' || lpad(b.shard, 16, '0'))::bit(64)::int8 end as shard, b.seqno, b.utime
from ton.blocks b where b.workchain >= 0;
comment on view etl.stored_shard_blocks is 'Stored blocks of the shards, named as v2 wants it: what shard_block_proofs asks for.';
comment on column etl.stored_shard_blocks.key is 'Workchain, shard in hex and seqno as one text: what is asked for.';
comment on column etl.stored_shard_blocks.workchain is 'Workchain of the stored block.';
comment on column etl.stored_shard_blocks.shard is 'Shard of the stored block as a signed number, as v2 takes it.';
comment on column etl.stored_shard_blocks.seqno is 'Number of the stored block in its shard.';
comment on column etl.stored_shard_blocks.utime is 'Block time, UTC, of the stored block.';

create or replace view ton.masterchain_lag as
select n.taken_at, n.seqno as node_seqno, i.seqno as index_seqno, n.seqno - i.seqno as blocks_behind, i.head_utime,
  extract(epoch from i.taken_at - i.head_utime)::numeric(38,6) as index_age_seconds
from ton.masterchain_heads n
cross join lateral (
  select * from ton.masterchain_heads i
  where i.source = 'index' and i.taken_at >= n.taken_at and i.taken_at < n.taken_at + interval '30 seconds'
  order by i.taken_at limit 1) i
where n.source = 'node';
comment on view ton.masterchain_lag is 'How far the index lags behind the nodes, sample by sample: each of the nodes with the one of the index that was taken next.';
comment on column ton.masterchain_lag.taken_at is 'When the nodes were asked, wall time, UTC.';
comment on column ton.masterchain_lag.node_seqno is 'Newest masterchain block of the nodes.';
comment on column ton.masterchain_lag.index_seqno is 'Newest masterchain block of the index, asked right after.';
comment on column ton.masterchain_lag.blocks_behind is 'Masterchain blocks by which the index lags; below zero if it was asked later than the nodes.';
comment on column ton.masterchain_lag.head_utime is 'Block time, UTC, of the newest block of the index.';
comment on column ton.masterchain_lag.index_age_seconds is 'How old the newest block of the index was when it was asked, seconds.';
