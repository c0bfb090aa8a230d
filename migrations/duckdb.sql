-- What analysts call over a lake: the functions of analyst.sql for DuckDB. Its views follow after this file.
set TimeZone = 'UTC';
create schema if not exists ton;
create schema if not exists etl;

-- The CRC of the first 34 bytes of an address, as hex digits. A list of one element serves as a name for a value that
-- is used several times.
create or replace macro etl.crc16(digits) as list_reduce(
  list_transform(range(0, 34), lambda place: ('0x' || substr(digits, 2 * place::int + 1, 2))::int),
  lambda crc, byte: list_transform(list_transform([xor(crc >> 8, byte) & 255], lambda x: xor(x, x >> 4)),
    lambda x: xor(xor(xor(crc << 8, x << 12), x << 5), x) & 65535)[1], 0);
create or replace macro etl.hex4(number) as lpad(to_hex(number), 4, '0');
create or replace macro etl.hex_of_friendly(word) as hex(from_base64(translate(word, '-_', '+/')));
create or replace macro etl.workchain_of_hex(digits) as case when digits = 'FF' then -1 else ('0x' || digits)::int end;

create or replace macro ton.ton_address(form) as case
  when form is null then null
  when regexp_full_match(trim(form), '-?[0-9]{1,10}:[0-9a-fA-F]{64}')
    then split_part(trim(form), ':', 1)::int || ':' || upper(split_part(trim(form), ':', 2))
  when regexp_full_match(trim(form), '[0-9a-fA-F]{64}') then '0:' || upper(trim(form))
  when not regexp_full_match(trim(form), '[A-Za-z0-9+/_-]{48}') then error('"' || form || '" is not an address')
  when etl.hex4(etl.crc16(etl.hex_of_friendly(trim(form)))) <> right(etl.hex_of_friendly(trim(form)), 4)
    then error('"' || form || '" is not an address: its checksum is wrong: a character is missing or mistyped')
  else etl.workchain_of_hex(substr(etl.hex_of_friendly(trim(form)), 3, 2)) || ':' || substr(etl.hex_of_friendly(trim(form)), 5, 64)
end;

create or replace macro etl.raw_address(word) as case
  when regexp_full_match(word, '(-1|0):[0-9A-Fa-f]{64}') then upper(word)
  when regexp_full_match(word, '[A-Za-z0-9+/_-]{48}')
    then etl.workchain_of_hex(substr(etl.hex_of_friendly(word), 3, 2)) || ':' || substr(etl.hex_of_friendly(word), 5, 64)
end;

create or replace macro etl.friendly_bytes(raw, bounceable, testnet) as
  lpad(to_hex((case when bounceable then 17 else 81 end) + (case when testnet then 128 else 0 end)), 2, '0')
  || (case when split_part(raw, ':', 1) = '-1' then 'FF' else lpad(to_hex(split_part(raw, ':', 1)::int), 2, '0') end)
  || split_part(raw, ':', 2);
create or replace macro ton.ton_address_friendly(address, bounceable := true, testnet := false) as list_transform(
  [etl.friendly_bytes(ton.ton_address(address), bounceable, testnet)],
  lambda bytes: translate(to_base64(unhex(bytes || etl.hex4(etl.crc16(bytes)))), '+/', '-_'))[1];

create or replace macro ton.ton_hash(form) as case
  when form is null then null
  when regexp_full_match(trim(form), '(0[xX])?[0-9a-fA-F]{64}') then to_base64(unhex(right(trim(form), 64)))
  when regexp_full_match(trim(form), '[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?')
    then translate(left(trim(form), 43), '-_', '+/') || '='
  else error('"' || form || '" is not a hash')
end;
create or replace macro ton.hash_hex(hash) as lower(hex(from_base64(ton.ton_hash(hash))));

create or replace macro etl.to_numeric(value) as case
  when regexp_full_match(value, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?') then try_cast(value as decimal(38,0))
end;
create or replace macro ton.nano_to_ton(nanotons) as nanotons * 0.000000001;
-- Whole units and prices are doubles here: DuckDB's decimals do not have enough digits. The bounds are those of the database.
create or replace macro etl.as_raw(amount) as case when abs(amount) < 1e38 then amount end;
create or replace macro etl.as_ton(amount) as case when abs(amount) < 1e29 then amount end;
create or replace macro etl.as_units(amount) as case when abs(amount) < 1e20 then amount end;
create or replace macro etl.units(amount, decimals) as
  etl.as_units(amount / pow(10, case when decimals between 0 and 300 then decimals end));
create or replace macro etl.rounded(amount) as try_cast(round(amount) as decimal(28,0));
create or replace macro etl.as_price(price) as case when abs(price) < 1e14 then round(price::double, 24) end;
create or replace macro etl.as_usd(amount) as try_cast(amount as decimal(38,6));
create or replace macro etl.nanotons_each(ton, ton_amount, usd, usd_amount, ton_usd) as
  (coalesce(ton, 0) + coalesce(1000000000 * usd / ton_usd, 0))
  / nullif(coalesce(ton_amount, 0) + case when ton_usd is null then 0 else coalesce(usd_amount, 0) end, 0);
create or replace macro etl.decimals_of(own, content, found, is_indexed) as coalesce(own, found,
  case when is_indexed or json_type(content) = 'OBJECT' and (content->>'uri') is null then 9 end);
create or replace macro etl.asset_decimals(asset, own, content, found, is_indexed) as
  case when asset = 'TON' then 9 else etl.decimals_of(own, content, found, is_indexed) end;
create or replace macro etl.asset_symbol(asset, own, found) as case when asset = 'TON' then 'TON' else coalesce(own, found) end;
create or replace macro etl.dex_of(named) as regexp_replace(named, '_v[0-9]+$', '');
create or replace macro etl.dex_version_of(named) as coalesce(nullif(substr(named, length(etl.dex_of(named)) + 3), ''), '1');
create or replace macro etl.asset_of(dex, named, amount, wallet) as case
  when named is not null then etl.raw_address(named)
  when amount is not null and (dex in ('stonfi_v2', 'tonco') or dex <> 'stonfi' and wallet is null) then 'TON' end;
create or replace macro etl.positions_in(list) as case
  when json_type(list) = 'ARRAY' then range(0, json_array_length(list)::bigint) else [] end;
create or replace macro etl.hops_of(details) as coalesce(nullif(etl.positions_in(details->'peer_swaps'), []), [0]);
create or replace macro etl.referral_in(decoded) as '0:' || nullif(regexp_extract(decoded,
  '"ref(?:erral)?_address": \{(?:"@type": "just", "value": \{)?"@type": "addr_std", "address": "([0-9A-F]{64})"', 1), '');
create or replace macro cardinality(list) as len(list);
create or replace macro main.div(amount, divisor) as floor(amount / divisor);
-- As in Postgres, with the time zone as the third argument: all times are UTC here.
create or replace macro main.date_trunc(part, moment) as system.main.date_trunc(part, moment),
  (part, moment, zone) as system.main.date_trunc(part, moment);

-- Jettons that count as TON, in addition to those that the program knows: replace them with yours.
create or replace view etl.ton_proxies as select null::varchar as address, null::varchar as dex, null::varchar as note where false;

-- No day of a lake is kept.
create or replace view etl.certified_changes as
select null::date as day, null::varchar as account, null::varchar as asset, null::decimal(38,0) as balance_raw, null::decimal(38,0) as change_raw where false;

-- The valid parts of each table: those that its log adds and no later commit removes.

set variable lake = coalesce(getvariable('lake'), '.');
-- A checkpoint contains the commits before it, some of which no longer exist.
create or replace table etl.checkpoints as
select split_part(file, '/', -3) as "table", max(file) as file, max(split_part(file, '/', -1)[:20]::bigint) as version
from glob(getvariable('lake') || '/*/_delta_log/*.checkpoint.parquet') group by 1;
set variable checkpoints = (
  select coalesce('select filename, add from read_parquet([' || string_agg('''' || replace(file, '''', '''''') || '''', ', ') || '], filename = true)',
    'select null::varchar as filename, null::struct(path varchar, "partitionValues" map(varchar, varchar), tags map(varchar, varchar)) as add where false')
  from etl.checkpoints);
create or replace table etl.actions as
select split_part(filename, '/', -3) as "table", split_part(filename, '/', -1)[:20]::bigint as version, url_decode(add.path) as path,
  (to_json(add.partitionValues)->>'day')::date as day, {
    'from': (to_json(add.tags)->>'from')::bigint, 'to': (to_json(add.tags)->>'to')::bigint, 'rows': (to_json(add.tags)->>'rows')::bigint,
    'keys': to_json(add.tags)->>'keys', 'grades': to_json(add.tags)->>'grades'} as tags, true as is_there
from query(getvariable('checkpoints')) where add is not null
union all
select split_part(filename, '/', -3) as "table", split_part(filename, '/', -1)[:20]::bigint as version,
  url_decode(coalesce(add.path, remove.path)) as path, add.partitionValues.day as day, add.tags as tags, add is not null as is_there
from read_json(getvariable('lake') || '/*/_delta_log/*.json', format = 'newline_delimited', filename = true, columns = {
  add: 'STRUCT(path VARCHAR, "partitionValues" STRUCT(day DATE), tags STRUCT("from" BIGINT, "to" BIGINT, "rows" BIGINT, keys VARCHAR, grades VARCHAR))',
  remove: 'STRUCT(path VARCHAR)'})
where (add is not null or remove is not null)
  and split_part(filename, '/', -1)[:20]::bigint > coalesce((select c.version from etl.checkpoints c where c."table" = split_part(filename, '/', -3)), -1);
create or replace table etl.parts as
select "table", path, day, tags."rows" as "rows", to_timestamp(tags."from") as starts, to_timestamp(tags."to") as ends, tags.grades::json as grades,
  list_contains(getvariable('streams'), "table") as is_stream
from (select * from etl.actions qualify row_number() over (partition by "table", path order by version desc, is_there desc) = 1)
where is_there;
drop table etl.actions;
drop table etl.checkpoints;

-- Only the newest snapshot of a list counts.
set variable no_rows = 'select null::date as day where false';
create or replace macro etl.query_of(name) as (
  select coalesce('select * from read_parquet([' || string_agg('''' || replace(getvariable('lake') || '/' || name || '/' || path, '''', '''''') || '''', ', ' order by path)
    || '], union_by_name = true, hive_partitioning = true, hive_types = {day: date})', getvariable('no_rows'))
  from (select * from etl.parts p where p."table" = name qualify p.is_stream or p.day = max(p.day) over ()));

create or replace view etl.parts_of_movements as
select "table", starts, ends from etl.parts where "table" in ('transactions', 'jetton_transfers', 'jetton_burns');
create or replace macro etl.movements_stored(known, wanted) as (
  select count(*) = 3 and bool_and(s.stored >= s.needed)
  from (
    select sum(greatest(0, epoch(least(p.ends, r.until)) - epoch(greatest(p.starts, r.since)))) as stored, any_value(epoch(r.until) - epoch(r.since)) as needed
    from etl.parts_of_movements p, (
      select least(known, wanted) as since, case when wanted <= known then known + interval 1 second else greatest(known, least(wanted, (
        select min(e.ends) from (select max(ends) as ends from etl.parts_of_movements group by "table") e))) end as until) r
    group by p."table") s);

create or replace view ton.days as
select distinct day, day::timestamptz as starts, (day + 1)::timestamptz as ends from etl.parts where is_stream;

create or replace macro etl.days_of_report(report) as table select d.day, d.ends from ton.days d;

create or replace macro etl.balance_days() as table
select unnest(generate_series(s.starts::timestamp, s.ends::timestamp, interval 1 day))::date as day, true as is_open
from (select min(p.day) as starts,
    max(case when p."table" in ('transactions', 'jetton_transfers', 'jetton_burns') and p."rows" > 0 then p.day end) as ends
  from etl.parts p where p.is_stream) s;

-- Tables that a user of the database may change: insert and delete rows as you see fit.
create table if not exists etl.stable_jettons as select * from (values
  ('0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE', 'USDT', 6)) known (address, symbol, decimals);
create table if not exists etl.labels (address varchar, label varchar, category varchar, organization varchar);
