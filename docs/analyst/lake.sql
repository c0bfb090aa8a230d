set variable streams = ['actions', 'action_accounts', 'action_transactions', 'blocks', 'block_parents', 'jetton_burns', 'jetton_transfers', 'nft_transfers', 'nominator_events', 'nominator_pool_events', 'shard_states', 'traces', 'trace_nodes', 'transactions', 'messages', 'validator_complaints', 'complaint_votes', 'validator_cycles', 'cycle_validators', 'validator_elections', 'election_participants', 'validator_events'];

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

set variable ton_account_states = etl.query_of('account_states');
create or replace view ton.account_states as
select null::VARCHAR as "address", null::BIGINT as "last_transaction_lt", null::VARCHAR as "account_state_hash", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra_currencies", null::VARCHAR as "status", null::VARCHAR as "frozen_hash", null::VARCHAR as "last_transaction_hash", null::VARCHAR as "data_hash", null::VARCHAR as "code_hash", null::VARCHAR as "data_boc", null::VARCHAR as "code_boc", null::VARCHAR as "contract_methods", null::VARCHAR as "interfaces", null::BOOLEAN as "suspended", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_states'), error('the lake has no part of account_states, because its dataset was not covered or not exported: run toncenter-etl backfill --only account_states with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_account_states as
select null::VARCHAR as "address", null::BIGINT as "last_transaction_lt", null::VARCHAR as "account_state_hash", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra_currencies", null::VARCHAR as "status", null::VARCHAR as "frozen_hash", null::VARCHAR as "last_transaction_hash", null::VARCHAR as "data_hash", null::VARCHAR as "code_hash", null::VARCHAR as "data_boc", null::VARCHAR as "code_boc", null::VARCHAR as "contract_methods", null::VARCHAR as "interfaces", null::BOOLEAN as "suspended", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_states'), getvariable('no_rows')));

set variable ton_account_state_changes = etl.query_of('account_state_changes');
create or replace view ton.account_state_changes as
select null::VARCHAR as "address", null::BIGINT as "last_transaction_lt", null::VARCHAR as "account_state_hash", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra_currencies", null::VARCHAR as "status", null::VARCHAR as "frozen_hash", null::VARCHAR as "last_transaction_hash", null::VARCHAR as "data_hash", null::VARCHAR as "code_hash", null::VARCHAR as "data_boc", null::VARCHAR as "code_boc", null::VARCHAR as "contract_methods", null::VARCHAR as "interfaces", null::BOOLEAN as "suspended", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::TIMESTAMPTZ as "first_seen", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_state_changes'), error('the lake has no part of account_state_changes, because its dataset was not covered or not exported: run toncenter-etl backfill --only account_states with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_account_state_changes as
select null::VARCHAR as "address", null::BIGINT as "last_transaction_lt", null::VARCHAR as "account_state_hash", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra_currencies", null::VARCHAR as "status", null::VARCHAR as "frozen_hash", null::VARCHAR as "last_transaction_hash", null::VARCHAR as "data_hash", null::VARCHAR as "code_hash", null::VARCHAR as "data_boc", null::VARCHAR as "code_boc", null::VARCHAR as "contract_methods", null::VARCHAR as "interfaces", null::BOOLEAN as "suspended", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::TIMESTAMPTZ as "first_seen", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_state_changes'), getvariable('no_rows')));

set variable ton_account_transactions = etl.query_of('account_transactions');
create or replace view ton.account_transactions as
select null::VARCHAR as "account", null::BIGINT as "lt", null::VARCHAR as "hash", null::TIMESTAMPTZ as "utime", null::DECIMAL(38,0) as "fee", null::DECIMAL(38,0) as "storage_fee", null::DECIMAL(38,0) as "other_fee", null::VARCHAR as "data", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_transactions'), error('the lake has no part of account_transactions, because its dataset was not covered or not exported: run toncenter-etl backfill --only account_transactions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_account_transactions as
select null::VARCHAR as "account", null::BIGINT as "lt", null::VARCHAR as "hash", null::TIMESTAMPTZ as "utime", null::DECIMAL(38,0) as "fee", null::DECIMAL(38,0) as "storage_fee", null::DECIMAL(38,0) as "other_fee", null::VARCHAR as "data", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_transactions'), getvariable('no_rows')));

set variable ton_account_messages = etl.query_of('account_messages');
create or replace view ton.account_messages as
select null::VARCHAR as "account", null::BIGINT as "lt", null::INTEGER as "position", null::VARCHAR as "hash", null::VARCHAR as "source", null::VARCHAR as "destination", null::DECIMAL(38,0) as "value", null::VARCHAR as "extra_currencies", null::DECIMAL(38,0) as "fwd_fee", null::DECIMAL(38,0) as "ihr_fee", null::BIGINT as "created_lt", null::VARCHAR as "body_hash", null::VARCHAR as "message", null::VARCHAR as "message_decode_error", null::VARCHAR as "data_type", null::VARCHAR as "body", null::VARCHAR as "init_state", null::VARCHAR as "text", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_messages'), error('the lake has no part of account_messages, because its dataset was not covered or not exported: run toncenter-etl backfill --only account_transactions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_account_messages as
select null::VARCHAR as "account", null::BIGINT as "lt", null::INTEGER as "position", null::VARCHAR as "hash", null::VARCHAR as "source", null::VARCHAR as "destination", null::DECIMAL(38,0) as "value", null::VARCHAR as "extra_currencies", null::DECIMAL(38,0) as "fwd_fee", null::DECIMAL(38,0) as "ihr_fee", null::BIGINT as "created_lt", null::VARCHAR as "body_hash", null::VARCHAR as "message", null::VARCHAR as "message_decode_error", null::VARCHAR as "data_type", null::VARCHAR as "body", null::VARCHAR as "init_state", null::VARCHAR as "text", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_account_messages'), getvariable('no_rows')));

set variable ton_actions = etl.query_of('actions');
create or replace view ton.actions as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "action_id", null::VARCHAR as "type", null::BOOLEAN as "success", null::VARCHAR as "source", null::VARCHAR as "destination", null::VARCHAR as "asset", null::DECIMAL(38,0) as "amount", null::VARCHAR as "details", null::TIMESTAMPTZ as "start_utime", null::BIGINT as "start_lt", null::TIMESTAMPTZ as "end_utime", null::BIGINT as "end_lt", null::BIGINT as "trace_end_lt", null::INTEGER as "trace_mc_seqno_end", null::VARCHAR as "trace_external_hash", null::VARCHAR as "trace_external_hash_norm", null::INTEGER as "account_count", null::INTEGER as "transaction_count", null::VARCHAR as "finality", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_actions'), error('the lake has no part of actions, because its dataset was not covered or not exported: run toncenter-etl backfill --only actions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_actions as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "action_id", null::VARCHAR as "type", null::BOOLEAN as "success", null::VARCHAR as "source", null::VARCHAR as "destination", null::VARCHAR as "asset", null::DECIMAL(38,0) as "amount", null::VARCHAR as "details", null::TIMESTAMPTZ as "start_utime", null::BIGINT as "start_lt", null::TIMESTAMPTZ as "end_utime", null::BIGINT as "end_lt", null::BIGINT as "trace_end_lt", null::INTEGER as "trace_mc_seqno_end", null::VARCHAR as "trace_external_hash", null::VARCHAR as "trace_external_hash_norm", null::INTEGER as "account_count", null::INTEGER as "transaction_count", null::VARCHAR as "finality", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_actions'), getvariable('no_rows')));

set variable ton_action_accounts = etl.query_of('action_accounts');
create or replace view ton.action_accounts as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "action_id", null::INTEGER as "position", null::VARCHAR as "account", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_action_accounts'), error('the lake has no part of action_accounts, because its dataset was not covered or not exported: run toncenter-etl backfill --only actions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_action_accounts as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "action_id", null::INTEGER as "position", null::VARCHAR as "account", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_action_accounts'), getvariable('no_rows')));

set variable ton_action_transactions = etl.query_of('action_transactions');
create or replace view ton.action_transactions as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "action_id", null::INTEGER as "position", null::VARCHAR as "tx_hash", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_action_transactions'), error('the lake has no part of action_transactions, because its dataset was not covered or not exported: run toncenter-etl backfill --only actions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_action_transactions as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "action_id", null::INTEGER as "position", null::VARCHAR as "tx_hash", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_action_transactions'), getvariable('no_rows')));

set variable ton_address_book = etl.query_of('address_book');
create or replace view ton.address_book as
select null::VARCHAR as "address", null::VARCHAR as "user_friendly", null::VARCHAR as "domain", null::VARCHAR as "interfaces", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_address_book'), error('the lake has no part of address_book, because its dataset was not covered or not exported: run toncenter-etl backfill --only address_book with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_address_book as
select null::VARCHAR as "address", null::VARCHAR as "user_friendly", null::VARCHAR as "domain", null::VARCHAR as "interfaces", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_address_book'), getvariable('no_rows')));

set variable ton_blocks = etl.query_of('blocks');
create or replace view ton.blocks as
select null::TIMESTAMPTZ as "utime", null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::VARCHAR as "root_hash", null::VARCHAR as "file_hash", null::INTEGER as "global_id", null::BIGINT as "version", null::BOOLEAN as "after_merge", null::BOOLEAN as "before_split", null::BOOLEAN as "after_split", null::BOOLEAN as "want_merge", null::BOOLEAN as "want_split", null::BOOLEAN as "key_block", null::BOOLEAN as "vert_seqno_incr", null::INTEGER as "flags", null::BIGINT as "start_lt", null::BIGINT as "end_lt", null::INTEGER as "validator_list_hash_short", null::INTEGER as "gen_catchain_seqno", null::INTEGER as "min_ref_mc_seqno", null::INTEGER as "prev_key_block_seqno", null::INTEGER as "vert_seqno", null::INTEGER as "master_ref_seqno", null::VARCHAR as "rand_seed", null::VARCHAR as "created_by", null::INTEGER as "tx_count", null::INTEGER as "masterchain_block_ref_workchain", null::VARCHAR as "masterchain_block_ref_shard", null::INTEGER as "masterchain_block_ref_seqno", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_blocks'), error('the lake has no part of blocks, because its dataset was not covered or not exported: run toncenter-etl backfill --only blocks with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_blocks as
select null::TIMESTAMPTZ as "utime", null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::VARCHAR as "root_hash", null::VARCHAR as "file_hash", null::INTEGER as "global_id", null::BIGINT as "version", null::BOOLEAN as "after_merge", null::BOOLEAN as "before_split", null::BOOLEAN as "after_split", null::BOOLEAN as "want_merge", null::BOOLEAN as "want_split", null::BOOLEAN as "key_block", null::BOOLEAN as "vert_seqno_incr", null::INTEGER as "flags", null::BIGINT as "start_lt", null::BIGINT as "end_lt", null::INTEGER as "validator_list_hash_short", null::INTEGER as "gen_catchain_seqno", null::INTEGER as "min_ref_mc_seqno", null::INTEGER as "prev_key_block_seqno", null::INTEGER as "vert_seqno", null::INTEGER as "master_ref_seqno", null::VARCHAR as "rand_seed", null::VARCHAR as "created_by", null::INTEGER as "tx_count", null::INTEGER as "masterchain_block_ref_workchain", null::VARCHAR as "masterchain_block_ref_shard", null::INTEGER as "masterchain_block_ref_seqno", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_blocks'), getvariable('no_rows')));

set variable ton_block_parents = etl.query_of('block_parents');
create or replace view ton.block_parents as
select null::TIMESTAMPTZ as "utime", null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::INTEGER as "position", null::INTEGER as "parent_workchain", null::VARCHAR as "parent_shard", null::INTEGER as "parent_seqno", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_block_parents'), error('the lake has no part of block_parents, because its dataset was not covered or not exported: run toncenter-etl backfill --only blocks with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_block_parents as
select null::TIMESTAMPTZ as "utime", null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::INTEGER as "position", null::INTEGER as "parent_workchain", null::VARCHAR as "parent_shard", null::INTEGER as "parent_seqno", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_block_parents'), getvariable('no_rows')));

set variable ton_dns_auctions = etl.query_of('dns_auctions');
create or replace view ton.dns_auctions as
select null::VARCHAR as "nft_item_address", null::VARCHAR as "domain", null::VARCHAR as "max_bid_address", null::DECIMAL(38,0) as "max_bid_amount", null::TIMESTAMPTZ as "auction_end_time", null::TIMESTAMPTZ as "last_fill_up_time", null::BOOLEAN as "finished", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_dns_auctions'), error('the lake has no part of dns_auctions, because its dataset was not covered or not exported: run toncenter-etl backfill --only dns_auctions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_dns_auctions as
select null::VARCHAR as "nft_item_address", null::VARCHAR as "domain", null::VARCHAR as "max_bid_address", null::DECIMAL(38,0) as "max_bid_amount", null::TIMESTAMPTZ as "auction_end_time", null::TIMESTAMPTZ as "last_fill_up_time", null::BOOLEAN as "finished", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_dns_auctions'), getvariable('no_rows')));

set variable ton_dns_records = etl.query_of('dns_records');
create or replace view ton.dns_records as
select null::VARCHAR as "nft_item_address", null::VARCHAR as "nft_item_owner", null::VARCHAR as "domain", null::VARCHAR as "dns_next_resolver", null::VARCHAR as "dns_wallet", null::VARCHAR as "dns_site_adnl", null::VARCHAR as "dns_storage_bag_id", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_dns_records'), error('the lake has no part of dns_records, because its dataset was not covered or not exported: run toncenter-etl backfill --only dns_records with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_dns_records as
select null::VARCHAR as "nft_item_address", null::VARCHAR as "nft_item_owner", null::VARCHAR as "domain", null::VARCHAR as "dns_next_resolver", null::VARCHAR as "dns_wallet", null::VARCHAR as "dns_site_adnl", null::VARCHAR as "dns_storage_bag_id", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_dns_records'), getvariable('no_rows')));

set variable ton_extended_account_states = etl.query_of('extended_account_states');
create or replace view ton.extended_account_states as
select null::VARCHAR as "address", null::INTEGER as "mc_seqno", null::TIMESTAMPTZ as "sync_utime", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra_currencies", null::BIGINT as "last_transaction_lt", null::VARCHAR as "last_transaction_hash", null::VARCHAR as "kind", null::BIGINT as "wallet_id", null::INTEGER as "seqno", null::VARCHAR as "public_key", null::VARCHAR as "account_state", null::INTEGER as "revision", null::VARCHAR as "block_root_hash", null::VARCHAR as "block_file_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_extended_account_states'), error('the lake has no part of extended_account_states, because its dataset was not covered or not exported: run toncenter-etl backfill --only extended_account_states with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_extended_account_states as
select null::VARCHAR as "address", null::INTEGER as "mc_seqno", null::TIMESTAMPTZ as "sync_utime", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra_currencies", null::BIGINT as "last_transaction_lt", null::VARCHAR as "last_transaction_hash", null::VARCHAR as "kind", null::BIGINT as "wallet_id", null::INTEGER as "seqno", null::VARCHAR as "public_key", null::VARCHAR as "account_state", null::INTEGER as "revision", null::VARCHAR as "block_root_hash", null::VARCHAR as "block_file_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_extended_account_states'), getvariable('no_rows')));

set variable ton_jetton_burns = etl.query_of('jetton_burns');
create or replace view ton.jetton_burns as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "transaction_lt", null::VARCHAR as "transaction_hash", null::BOOLEAN as "transaction_aborted", null::VARCHAR as "trace_id", null::DECIMAL(38,0) as "query_id", null::VARCHAR as "owner", null::VARCHAR as "jetton_wallet", null::VARCHAR as "jetton_master", null::DECIMAL(38,0) as "amount", null::VARCHAR as "response_destination", null::VARCHAR as "custom_payload", null::VARCHAR as "decoded_custom_payload", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_burns'), error('the lake has no part of jetton_burns, because its dataset was not covered or not exported: run toncenter-etl backfill --only jetton_burns with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_jetton_burns as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "transaction_lt", null::VARCHAR as "transaction_hash", null::BOOLEAN as "transaction_aborted", null::VARCHAR as "trace_id", null::DECIMAL(38,0) as "query_id", null::VARCHAR as "owner", null::VARCHAR as "jetton_wallet", null::VARCHAR as "jetton_master", null::DECIMAL(38,0) as "amount", null::VARCHAR as "response_destination", null::VARCHAR as "custom_payload", null::VARCHAR as "decoded_custom_payload", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_burns'), getvariable('no_rows')));

set variable ton_jetton_masters = etl.query_of('jetton_masters');
create or replace view ton.jetton_masters as
select null::VARCHAR as "address", null::DECIMAL(38,0) as "total_supply", null::BOOLEAN as "mintable", null::VARCHAR as "admin_address", null::VARCHAR as "name", null::VARCHAR as "symbol", null::INTEGER as "decimals", null::VARCHAR as "jetton_content", null::VARCHAR as "jetton_wallet_code_hash", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::BIGINT as "last_transaction_lt", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_masters'), error('the lake has no part of jetton_masters, because its dataset was not covered or not exported: run toncenter-etl backfill --only jetton_masters with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_jetton_masters as
select null::VARCHAR as "address", null::DECIMAL(38,0) as "total_supply", null::BOOLEAN as "mintable", null::VARCHAR as "admin_address", null::VARCHAR as "name", null::VARCHAR as "symbol", null::INTEGER as "decimals", null::VARCHAR as "jetton_content", null::VARCHAR as "jetton_wallet_code_hash", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::BIGINT as "last_transaction_lt", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_masters'), getvariable('no_rows')));

set variable ton_jetton_descriptions = etl.query_of('jetton_descriptions');
create or replace view ton.jetton_descriptions as
select null::VARCHAR as "address", null::VARCHAR as "source", null::VARCHAR as "symbol", null::INTEGER as "decimals", null::BOOLEAN as "mintable", null::VARCHAR as "admin_address", null::VARCHAR as "jetton_wallet_code_hash", null::VARCHAR as "code_hash", null::VARCHAR as "name", null::VARCHAR as "description", null::VARCHAR as "image", null::VARCHAR as "uri", null::VARCHAR as "content", null::BOOLEAN as "is_indexed", null::BOOLEAN as "is_nsfw", null::BOOLEAN as "is_scam", null::BIGINT as "last_transaction_lt", null::TIMESTAMPTZ as "first_seen", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_descriptions'), error('the lake has no part of jetton_descriptions, because its dataset was not covered or not exported: run toncenter-etl backfill --only jetton_masters with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_jetton_descriptions as
select null::VARCHAR as "address", null::VARCHAR as "source", null::VARCHAR as "symbol", null::INTEGER as "decimals", null::BOOLEAN as "mintable", null::VARCHAR as "admin_address", null::VARCHAR as "jetton_wallet_code_hash", null::VARCHAR as "code_hash", null::VARCHAR as "name", null::VARCHAR as "description", null::VARCHAR as "image", null::VARCHAR as "uri", null::VARCHAR as "content", null::BOOLEAN as "is_indexed", null::BOOLEAN as "is_nsfw", null::BOOLEAN as "is_scam", null::BIGINT as "last_transaction_lt", null::TIMESTAMPTZ as "first_seen", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_descriptions'), getvariable('no_rows')));

set variable ton_jetton_transfers = etl.query_of('jetton_transfers');
create or replace view ton.jetton_transfers as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "transaction_lt", null::VARCHAR as "transaction_hash", null::BOOLEAN as "transaction_aborted", null::VARCHAR as "trace_id", null::DECIMAL(38,0) as "query_id", null::VARCHAR as "source", null::VARCHAR as "destination", null::DECIMAL(38,0) as "amount", null::VARCHAR as "source_wallet", null::VARCHAR as "jetton_master", null::VARCHAR as "response_destination", null::DECIMAL(38,0) as "forward_ton_amount", null::VARCHAR as "custom_payload", null::VARCHAR as "decoded_custom_payload", null::VARCHAR as "forward_payload", null::VARCHAR as "decoded_forward_payload", null::VARCHAR as "comment", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_transfers'), error('the lake has no part of jetton_transfers, because its dataset was not covered or not exported: run toncenter-etl backfill --only jetton_transfers with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_jetton_transfers as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "transaction_lt", null::VARCHAR as "transaction_hash", null::BOOLEAN as "transaction_aborted", null::VARCHAR as "trace_id", null::DECIMAL(38,0) as "query_id", null::VARCHAR as "source", null::VARCHAR as "destination", null::DECIMAL(38,0) as "amount", null::VARCHAR as "source_wallet", null::VARCHAR as "jetton_master", null::VARCHAR as "response_destination", null::DECIMAL(38,0) as "forward_ton_amount", null::VARCHAR as "custom_payload", null::VARCHAR as "decoded_custom_payload", null::VARCHAR as "forward_payload", null::VARCHAR as "decoded_forward_payload", null::VARCHAR as "comment", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_transfers'), getvariable('no_rows')));

set variable ton_jetton_wallets = etl.query_of('jetton_wallets');
create or replace view ton.jetton_wallets as
select null::VARCHAR as "address", null::DECIMAL(38,0) as "balance", null::VARCHAR as "owner", null::VARCHAR as "jetton", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::DECIMAL(38,0) as "mintless_amount", null::BIGINT as "mintless_start_from", null::BIGINT as "mintless_expire_at", null::VARCHAR as "mintless_custom_payload_api_uri", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_wallets'), error('the lake has no part of jetton_wallets, because its dataset was not covered or not exported: run toncenter-etl backfill --only jetton_wallets with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_jetton_wallets as
select null::VARCHAR as "address", null::DECIMAL(38,0) as "balance", null::VARCHAR as "owner", null::VARCHAR as "jetton", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::DECIMAL(38,0) as "mintless_amount", null::BIGINT as "mintless_start_from", null::BIGINT as "mintless_expire_at", null::VARCHAR as "mintless_custom_payload_api_uri", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_jetton_wallets'), getvariable('no_rows')));

set variable ton_masterchain_heads = etl.query_of('masterchain_heads');
create or replace view ton.masterchain_heads as
select null::TIMESTAMPTZ as "taken_at", null::VARCHAR as "source", null::INTEGER as "seqno", null::VARCHAR as "root_hash", null::VARCHAR as "file_hash", null::TIMESTAMPTZ as "head_utime", null::VARCHAR as "state_root_hash", null::INTEGER as "init_seqno", null::VARCHAR as "init_root_hash", null::VARCHAR as "init_file_hash", null::INTEGER as "first_seqno", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_masterchain_heads'), error('the lake has no part of masterchain_heads, because its dataset was not covered or not exported: run toncenter-etl backfill --only masterchain_heads with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_masterchain_heads as
select null::TIMESTAMPTZ as "taken_at", null::VARCHAR as "source", null::INTEGER as "seqno", null::VARCHAR as "root_hash", null::VARCHAR as "file_hash", null::TIMESTAMPTZ as "head_utime", null::VARCHAR as "state_root_hash", null::INTEGER as "init_seqno", null::VARCHAR as "init_root_hash", null::VARCHAR as "init_file_hash", null::INTEGER as "first_seqno", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_masterchain_heads'), getvariable('no_rows')));

set variable ton_message_locations = etl.query_of('message_locations');
create or replace view ton.message_locations as
select null::VARCHAR as "hash", null::VARCHAR as "account", null::BIGINT as "lt", null::VARCHAR as "tx_hash", null::TIMESTAMPTZ as "utime", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_message_locations'), error('the lake has no part of message_locations, because its dataset was not covered or not exported: run toncenter-etl backfill --only message_locations with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_message_locations as
select null::VARCHAR as "hash", null::VARCHAR as "account", null::BIGINT as "lt", null::VARCHAR as "tx_hash", null::TIMESTAMPTZ as "utime", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_message_locations'), getvariable('no_rows')));

set variable ton_multisig_orders = etl.query_of('multisig_orders');
create or replace view ton.multisig_orders as
select null::VARCHAR as "address", null::VARCHAR as "multisig_address", null::VARCHAR as "order_seqno", null::VARCHAR as "order_seqno_text", null::INTEGER as "threshold", null::BOOLEAN as "sent_for_execution", null::VARCHAR as "approvals_mask", null::VARCHAR as "approvals_mask_text", null::INTEGER as "approvals_num", null::DECIMAL(38,0) as "expiration_date", null::VARCHAR as "order_boc", null::VARCHAR as "signers", null::INTEGER as "action_count", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_multisig_orders'), error('the lake has no part of multisig_orders, because its dataset was not covered or not exported: run toncenter-etl backfill --only multisig_orders with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_multisig_orders as
select null::VARCHAR as "address", null::VARCHAR as "multisig_address", null::VARCHAR as "order_seqno", null::VARCHAR as "order_seqno_text", null::INTEGER as "threshold", null::BOOLEAN as "sent_for_execution", null::VARCHAR as "approvals_mask", null::VARCHAR as "approvals_mask_text", null::INTEGER as "approvals_num", null::DECIMAL(38,0) as "expiration_date", null::VARCHAR as "order_boc", null::VARCHAR as "signers", null::INTEGER as "action_count", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_multisig_orders'), getvariable('no_rows')));

set variable ton_multisig_order_actions = etl.query_of('multisig_order_actions');
create or replace view ton.multisig_order_actions as
select null::VARCHAR as "order_address", null::INTEGER as "position", null::VARCHAR as "destination", null::DECIMAL(38,0) as "value", null::INTEGER as "send_mode", null::VARCHAR as "body_raw", null::BOOLEAN as "parsed", null::VARCHAR as "parsed_body_type", null::VARCHAR as "parsed_body", null::VARCHAR as "error", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_multisig_order_actions'), error('the lake has no part of multisig_order_actions, because its dataset was not covered or not exported: run toncenter-etl backfill --only multisig_orders with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_multisig_order_actions as
select null::VARCHAR as "order_address", null::INTEGER as "position", null::VARCHAR as "destination", null::DECIMAL(38,0) as "value", null::INTEGER as "send_mode", null::VARCHAR as "body_raw", null::BOOLEAN as "parsed", null::VARCHAR as "parsed_body_type", null::VARCHAR as "parsed_body", null::VARCHAR as "error", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_multisig_order_actions'), getvariable('no_rows')));

set variable ton_multisig_wallets = etl.query_of('multisig_wallets');
create or replace view ton.multisig_wallets as
select null::VARCHAR as "address", null::VARCHAR as "next_order_seqno", null::VARCHAR as "next_order_seqno_text", null::INTEGER as "threshold", null::VARCHAR as "signers", null::VARCHAR as "proposers", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_multisig_wallets'), error('the lake has no part of multisig_wallets, because its dataset was not covered or not exported: run toncenter-etl backfill --only multisig_wallets with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_multisig_wallets as
select null::VARCHAR as "address", null::VARCHAR as "next_order_seqno", null::VARCHAR as "next_order_seqno_text", null::INTEGER as "threshold", null::VARCHAR as "signers", null::VARCHAR as "proposers", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_multisig_wallets'), getvariable('no_rows')));

set variable ton_nft_collections = etl.query_of('nft_collections');
create or replace view ton.nft_collections as
select null::VARCHAR as "address", null::VARCHAR as "owner_address", null::VARCHAR as "next_item_index", null::VARCHAR as "next_item_index_text", null::VARCHAR as "name", null::VARCHAR as "collection_content", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::BIGINT as "last_transaction_lt", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_collections'), error('the lake has no part of nft_collections, because its dataset was not covered or not exported: run toncenter-etl backfill --only nft_collections with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nft_collections as
select null::VARCHAR as "address", null::VARCHAR as "owner_address", null::VARCHAR as "next_item_index", null::VARCHAR as "next_item_index_text", null::VARCHAR as "name", null::VARCHAR as "collection_content", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::BIGINT as "last_transaction_lt", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_collections'), getvariable('no_rows')));

set variable ton_nft_items = etl.query_of('nft_items');
create or replace view ton.nft_items as
select null::VARCHAR as "address", null::BOOLEAN as "init", null::VARCHAR as "index", null::VARCHAR as "index_text", null::VARCHAR as "collection_address", null::VARCHAR as "owner_address", null::VARCHAR as "real_owner", null::BOOLEAN as "on_sale", null::VARCHAR as "sale_contract_address", null::VARCHAR as "auction_contract_address", null::VARCHAR as "content", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::BIGINT as "last_transaction_lt", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_items'), error('the lake has no part of nft_items, because its dataset was not covered or not exported: run toncenter-etl backfill --only nft_items with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nft_items as
select null::VARCHAR as "address", null::BOOLEAN as "init", null::VARCHAR as "index", null::VARCHAR as "index_text", null::VARCHAR as "collection_address", null::VARCHAR as "owner_address", null::VARCHAR as "real_owner", null::BOOLEAN as "on_sale", null::VARCHAR as "sale_contract_address", null::VARCHAR as "auction_contract_address", null::VARCHAR as "content", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::BIGINT as "last_transaction_lt", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_items'), getvariable('no_rows')));

set variable ton_nft_descriptions = etl.query_of('nft_descriptions');
create or replace view ton.nft_descriptions as
select null::VARCHAR as "address", null::VARCHAR as "type", null::VARCHAR as "source", null::VARCHAR as "name", null::VARCHAR as "description", null::VARCHAR as "image", null::VARCHAR as "uri", null::VARCHAR as "content", null::BOOLEAN as "is_indexed", null::BOOLEAN as "is_nsfw", null::BOOLEAN as "is_scam", null::BIGINT as "last_transaction_lt", null::TIMESTAMPTZ as "first_seen", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_descriptions'), error('the lake has no part of nft_descriptions, because its dataset was not covered or not exported: run toncenter-etl backfill --only nft_items with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nft_descriptions as
select null::VARCHAR as "address", null::VARCHAR as "type", null::VARCHAR as "source", null::VARCHAR as "name", null::VARCHAR as "description", null::VARCHAR as "image", null::VARCHAR as "uri", null::VARCHAR as "content", null::BOOLEAN as "is_indexed", null::BOOLEAN as "is_nsfw", null::BOOLEAN as "is_scam", null::BIGINT as "last_transaction_lt", null::TIMESTAMPTZ as "first_seen", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_descriptions'), getvariable('no_rows')));

set variable ton_nft_sales = etl.query_of('nft_sales');
create or replace view ton.nft_sales as
select null::VARCHAR as "address", null::VARCHAR as "type", null::VARCHAR as "nft_address", null::VARCHAR as "nft_owner_address", null::VARCHAR as "marketplace_address", null::TIMESTAMPTZ as "created_at", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::VARCHAR as "details", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_sales'), error('the lake has no part of nft_sales, because its dataset was not covered or not exported: run toncenter-etl backfill --only nft_sales with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nft_sales as
select null::VARCHAR as "address", null::VARCHAR as "type", null::VARCHAR as "nft_address", null::VARCHAR as "nft_owner_address", null::VARCHAR as "marketplace_address", null::TIMESTAMPTZ as "created_at", null::BIGINT as "last_transaction_lt", null::VARCHAR as "code_hash", null::VARCHAR as "data_hash", null::VARCHAR as "details", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_sales'), getvariable('no_rows')));

set variable ton_nft_transfers = etl.query_of('nft_transfers');
create or replace view ton.nft_transfers as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "transaction_lt", null::VARCHAR as "transaction_hash", null::BOOLEAN as "transaction_aborted", null::VARCHAR as "trace_id", null::DECIMAL(38,0) as "query_id", null::VARCHAR as "nft_address", null::VARCHAR as "nft_collection", null::VARCHAR as "old_owner", null::VARCHAR as "new_owner", null::VARCHAR as "response_destination", null::DECIMAL(38,0) as "forward_amount", null::VARCHAR as "custom_payload", null::VARCHAR as "decoded_custom_payload", null::VARCHAR as "forward_payload", null::VARCHAR as "decoded_forward_payload", null::VARCHAR as "comment", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_transfers'), error('the lake has no part of nft_transfers, because its dataset was not covered or not exported: run toncenter-etl backfill --only nft_transfers with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nft_transfers as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "transaction_lt", null::VARCHAR as "transaction_hash", null::BOOLEAN as "transaction_aborted", null::VARCHAR as "trace_id", null::DECIMAL(38,0) as "query_id", null::VARCHAR as "nft_address", null::VARCHAR as "nft_collection", null::VARCHAR as "old_owner", null::VARCHAR as "new_owner", null::VARCHAR as "response_destination", null::DECIMAL(38,0) as "forward_amount", null::VARCHAR as "custom_payload", null::VARCHAR as "decoded_custom_payload", null::VARCHAR as "forward_payload", null::VARCHAR as "decoded_forward_payload", null::VARCHAR as "comment", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nft_transfers'), getvariable('no_rows')));

set variable ton_nominator_events = etl.query_of('nominator_events');
create or replace view ton.nominator_events as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "tx_lt", null::VARCHAR as "tx_hash", null::VARCHAR as "nominator_address", null::VARCHAR as "type", null::VARCHAR as "pool_address", null::DECIMAL(38,0) as "amount", null::DECIMAL(38,0) as "balance_delta", null::DECIMAL(38,0) as "pending_balance_delta", null::DECIMAL(38,0) as "balance_before", null::DECIMAL(38,0) as "balance_after", null::DECIMAL(38,0) as "pending_balance_before", null::DECIMAL(38,0) as "pending_balance_after", null::BOOLEAN as "withdraw_request_before", null::BOOLEAN as "withdraw_request_after", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nominator_events'), error('the lake has no part of nominator_events, because its dataset was not covered or not exported: run toncenter-etl backfill --only nominator_events with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nominator_events as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "tx_lt", null::VARCHAR as "tx_hash", null::VARCHAR as "nominator_address", null::VARCHAR as "type", null::VARCHAR as "pool_address", null::DECIMAL(38,0) as "amount", null::DECIMAL(38,0) as "balance_delta", null::DECIMAL(38,0) as "pending_balance_delta", null::DECIMAL(38,0) as "balance_before", null::DECIMAL(38,0) as "balance_after", null::DECIMAL(38,0) as "pending_balance_before", null::DECIMAL(38,0) as "pending_balance_after", null::BOOLEAN as "withdraw_request_before", null::BOOLEAN as "withdraw_request_after", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nominator_events'), getvariable('no_rows')));

set variable ton_nominator_pool_events = etl.query_of('nominator_pool_events');
create or replace view ton.nominator_pool_events as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "tx_lt", null::VARCHAR as "tx_hash", null::VARCHAR as "pool_address", null::VARCHAR as "validator_address", null::VARCHAR as "type", null::DECIMAL(38,0) as "amount", null::DECIMAL(38,0) as "balance_delta", null::DECIMAL(38,0) as "balance_before", null::DECIMAL(38,0) as "balance_after", null::DECIMAL(38,0) as "query_id", null::TIMESTAMPTZ as "cycle_start", null::BIGINT as "validator_reward_share", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nominator_pool_events'), error('the lake has no part of nominator_pool_events, because its dataset was not covered or not exported: run toncenter-etl backfill --only nominator_pool_events with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nominator_pool_events as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "tx_lt", null::VARCHAR as "tx_hash", null::VARCHAR as "pool_address", null::VARCHAR as "validator_address", null::VARCHAR as "type", null::DECIMAL(38,0) as "amount", null::DECIMAL(38,0) as "balance_delta", null::DECIMAL(38,0) as "balance_before", null::DECIMAL(38,0) as "balance_after", null::DECIMAL(38,0) as "query_id", null::TIMESTAMPTZ as "cycle_start", null::BIGINT as "validator_reward_share", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nominator_pool_events'), getvariable('no_rows')));

set variable ton_nominator_pools = etl.query_of('nominator_pools');
create or replace view ton.nominator_pools as
select null::VARCHAR as "address", null::VARCHAR as "validator_address", null::DECIMAL(38,0) as "validator_amount", null::BIGINT as "validator_reward_share", null::DECIMAL(38,0) as "stake_amount_sent", null::BIGINT as "state", null::BIGINT as "nominators_count", null::BIGINT as "max_nominators_count", null::DECIMAL(38,0) as "min_validator_stake", null::DECIMAL(38,0) as "min_nominator_stake", null::VARCHAR as "active_nominators", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nominator_pools'), error('the lake has no part of nominator_pools, because its dataset was not covered or not exported: run toncenter-etl backfill --only nominator_pools with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_nominator_pools as
select null::VARCHAR as "address", null::VARCHAR as "validator_address", null::DECIMAL(38,0) as "validator_amount", null::BIGINT as "validator_reward_share", null::DECIMAL(38,0) as "stake_amount_sent", null::BIGINT as "state", null::BIGINT as "nominators_count", null::BIGINT as "max_nominators_count", null::DECIMAL(38,0) as "min_validator_stake", null::DECIMAL(38,0) as "min_nominator_stake", null::VARCHAR as "active_nominators", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_nominator_pools'), getvariable('no_rows')));

set variable ton_shard_block_proofs = etl.query_of('shard_block_proofs');
create or replace view ton.shard_block_proofs as
select null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::INTEGER as "from_seqno", null::VARCHAR as "from_root_hash", null::VARCHAR as "from_file_hash", null::INTEGER as "mc_seqno", null::VARCHAR as "mc_root_hash", null::VARCHAR as "mc_file_hash", null::VARCHAR as "links", null::VARCHAR as "mc_proof", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_shard_block_proofs'), error('the lake has no part of shard_block_proofs, because its dataset was not covered or not exported: run toncenter-etl backfill --only shard_block_proofs with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_shard_block_proofs as
select null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::INTEGER as "from_seqno", null::VARCHAR as "from_root_hash", null::VARCHAR as "from_file_hash", null::INTEGER as "mc_seqno", null::VARCHAR as "mc_root_hash", null::VARCHAR as "mc_file_hash", null::VARCHAR as "links", null::VARCHAR as "mc_proof", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_shard_block_proofs'), getvariable('no_rows')));

set variable ton_shard_states = etl.query_of('shard_states');
create or replace view ton.shard_states as
select null::TIMESTAMPTZ as "utime", null::INTEGER as "mc_seqno", null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_shard_states'), error('the lake has no part of shard_states, because its dataset was not covered or not exported: run toncenter-etl backfill --only shard_states with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_shard_states as
select null::TIMESTAMPTZ as "utime", null::INTEGER as "mc_seqno", null::INTEGER as "workchain", null::VARCHAR as "shard", null::INTEGER as "seqno", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_shard_states'), getvariable('no_rows')));

set variable ton_token_metadata = etl.query_of('token_metadata');
create or replace view ton.token_metadata as
select null::VARCHAR as "address", null::BOOLEAN as "is_indexed", null::VARCHAR as "type", null::VARCHAR as "name", null::VARCHAR as "symbol", null::INTEGER as "decimals", null::VARCHAR as "description", null::VARCHAR as "image", null::VARCHAR as "nft_index", null::BOOLEAN as "valid", null::BOOLEAN as "is_nsfw", null::BOOLEAN as "is_scam", null::VARCHAR as "token_info", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_token_metadata'), error('the lake has no part of token_metadata, because its dataset was not covered or not exported: run toncenter-etl backfill --only token_metadata with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_token_metadata as
select null::VARCHAR as "address", null::BOOLEAN as "is_indexed", null::VARCHAR as "type", null::VARCHAR as "name", null::VARCHAR as "symbol", null::INTEGER as "decimals", null::VARCHAR as "description", null::VARCHAR as "image", null::VARCHAR as "nft_index", null::BOOLEAN as "valid", null::BOOLEAN as "is_nsfw", null::BOOLEAN as "is_scam", null::VARCHAR as "token_info", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_token_metadata'), getvariable('no_rows')));

set variable ton_top_accounts = etl.query_of('top_accounts');
create or replace view ton.top_accounts as
select null::TIMESTAMPTZ as "taken_at", null::INTEGER as "rank", null::VARCHAR as "account", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_top_accounts'), error('the lake has no part of top_accounts, because its dataset was not covered or not exported: run toncenter-etl backfill --only top_accounts with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_top_accounts as
select null::TIMESTAMPTZ as "taken_at", null::INTEGER as "rank", null::VARCHAR as "account", null::DECIMAL(38,0) as "balance", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_top_accounts'), getvariable('no_rows')));

set variable ton_traces = etl.query_of('traces');
create or replace view ton.traces as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "external_hash", null::INTEGER as "mc_seqno_start", null::INTEGER as "mc_seqno_end", null::TIMESTAMPTZ as "start_utime", null::BIGINT as "start_lt", null::BIGINT as "end_lt", null::VARCHAR as "trace_state", null::BIGINT as "messages", null::BIGINT as "transactions", null::BIGINT as "pending_messages", null::VARCHAR as "classification_state", null::BOOLEAN as "is_incomplete", null::VARCHAR as "warning", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_traces'), error('the lake has no part of traces, because its dataset was not covered or not exported: run toncenter-etl backfill --only traces with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_traces as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "external_hash", null::INTEGER as "mc_seqno_start", null::INTEGER as "mc_seqno_end", null::TIMESTAMPTZ as "start_utime", null::BIGINT as "start_lt", null::BIGINT as "end_lt", null::VARCHAR as "trace_state", null::BIGINT as "messages", null::BIGINT as "transactions", null::BIGINT as "pending_messages", null::VARCHAR as "classification_state", null::BOOLEAN as "is_incomplete", null::VARCHAR as "warning", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_traces'), getvariable('no_rows')));

set variable ton_trace_nodes = etl.query_of('trace_nodes');
create or replace view ton.trace_nodes as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "tx_hash", null::VARCHAR as "parent_tx_hash", null::VARCHAR as "in_msg_hash", null::INTEGER as "position", null::INTEGER as "children", null::BIGINT as "end_lt", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_trace_nodes'), error('the lake has no part of trace_nodes, because its dataset was not covered or not exported: run toncenter-etl backfill --only traces with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_trace_nodes as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "trace_id", null::VARCHAR as "tx_hash", null::VARCHAR as "parent_tx_hash", null::VARCHAR as "in_msg_hash", null::INTEGER as "position", null::INTEGER as "children", null::BIGINT as "end_lt", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_trace_nodes'), getvariable('no_rows')));

set variable ton_transactions = etl.query_of('transactions');
create or replace view ton.transactions as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "lt", null::VARCHAR as "account", null::VARCHAR as "hash", null::INTEGER as "block_workchain", null::VARCHAR as "block_shard", null::INTEGER as "block_seqno", null::INTEGER as "mc_block_seqno", null::VARCHAR as "trace_id", null::VARCHAR as "trace_external_hash", null::VARCHAR as "prev_trans_hash", null::BIGINT as "prev_trans_lt", null::VARCHAR as "orig_status", null::VARCHAR as "end_status", null::DECIMAL(38,0) as "total_fees", null::VARCHAR as "total_fees_extra_currencies", null::VARCHAR as "in_msg_hash", null::TIMESTAMPTZ as "in_msg_utime", null::INTEGER as "out_msg_count", null::VARCHAR as "description_type", null::BOOLEAN as "aborted", null::BOOLEAN as "destroyed", null::BOOLEAN as "credit_first", null::BOOLEAN as "is_tock", null::BOOLEAN as "installed", null::DECIMAL(38,0) as "storage_fees_collected", null::DECIMAL(38,0) as "storage_fees_due", null::VARCHAR as "storage_status_change", null::DECIMAL(38,0) as "credit_due_fees_collected", null::DECIMAL(38,0) as "credit", null::VARCHAR as "credit_extra_currencies", null::BOOLEAN as "compute_skipped", null::VARCHAR as "compute_reason", null::BOOLEAN as "compute_success", null::BOOLEAN as "compute_msg_state_used", null::BOOLEAN as "compute_account_activated", null::DECIMAL(38,0) as "compute_gas_fees", null::BIGINT as "compute_gas_used", null::BIGINT as "compute_gas_limit", null::BIGINT as "compute_gas_credit", null::INTEGER as "compute_mode", null::INTEGER as "compute_exit_code", null::INTEGER as "compute_exit_arg", null::BIGINT as "compute_vm_steps", null::VARCHAR as "compute_vm_init_state_hash", null::VARCHAR as "compute_vm_final_state_hash", null::BOOLEAN as "action_success", null::BOOLEAN as "action_valid", null::BOOLEAN as "action_no_funds", null::VARCHAR as "action_status_change", null::DECIMAL(38,0) as "action_total_fwd_fees", null::DECIMAL(38,0) as "action_total_action_fees", null::INTEGER as "action_result_code", null::INTEGER as "action_result_arg", null::INTEGER as "action_tot_actions", null::INTEGER as "action_spec_actions", null::INTEGER as "action_skipped_actions", null::INTEGER as "action_msgs_created", null::VARCHAR as "action_list_hash", null::BIGINT as "action_tot_msg_size_cells", null::BIGINT as "action_tot_msg_size_bits", null::VARCHAR as "bounce_type", null::BIGINT as "bounce_msg_size_cells", null::BIGINT as "bounce_msg_size_bits", null::DECIMAL(38,0) as "bounce_req_fwd_fees", null::DECIMAL(38,0) as "bounce_msg_fees", null::DECIMAL(38,0) as "bounce_fwd_fees", null::INTEGER as "split_cur_shard_pfx_len", null::INTEGER as "split_acc_split_depth", null::VARCHAR as "split_this_addr", null::VARCHAR as "split_sibling_addr", null::VARCHAR as "before_hash", null::DECIMAL(38,0) as "before_balance", null::VARCHAR as "before_extra_currencies", null::VARCHAR as "before_account_status", null::VARCHAR as "before_frozen_hash", null::VARCHAR as "before_data_hash", null::VARCHAR as "before_code_hash", null::VARCHAR as "after_hash", null::DECIMAL(38,0) as "after_balance", null::VARCHAR as "after_extra_currencies", null::VARCHAR as "after_account_status", null::VARCHAR as "after_frozen_hash", null::VARCHAR as "after_data_hash", null::VARCHAR as "after_code_hash", null::BOOLEAN as "emulated", null::VARCHAR as "finality", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_transactions'), error('the lake has no part of transactions, because its dataset was not covered or not exported: run toncenter-etl backfill --only transactions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_transactions as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "lt", null::VARCHAR as "account", null::VARCHAR as "hash", null::INTEGER as "block_workchain", null::VARCHAR as "block_shard", null::INTEGER as "block_seqno", null::INTEGER as "mc_block_seqno", null::VARCHAR as "trace_id", null::VARCHAR as "trace_external_hash", null::VARCHAR as "prev_trans_hash", null::BIGINT as "prev_trans_lt", null::VARCHAR as "orig_status", null::VARCHAR as "end_status", null::DECIMAL(38,0) as "total_fees", null::VARCHAR as "total_fees_extra_currencies", null::VARCHAR as "in_msg_hash", null::TIMESTAMPTZ as "in_msg_utime", null::INTEGER as "out_msg_count", null::VARCHAR as "description_type", null::BOOLEAN as "aborted", null::BOOLEAN as "destroyed", null::BOOLEAN as "credit_first", null::BOOLEAN as "is_tock", null::BOOLEAN as "installed", null::DECIMAL(38,0) as "storage_fees_collected", null::DECIMAL(38,0) as "storage_fees_due", null::VARCHAR as "storage_status_change", null::DECIMAL(38,0) as "credit_due_fees_collected", null::DECIMAL(38,0) as "credit", null::VARCHAR as "credit_extra_currencies", null::BOOLEAN as "compute_skipped", null::VARCHAR as "compute_reason", null::BOOLEAN as "compute_success", null::BOOLEAN as "compute_msg_state_used", null::BOOLEAN as "compute_account_activated", null::DECIMAL(38,0) as "compute_gas_fees", null::BIGINT as "compute_gas_used", null::BIGINT as "compute_gas_limit", null::BIGINT as "compute_gas_credit", null::INTEGER as "compute_mode", null::INTEGER as "compute_exit_code", null::INTEGER as "compute_exit_arg", null::BIGINT as "compute_vm_steps", null::VARCHAR as "compute_vm_init_state_hash", null::VARCHAR as "compute_vm_final_state_hash", null::BOOLEAN as "action_success", null::BOOLEAN as "action_valid", null::BOOLEAN as "action_no_funds", null::VARCHAR as "action_status_change", null::DECIMAL(38,0) as "action_total_fwd_fees", null::DECIMAL(38,0) as "action_total_action_fees", null::INTEGER as "action_result_code", null::INTEGER as "action_result_arg", null::INTEGER as "action_tot_actions", null::INTEGER as "action_spec_actions", null::INTEGER as "action_skipped_actions", null::INTEGER as "action_msgs_created", null::VARCHAR as "action_list_hash", null::BIGINT as "action_tot_msg_size_cells", null::BIGINT as "action_tot_msg_size_bits", null::VARCHAR as "bounce_type", null::BIGINT as "bounce_msg_size_cells", null::BIGINT as "bounce_msg_size_bits", null::DECIMAL(38,0) as "bounce_req_fwd_fees", null::DECIMAL(38,0) as "bounce_msg_fees", null::DECIMAL(38,0) as "bounce_fwd_fees", null::INTEGER as "split_cur_shard_pfx_len", null::INTEGER as "split_acc_split_depth", null::VARCHAR as "split_this_addr", null::VARCHAR as "split_sibling_addr", null::VARCHAR as "before_hash", null::DECIMAL(38,0) as "before_balance", null::VARCHAR as "before_extra_currencies", null::VARCHAR as "before_account_status", null::VARCHAR as "before_frozen_hash", null::VARCHAR as "before_data_hash", null::VARCHAR as "before_code_hash", null::VARCHAR as "after_hash", null::DECIMAL(38,0) as "after_balance", null::VARCHAR as "after_extra_currencies", null::VARCHAR as "after_account_status", null::VARCHAR as "after_frozen_hash", null::VARCHAR as "after_data_hash", null::VARCHAR as "after_code_hash", null::BOOLEAN as "emulated", null::VARCHAR as "finality", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_transactions'), getvariable('no_rows')));

set variable ton_messages = etl.query_of('messages');
create or replace view ton.messages as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "hash", null::VARCHAR as "source", null::VARCHAR as "destination", null::DECIMAL(38,0) as "value", null::VARCHAR as "value_extra_currencies", null::DECIMAL(38,0) as "fwd_fee", null::DECIMAL(38,0) as "ihr_fee", null::VARCHAR as "extra_flags", null::BIGINT as "created_lt", null::VARCHAR as "opcode", null::VARCHAR as "decoded_opcode", null::BOOLEAN as "ihr_disabled", null::BOOLEAN as "bounce", null::BOOLEAN as "bounced", null::DECIMAL(38,0) as "import_fee", null::VARCHAR as "content_hash", null::VARCHAR as "content_body", null::VARCHAR as "content_decoded", null::VARCHAR as "comment", null::VARCHAR as "init_state_hash", null::VARCHAR as "init_state_body", null::VARCHAR as "init_state_decoded", null::VARCHAR as "hash_norm", null::VARCHAR as "out_msg_tx_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_messages'), error('the lake has no part of messages, because its dataset was not covered or not exported: run toncenter-etl backfill --only transactions with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_messages as
select null::TIMESTAMPTZ as "utime", null::VARCHAR as "hash", null::VARCHAR as "source", null::VARCHAR as "destination", null::DECIMAL(38,0) as "value", null::VARCHAR as "value_extra_currencies", null::DECIMAL(38,0) as "fwd_fee", null::DECIMAL(38,0) as "ihr_fee", null::VARCHAR as "extra_flags", null::BIGINT as "created_lt", null::VARCHAR as "opcode", null::VARCHAR as "decoded_opcode", null::BOOLEAN as "ihr_disabled", null::BOOLEAN as "bounce", null::BOOLEAN as "bounced", null::DECIMAL(38,0) as "import_fee", null::VARCHAR as "content_hash", null::VARCHAR as "content_body", null::VARCHAR as "content_decoded", null::VARCHAR as "comment", null::VARCHAR as "init_state_hash", null::VARCHAR as "init_state_body", null::VARCHAR as "init_state_decoded", null::VARCHAR as "hash_norm", null::VARCHAR as "out_msg_tx_hash", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_messages'), getvariable('no_rows')));

set variable ton_validator_complaints = etl.query_of('validator_complaints');
create or replace view ton.validator_complaints as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::VARCHAR as "complaint_hash", null::TIMESTAMPTZ as "cycle_start", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::VARCHAR as "stake_holder_address", null::VARCHAR as "description_boc", null::BIGINT as "severity", null::VARCHAR as "reward_address", null::DECIMAL(38,0) as "paid", null::DECIMAL(38,0) as "suggested_fine", null::BIGINT as "suggested_fine_part", null::VARCHAR as "vset_id", null::DECIMAL(38,0) as "weight_remaining", null::DOUBLE as "approved_percent", null::BOOLEAN as "is_passed", null::INTEGER as "vote_count", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_complaints'), error('the lake has no part of validator_complaints, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_complaints with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_validator_complaints as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::VARCHAR as "complaint_hash", null::TIMESTAMPTZ as "cycle_start", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::VARCHAR as "stake_holder_address", null::VARCHAR as "description_boc", null::BIGINT as "severity", null::VARCHAR as "reward_address", null::DECIMAL(38,0) as "paid", null::DECIMAL(38,0) as "suggested_fine", null::BIGINT as "suggested_fine_part", null::VARCHAR as "vset_id", null::DECIMAL(38,0) as "weight_remaining", null::DOUBLE as "approved_percent", null::BOOLEAN as "is_passed", null::INTEGER as "vote_count", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_complaints'), getvariable('no_rows')));

set variable ton_complaint_votes = etl.query_of('complaint_votes');
create or replace view ton.complaint_votes as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::VARCHAR as "complaint_hash", null::INTEGER as "position", null::INTEGER as "validator_index", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::DECIMAL(38,0) as "weight", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_complaint_votes'), error('the lake has no part of complaint_votes, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_complaints with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_complaint_votes as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::VARCHAR as "complaint_hash", null::INTEGER as "position", null::INTEGER as "validator_index", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::DECIMAL(38,0) as "weight", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_complaint_votes'), getvariable('no_rows')));

set variable ton_validator_cycles = etl.query_of('validator_cycles');
create or replace view ton.validator_cycles as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "cycle_start", null::BIGINT as "election_id", null::TIMESTAMPTZ as "cycle_end", null::BIGINT as "total", null::BIGINT as "main", null::DECIMAL(38,0) as "total_weight", null::DECIMAL(38,0) as "total_stake", null::BIGINT as "validators_elected_for", null::BIGINT as "elections_start_before", null::BIGINT as "elections_end_before", null::BIGINT as "stake_held_for", null::BIGINT as "max_validators", null::BIGINT as "max_main_validators", null::BIGINT as "min_validators", null::DECIMAL(38,0) as "min_stake", null::DECIMAL(38,0) as "max_stake", null::DECIMAL(38,0) as "min_stake_limit", null::DECIMAL(38,0) as "max_stake_limit", null::DECIMAL(38,0) as "min_total_stake", null::BIGINT as "max_stake_factor", null::INTEGER as "validator_count", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_cycles'), error('the lake has no part of validator_cycles, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_cycles with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_validator_cycles as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "cycle_start", null::BIGINT as "election_id", null::TIMESTAMPTZ as "cycle_end", null::BIGINT as "total", null::BIGINT as "main", null::DECIMAL(38,0) as "total_weight", null::DECIMAL(38,0) as "total_stake", null::BIGINT as "validators_elected_for", null::BIGINT as "elections_start_before", null::BIGINT as "elections_end_before", null::BIGINT as "stake_held_for", null::BIGINT as "max_validators", null::BIGINT as "max_main_validators", null::BIGINT as "min_validators", null::DECIMAL(38,0) as "min_stake", null::DECIMAL(38,0) as "max_stake", null::DECIMAL(38,0) as "min_stake_limit", null::DECIMAL(38,0) as "max_stake_limit", null::DECIMAL(38,0) as "min_total_stake", null::BIGINT as "max_stake_factor", null::INTEGER as "validator_count", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_cycles'), getvariable('no_rows')));

set variable ton_cycle_validators = etl.query_of('cycle_validators');
create or replace view ton.cycle_validators as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "cycle_start", null::INTEGER as "position", null::INTEGER as "validator_index", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::DECIMAL(38,0) as "weight", null::VARCHAR as "stake_holder_address", null::DECIMAL(38,0) as "stake", null::BIGINT as "max_factor", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_cycle_validators'), error('the lake has no part of cycle_validators, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_cycles with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_cycle_validators as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "cycle_start", null::INTEGER as "position", null::INTEGER as "validator_index", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::DECIMAL(38,0) as "weight", null::VARCHAR as "stake_holder_address", null::DECIMAL(38,0) as "stake", null::BIGINT as "max_factor", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_cycle_validators'), getvariable('no_rows')));

set variable ton_validator_elections = etl.query_of('validator_elections');
create or replace view ton.validator_elections as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::TIMESTAMPTZ as "elect_close", null::DECIMAL(38,0) as "min_stake", null::DECIMAL(38,0) as "total_stake", null::BIGINT as "total_participants", null::BOOLEAN as "failed", null::BOOLEAN as "finished", null::INTEGER as "participant_count", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_elections'), error('the lake has no part of validator_elections, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_elections with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_validator_elections as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::TIMESTAMPTZ as "elect_close", null::DECIMAL(38,0) as "min_stake", null::DECIMAL(38,0) as "total_stake", null::BIGINT as "total_participants", null::BOOLEAN as "failed", null::BOOLEAN as "finished", null::INTEGER as "participant_count", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_elections'), getvariable('no_rows')));

set variable ton_election_participants = etl.query_of('election_participants');
create or replace view ton.election_participants as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::INTEGER as "position", null::VARCHAR as "validator_pubkey", null::INTEGER as "validator_index", null::DECIMAL(38,0) as "stake", null::BIGINT as "max_factor", null::VARCHAR as "stake_holder_address", null::VARCHAR as "adnl_addr", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_election_participants'), error('the lake has no part of election_participants, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_elections with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_election_participants as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "election_id", null::INTEGER as "position", null::VARCHAR as "validator_pubkey", null::INTEGER as "validator_index", null::DECIMAL(38,0) as "stake", null::BIGINT as "max_factor", null::VARCHAR as "stake_holder_address", null::VARCHAR as "adnl_addr", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_election_participants'), getvariable('no_rows')));

set variable ton_validator_events = etl.query_of('validator_events');
create or replace view ton.validator_events as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "tx_lt", null::VARCHAR as "tx_hash", null::VARCHAR as "type", null::VARCHAR as "stake_holder_address", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::BIGINT as "election_id", null::DECIMAL(38,0) as "query_id", null::DECIMAL(38,0) as "amount", null::BIGINT as "reason", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_events'), error('the lake has no part of validator_events, because its dataset was not covered or not exported: run toncenter-etl backfill --only validator_events with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_validator_events as
select null::TIMESTAMPTZ as "utime", null::BIGINT as "tx_lt", null::VARCHAR as "tx_hash", null::VARCHAR as "type", null::VARCHAR as "stake_holder_address", null::VARCHAR as "validator_pubkey", null::VARCHAR as "adnl_addr", null::BIGINT as "election_id", null::DECIMAL(38,0) as "query_id", null::DECIMAL(38,0) as "amount", null::BIGINT as "reason", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_validator_events'), getvariable('no_rows')));

set variable ton_vesting_contracts = etl.query_of('vesting_contracts');
create or replace view ton.vesting_contracts as
select null::VARCHAR as "address", null::BIGINT as "start_time", null::BIGINT as "total_duration", null::BIGINT as "unlock_period", null::BIGINT as "cliff_duration", null::VARCHAR as "sender_address", null::VARCHAR as "owner_address", null::DECIMAL(38,0) as "total_amount", null::VARCHAR as "whitelist", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_vesting_contracts'), error('the lake has no part of vesting_contracts, because its dataset was not covered or not exported: run toncenter-etl backfill --only vesting_contracts with --from and --to, and export again')));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_vesting_contracts as
select null::VARCHAR as "address", null::BIGINT as "start_time", null::BIGINT as "total_duration", null::BIGINT as "unlock_period", null::BIGINT as "cliff_duration", null::VARCHAR as "sender_address", null::VARCHAR as "owner_address", null::DECIMAL(38,0) as "total_amount", null::VARCHAR as "whitelist", null::VARCHAR as "extra", null::TIMESTAMPTZ as "loaded_at", null::varchar as exact_values, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_vesting_contracts'), getvariable('no_rows')));

create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends from ton.days d, (values ('days'), ('daily_activity'), ('hourly_activity'), ('active_wallets'), ('fees_by_part'), ('failed_transactions'), ('gas_by_contract'), ('message_delays'), ('jetton_flows'), ('dex_volume'), ('hourly_trades'), ('daily_trades'), ('daily_changes'), ('daily_legs'), ('daily_pools')) r (relation);

create or replace view etl.open_daily_activity as
select d.day, t.transactions, t.aborted, t.accounts, m.messages, m.value, t.fees, c.traces, b.blocks, t.bounced
from etl.open_days d,
lateral (
  select count(*) as transactions, count(*) filter (where x.aborted) as aborted, count(distinct x.account) as accounts,
    etl.as_raw(sum(x.total_fees)) as fees, count(*) filter (where x.aborted and x.bounce_type = 'ok') as bounced
  from ton.transactions x where x.day = d.day having count(*) > 0) t,
lateral (
  select count(*) as messages, etl.as_raw(sum(x.value)) as value
  from ton.messages x where x.day = d.day) m,
lateral (select count(*) as traces from ton.traces x where x.day = d.day) c,
lateral (select count(*) as blocks from ton.blocks x where x.day = d.day) b
where d.relation = 'daily_activity';

create or replace view ton.daily_activity as select *, false as certified from etl.open_daily_activity;

create or replace view etl.open_hourly_activity as
select d.day, t.hour, t.transactions, t.aborted, t.accounts, t.fees
from etl.open_days d,
lateral (
  select date_trunc('hour', x.utime, 'UTC') as hour, count(*) as transactions, count(*) filter (where x.aborted) as aborted,
    count(distinct x.account) as accounts, etl.as_raw(sum(x.total_fees)) as fees
  from ton.transactions x where x.day = d.day group by 1) t
where d.relation = 'hourly_activity';

create or replace view ton.hourly_activity as select *, false as certified from etl.open_hourly_activity;

create or replace view etl.open_active_wallets as
select d.day, m.wallets, m.messages
from etl.open_days d,
lateral (
  select count(distinct x.destination) as wallets, count(*) as messages
  from ton.messages x
  where x.day = d.day and x.source is null and x.destination is not null having count(*) > 0) m
where d.relation = 'active_wallets';

create or replace view ton.active_wallets as select *, false as certified from etl.open_active_wallets;

create or replace view etl.open_fees_by_part as
select d.day, etl.as_raw(f.storage) as storage, etl.as_raw(f.gas) as gas, etl.as_raw(f.action) as action, etl.as_raw(f.bounce) as bounce,
  etl.as_raw(f.total - f.storage - f.gas - f.action - f.bounce) as import, etl.as_raw(f.total) as total, etl.as_raw(m.forward) as forward
from etl.open_days d,
lateral (
  select coalesce(sum(x.storage_fees_collected), 0) + coalesce(sum(x.credit_due_fees_collected), 0) as storage,
    coalesce(sum(x.compute_gas_fees), 0) as gas, coalesce(sum(x.action_total_action_fees), 0) as action,
    coalesce(sum(x.bounce_msg_fees), 0) as bounce, sum(x.total_fees) as total
  from ton.transactions x where x.day = d.day having count(*) > 0) f,
lateral (
  select coalesce(sum(x.fwd_fee + x.ihr_fee), 0) as forward
  from ton.messages x where x.day = d.day and x.out_msg_tx_hash is not null) m
where d.relation = 'fees_by_part';

create or replace view ton.fees_by_part as select *, false as certified from etl.open_fees_by_part;

create or replace view etl.open_failed_transactions as
select d.day, f.phase, f.reason, f.code, f.transactions, f.accounts, f.fees, f.bounced
from etl.open_days d,
lateral (
  select x.phase, x.reason, x.code, count(*) as transactions, count(distinct x.account) as accounts, etl.as_raw(sum(x.total_fees)) as fees,
    count(*) filter (where x.bounce_type = 'ok') as bounced
  from (
    select t.account, t.total_fees, t.bounce_type,
      case when t.compute_skipped then 'skipped' when t.compute_success is false then 'compute'
        when t.action_success is false then 'action' else 'other' end as phase,
      case when t.compute_skipped then t.compute_reason end as reason,
      case when t.compute_skipped then null when t.compute_success is false then t.compute_exit_code
        when t.action_success is false then t.action_result_code end as code
    from ton.transactions t where t.day = d.day and t.aborted) x
  group by x.phase, x.reason, x.code) f
where d.relation = 'failed_transactions';

create or replace view ton.failed_transactions as select *, false as certified from etl.open_failed_transactions;

create or replace view etl.open_gas_by_contract as
select d.day, g.account, g.code_hash, g.runs, g.failed, g.gas_used, g.gas_fees
from etl.open_days d,
lateral (
  select x.account, (array_agg(x.after_code_hash order by coalesce(x.after_code_hash<>'',false) desc, x.lt desc))[1] as code_hash, count(*) as runs, count(*) filter (where not x.compute_success) as failed,
    etl.as_raw(sum(x.compute_gas_used)) as gas_used, etl.as_raw(sum(x.compute_gas_fees)) as gas_fees
  from ton.transactions x where x.day = d.day and x.compute_gas_used is not null
  group by x.account) g
where d.relation = 'gas_by_contract';

create or replace view ton.gas_by_contract as select *, false as certified from etl.open_gas_by_contract;

create or replace view etl.open_message_delays as
select d.day, x.from_workchain, x.from_shard, x.to_workchain, x.to_shard, x.messages, x.mean_seconds as mean_seconds,
  x.median_seconds as median_seconds, x.longest_seconds as longest_seconds
from etl.open_days d,
lateral (
  -- Reads all messages and senders of the time at once: `offset 0` keeps the planner from looking them up one by one.
  -- A hash alone finds its message: with a second condition, tables without statistics are taken for nearly empty.
  with seen as materialized (
    select t.utime, t.hash, t.in_msg_utime, t.in_msg_hash, t.block_workchain, t.block_shard
    from ton.transactions t where t.day = d.day),
  first as materialized (select min(r.in_msg_utime) as utime from seen r),
  delays as (
    select g.from_workchain, g.from_shard, g.to_workchain, g.to_shard, g.delay, count(*) as messages
    from (
      select s.block_workchain as from_workchain, s.block_shard as from_shard, r.block_workchain as to_workchain, r.block_shard as to_shard,
        r.utime - r.in_msg_utime as delay
      from seen r
      join (
        select x.hash, x.out_msg_tx_hash from ton.messages x
        where x.utime >= (select f.utime from first f) and x.utime < d.ends and x.out_msg_tx_hash is not null) m on m.hash = r.in_msg_hash
      join (
        select x.hash, x.block_workchain, x.block_shard from seen x
        union all
        select x.hash, x.block_workchain, x.block_shard from ton.transactions x
        where x.utime >= (select f.utime from first f) and x.utime < d.starts) s on s.hash = m.out_msg_tx_hash
     ) g
    group by 1, 2, 3, 4, 5)
  select g.from_workchain, g.from_shard, g.to_workchain, g.to_shard, sum(g.messages)::bigint as messages,
    sum(g.messages * g.seconds) / sum(g.messages) as mean_seconds, min(g.seconds) filter (where 2 * g.upto >= g.total) as median_seconds,
    max(g.seconds) as longest_seconds
  from (
    select h.from_workchain, h.from_shard, h.to_workchain, h.to_shard, h.messages, extract(epoch from h.delay) as seconds,
      sum(h.messages) over (partition by h.from_workchain, h.from_shard, h.to_workchain, h.to_shard order by h.delay) as upto,
      sum(h.messages) over (partition by h.from_workchain, h.from_shard, h.to_workchain, h.to_shard) as total
    from delays h) g
  group by 1, 2, 3, 4) x
where d.relation = 'message_delays';

create or replace view ton.message_delays as select *, false as certified from etl.open_message_delays;

create or replace view ton.ton_proxies as
select '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C' as address, 'stonfi' as dex, 'Proxy TON of STON.fi v1' as note
union all
select '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3', 'stonfi_v2', 'Proxy TON of STON.fi v2'
union all
select '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E', 'tonco', 'Proxy TON of TONCO'
union all
select '0:D0A1CE4CDC187C79615EA618BD6C29617AF7A56D966F5A192A768F345EE63FD2', null, 'Wrapped TON'
union
select p.address, p.dex, p.note from etl.ton_proxies p;

create or replace view ton.jetton_mints as
select m.utime, m.created_lt as lt, m.hash as message_hash, m.source as jetton_master, m.destination as jetton_wallet, w.owner,
  etl.to_numeric(m.content_decoded->'amount'->>'value') as amount, etl.to_numeric(m.content_decoded->>'query_id') as query_id,
  m.out_msg_tx_hash as tx_hash
from ton.jetton_wallets w
join ton.messages m on m.source = w.jetton and m.destination = w.address
where m.opcode = '0x178d4519'
  -- A case expression, so that it is evaluated only for mints.
  and case when m.source = w.jetton then (select bool_or(x.aborted) from ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash) is not true end
union all
-- The wallet was not looked up. Then a master is an account that sends jettons without a request to transfer some, and
-- the owner is who gave the wallet an order that it carried out. Conditions upon the owner are not tested before the join.
select m.utime, m.created_lt, m.hash, m.source, m.destination, case when w.jetton is null then (
    select max(r.source) from ton.transactions s join ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
    where s.account = m.destination and s.aborted is not true and r.opcode in ('0x0f8a7ea5', '0x595f07bc')) end,
  etl.to_numeric(m.content_decoded->'amount'->>'value'), etl.to_numeric(m.content_decoded->>'query_id'), m.out_msg_tx_hash
from ton.messages m
left join etl.any_jetton_wallets w on w.address = m.destination
where m.opcode = '0x178d4519' and w.jetton is null
  and case when w.jetton is null then (
      select max(coalesce(r.opcode, '')) from ton.transactions s
      left join etl.any_messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
      where s.utime = m.utime and s.hash = m.out_msg_tx_hash) <> '0x0f8a7ea5'
    and (select bool_or(x.aborted) from ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash) is not true end;

create or replace view etl.refused_transfers as
select i.utime, i.out_msg_tx_hash as transaction_hash, b.destination as source_wallet, b.utime as refused_at
from ton.messages b
join ton.transactions x on x.utime = b.utime and x.hash = b.out_msg_tx_hash
join ton.messages i on i.utime = x.in_msg_utime and i.hash = x.in_msg_hash
where b.bounced and i.opcode = '0x178d4519';

create or replace view etl.transfers as
select t.utime, t.transaction_lt, t.transaction_hash, t.trace_id, t.source, t.destination, t.source_wallet, t.jetton_master, t.amount,
  t.query_id, t.comment, t.response_destination, t.forward_ton_amount,
  -- Looked up row by row: a join would compare each transfer with each one that was refused.
  coalesce(t.transaction_aborted, false) or (
    select count(*) from etl.refused_transfers r where r.source_wallet = t.source_wallet and r.transaction_hash = t.transaction_hash) > 0 as is_aborted
from ton.jetton_transfers t;

create or replace view ton.jetton_movements as
select j.account, j.utime, j.lt, j.step, j.jetton_master, j.kind, j.amount as amount, j.counterparty, j.tx_hash
from (
  select t.source as account, t.utime, t.transaction_lt as lt, 0 as step, t.jetton_master, 'sent' as kind, -t.amount as amount,
    t.destination as counterparty, t.transaction_hash as tx_hash
  from etl.transfers t where t.source <> '' and not t.is_aborted
  union all
  select t.destination, t.utime, t.transaction_lt, 1, t.jetton_master, 'received', t.amount, t.source, t.transaction_hash
  from etl.transfers t where t.destination <> '' and not t.is_aborted
  union all
  select b.owner, b.utime, b.transaction_lt, 0, b.jetton_master, 'burned', -b.amount, null, b.transaction_hash
  from ton.jetton_burns b where b.owner <> '' and b.transaction_aborted is not true
  union all
  select m.owner, m.utime, m.lt, 2, m.jetton_master, 'minted', m.amount, null, m.tx_hash
  from ton.jetton_mints m) j
where not exists (select 1 from ton.ton_proxies p where p.address = j.jetton_master);

create or replace view ton.account_ledger as
select t.account, t.utime, t.lt, v.step, null::text as jetton_master, v.kind, etl.as_raw(v.amount) as amount, v.counterparty,
  etl.as_raw(coalesce(t.before_balance, 0) + sum(v.amount) over (partition by t.account, t.utime, t.lt order by v.step)) as balance,
  t.hash as tx_hash
from ton.transactions t,
lateral (
  select 0 as step, 'received' as kind, m.value as amount, m.source as counterparty
  from ton.messages m where m.utime = t.in_msg_utime and m.hash = t.in_msg_hash and m.value <> 0
  union all
  select 1, 'fees', -t.total_fees, null where t.total_fees <> 0
  union all
  select 1 + s.place, s.kind, s.amount, s.counterparty
  from (
    select row_number() over (order by m.created_lt, part.kind desc)::int as place, part.kind, part.amount, part.counterparty
    from ton.messages m,
    lateral (values ('sent', -m.value, m.destination), ('forward fees', -(m.fwd_fee + m.ihr_fee), null)) part (kind, amount, counterparty)
    where m.utime = t.utime and m.out_msg_tx_hash = t.hash and part.amount <> 0) s
) v
union all
select j.account, j.utime, j.lt, j.step, j.jetton_master, j.kind, j.amount, j.counterparty,
  etl.as_raw(sum(j.amount) over (partition by j.account, j.jetton_master order by j.utime, j.lt, j.step, j.tx_hash)) as balance, j.tx_hash
from ton.jetton_movements j;

create or replace view etl.open_jetton_flows as
select d.day, j.jetton_master, j.transfers, j.senders, j.receivers, etl.as_raw(j.amount) as amount, etl.as_raw(j.minted) as minted, etl.as_raw(j.burned) as burned
from etl.open_days d,
lateral (
  select m.jetton_master, count(*) filter (where m.kind = 'sent') as transfers,
    count(distinct m.account) filter (where m.kind = 'sent') as senders,
    count(distinct m.account) filter (where m.kind = 'received') as receivers,
    coalesce(sum(m.amount) filter (where m.kind = 'received'), 0) as amount,
    coalesce(sum(m.amount) filter (where m.kind = 'minted'), 0) as minted,
    coalesce(-sum(m.amount) filter (where m.kind = 'burned'), 0) as burned
  from ton.jetton_movements m where m.utime::date = d.day
  group by m.jetton_master) j
where d.relation = 'jetton_flows';

create or replace view ton.jetton_flows as select *, false as certified from etl.open_jetton_flows;

create or replace view ton.swaps as
select s.utime, s.trace_id, s.action_id, s.start_utime, s.account, s.dex, s.success,
  case when i.address is not null then 'TON' else s.asset_in end as asset_in, s.amount_in as amount_in,
  case when o.address is not null then 'TON' else s.asset_out end as asset_out, s.amount_out as amount_out,
  case when i.address is not null or s.asset_in = 'TON' then s.paid_by else s.paid_to end as pool
from (
  select d.utime, d.trace_id, d.action_id, d.start_utime, d.account, d.dex, d.success, d.paid_to, d.paid_by, d.amount_in, d.amount_out,
    etl.asset_of(d.dex, d.named_in, d.amount_in::text, d.wallet_in) as asset_in,
    etl.asset_of(d.dex, d.named_out, d.amount_out::text, d.wallet_out) as asset_out
  from (
    select a.utime, a.trace_id, a.action_id, a.start_utime, a.source as account, a.details->>'dex' as dex, a.success,
      coalesce(a.details->>'asset_in', a.details->'dex_incoming_transfer'->>'asset', a.details->'peer_swaps'->0->>'asset_in') as named_in,
      coalesce(a.details->'dex_incoming_transfer'->>'source_jetton_wallet', a.details->'dex_incoming_transfer'->>'destination_jetton_wallet') as wallet_in,
      etl.to_numeric(a.details->'dex_incoming_transfer'->>'amount') as amount_in,
      coalesce(a.details->>'asset_out', a.details->'dex_outgoing_transfer'->>'asset', a.details->'peer_swaps'->(-1)->>'asset_out') as named_out,
      coalesce(a.details->'dex_outgoing_transfer'->>'source_jetton_wallet', a.details->'dex_outgoing_transfer'->>'destination_jetton_wallet') as wallet_out,
      etl.to_numeric(a.details->'dex_outgoing_transfer'->>'amount') as amount_out,
      etl.raw_address(a.details->'dex_incoming_transfer'->>'destination') as paid_to,
      etl.raw_address(a.details->'dex_outgoing_transfer'->>'source') as paid_by
    from ton.actions a where a.type = 'jetton_swap') d) s
left join ton.ton_proxies i on i.address = s.asset_in
left join ton.ton_proxies o on o.address = s.asset_out;

create or replace view etl.open_dex_volume as
select d.day, s.dex, s.pool, s.jetton_master, s.swaps, s.accounts, etl.as_raw(s.bought) as bought, etl.as_raw(s.sold) as sold,
  etl.as_raw(s.volume) as volume, etl.as_raw(s.jettons) as jettons
from etl.open_days d,
lateral (
  select x.dex, x.pool, t.jetton_master, count(*) as swaps, count(distinct x.account) as accounts,
    coalesce(sum(t.bought), 0) as bought, coalesce(sum(t.sold), 0) as sold,
    sum(coalesce(t.bought, t.sold)) as volume, sum(t.jettons) as jettons
  from ton.swaps x, lateral (
    select x.asset_out as jetton_master, x.amount_in as bought, null::decimal(38,0) as sold, x.amount_out as jettons
    where x.asset_in = 'TON' and x.asset_out <> 'TON'
    union all
    select x.asset_in, null, x.amount_out, x.amount_in where x.asset_out = 'TON' and x.asset_in <> 'TON') t
  where x.utime::date = d.day and x.success is not false
  group by 1, 2, 3) s
where d.relation = 'dex_volume';

create or replace view ton.dex_volume as select *, false as certified from etl.open_dex_volume;

create or replace view etl.mints as
select a.utime, a.trace_id, a.action_id, a.asset as nft_address, a.details->>'nft_item_index' as nft_index, a.collection_address,
  nullif(a.source, a.collection_address) as owner, a.success is false as is_aborted, a.start_lt, a.end_lt,
  coalesce(a.collection_address, '') = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF' as is_first_bid
from (
  select n.*, etl.raw_address(n.details->>'nft_collection') as collection_address from ton.actions n where n.type = 'nft_mint') a;

create or replace view ton.nft_ownership as
select h.nft_address,
  -- The source names who sent the message of a mint, mostly the collection. If the item was given away, the giver owned it.
  case when h.kind = 'mint' then coalesce(lead(h.previous_owner) over w, case when lead(h.utime) over w is null then coalesce(i.real_owner, i.owner_address) end, h.owner) else h.owner end as owner,
  h.utime as since, lead(h.utime) over w as until, h.kind, h.previous_owner, h.lt, h.trace_id
from (
  select t.nft_address, nullif(t.new_owner, '') as owner, t.utime, t.transaction_lt as lt, 'transfer' as kind,
    nullif(t.old_owner, '') as previous_owner, t.trace_id
  from ton.nft_transfers t where t.transaction_aborted is not true
  union all
  select m.nft_address, m.owner, m.utime, m.end_lt, 'mint', null, m.trace_id from etl.mints m where not m.is_aborted and not m.is_first_bid
  union all
  -- Domains and user names sell themselves, without a transfer: of those alone no owner before a contract is named.
  select a.asset, a.destination, a.utime, a.end_lt, 'sale', a.source, a.trace_id
  from ton.actions a where a.type in ('dns_purchase', 'nft_transfer') and a.amount is not null and (a.details->>'real_old_owner') is null and a.success is not false
) h
left join etl.any_nft_items i on i.address = h.nft_address and h.kind = 'mint'
window w as (partition by h.nft_address order by h.utime, h.lt);

create or replace view ton.validator_stakes as
select e.election_id, to_timestamp(case when e.election_id between 0 and 253402300799 then e.election_id end) as starts, e.validator_pubkey, e.stake_holder_address,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'stake_accepted'), 0)) as stake,
  count(*) filter (where e.type = 'stake_accepted') as accepted, count(*) filter (where e.type = 'stake_rejected') as rejected,
  min(e.utime) as first_at, max(e.utime) as last_at
from ton.validator_events e where e.election_id is not null
group by e.election_id, e.validator_pubkey, e.stake_holder_address;

create or replace view ton.validator_income as
select max(m.election_id) as election_id, to_timestamp(max(case when m.election_id between 0 and 253402300799 then m.election_id end)) as starts, m.stake_holder_address,
  count(m.election_id) as elections, etl.as_raw(sum(m.stake)) as stake, etl.as_raw(sum(m.returned)) as returned,
  etl.as_raw(sum(m.returned) - sum(m.stake)) as reward,
  max(m.at) filter (where m.returned is not null) as returned_at
from (
  select x.*, count(x.returned) over (
    partition by x.stake_holder_address order by x.at desc, (x.returned is null), x.lt desc) as returns_from_here
  from (
    select s.stake_holder_address, s.election_id, s.stake, null::decimal(38,0) as returned, null::bigint as lt,
      coalesce(to_timestamp(case when e.successor between 0 and 253402300799 then e.successor end), 'infinity') as at
    from (
      select v.election_id, v.stake_holder_address, sum(v.amount) as stake from ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1, 2) s
    join (
      select v.election_id, lead(v.election_id) over (order by v.election_id) as successor from ton.validator_events v
      where v.type = 'stake_accepted' and v.election_id is not null group by 1) e on e.election_id = s.election_id
    union all
    select v.stake_holder_address, null, null, v.amount, v.tx_lt, v.utime from ton.validator_events v
    where v.type = 'stake_recovered') x) m
group by m.stake_holder_address, case when m.returns_from_here = 0 then -1 - m.election_id else m.returns_from_here::bigint end
having count(m.election_id) > 0;

create or replace view ton.complaints as
select c.utime, c.election_id, c.complaint_hash, c.validator_pubkey, c.stake_holder_address, c.severity, c.suggested_fine, c.is_passed,
  c.approved_percent, v.votes, v.weight, v.voters
from ton.validator_complaints c,
lateral (
  select count(*) as votes, etl.as_raw(coalesce(sum(x.weight), 0)) as weight, array_agg(x.validator_index order by x.position) as voters
  from ton.complaint_votes x
  where x.utime = c.utime and x.election_id = c.election_id and x.complaint_hash = c.complaint_hash) v;

create or replace view ton.nominator_pool_cycles as
select e.pool_address, e.validator_address, e.cycle_start,
  (array_agg(e.balance_before order by e.utime, e.tx_lt))[1] as opening,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'reward'), 0)) as rewards,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'penalty'), 0)) as penalties,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'deposit'), 0)) as deposits,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'withdrawal'), 0)) as withdrawals,
  (array_agg(e.balance_after order by e.utime desc, e.tx_lt desc))[1] as closing, count(*) as events
from (
  select x.pool_address, x.validator_address, x.utime, x.tx_lt, x.type, x.amount, x.balance_before, x.balance_after,
    max(x.cycle_start) over (partition by x.pool_address, x.validator_address order by x.utime, x.tx_lt) as cycle_start
  from ton.nominator_pool_events x) e
group by e.pool_address, e.validator_address, e.cycle_start;

create or replace view etl.dex_legs as
select a.utime, a.start_utime, a.trace_id, a.action_id, a.start_lt, x.leg, cardinality(a.hops) as legs, x.dex, x.router,
  case when x.taken = 'TON' or t.address is not null then x.giver else x.taker end as counterparty, a.source as trader,
  case when s.address is not null then 'TON' else x.sold end as sold, x.sold_raw,
  case when b.address is not null then 'TON' else x.bought end as bought, x.bought_raw
from (
  -- Decompressed once, and its legs counted once: `#> '{}'` is the whole.
  select t.utime, t.start_utime, t.trace_id, t.action_id, t.start_lt, t.source, w.details, w.hops
  from ton.actions t
  cross join lateral (select t.details as details, etl.hops_of(t.details) as hops) w
  where t.type = 'jetton_swap' and t.success is not false) a
cross join lateral (
  -- Parsed once for all views, and each member once for all functions, which name their arguments several times.
  select h.leg, h.dex, etl.raw_address(h.taker) as taker, etl.raw_address(h.giver) as giver, etl.raw_address(coalesce(h.taker, h.giver)) as router,
    etl.asset_of(h.dex, h.given, h.given_amount, h.given_wallet) as taken,
    etl.asset_of(h.dex, coalesce(h.hop->>'asset_in', case when h.leg = 0 then h.given end), h.sold_amount, case when h.leg = 0 then h.given_wallet end) as sold,
    etl.to_numeric(h.sold_amount) as sold_raw,
    etl.asset_of(h.dex, coalesce(h.hop->>'asset_out', case when h.leg + 1 = cardinality(a.hops) then h.got end), h.bought_amount,
      case when h.leg + 1 = cardinality(a.hops) then h.got_wallet end) as bought,
    etl.to_numeric(h.bought_amount) as bought_raw
  from (
    -- Between two legs exchanges name what is no TON; at both ends of the swap its jetton wallets tell one from the other.
    select u.leg, a.details->'peer_swaps'->u.leg as hop, a.details->>'dex' as dex,
      case when (a.details->'peer_swaps'->u.leg) is null then a.details->'dex_incoming_transfer'->>'amount' else (a.details->'peer_swaps'->u.leg)->>'amount_in' end as sold_amount,
      case when (a.details->'peer_swaps'->u.leg) is null then a.details->'dex_outgoing_transfer'->>'amount' else (a.details->'peer_swaps'->u.leg)->>'amount_out' end as bought_amount,
      a.details->'dex_incoming_transfer'->>'destination' as taker, a.details->'dex_outgoing_transfer'->>'source' as giver,
      coalesce(a.details->>'asset_in', a.details->'dex_incoming_transfer'->>'asset', a.details->'peer_swaps'->0->>'asset_in') as given,
      a.details->'dex_incoming_transfer'->>'amount' as given_amount,
      coalesce(a.details->'dex_incoming_transfer'->>'source_jetton_wallet', a.details->'dex_incoming_transfer'->>'destination_jetton_wallet') as given_wallet,
      coalesce(a.details->>'asset_out', a.details->'dex_outgoing_transfer'->>'asset', a.details->'peer_swaps'->(-1)->>'asset_out') as got,
      coalesce(a.details->'dex_outgoing_transfer'->>'source_jetton_wallet', a.details->'dex_outgoing_transfer'->>'destination_jetton_wallet') as got_wallet
    -- With the action named, the planner expects no two results alike. Otherwise it caches each under its JSON, which takes as long as to read it.
    from unnest(a.hops) as u (leg) where a.action_id <> '') h) x
left join ton.ton_proxies t on t.address = x.taken
left join ton.ton_proxies s on s.address = x.sold
left join ton.ton_proxies b on b.address = x.bought;

create or replace view etl.action_messages as
select a.utime, a.trace_id, a.action_id, t.utime as transaction_utime, t.lt, m.source, m.destination, m.created_lt, m.opcode, m.content_decoded,
  t.hash as transaction_hash
from ton.action_transactions a
join ton.transactions t on t.hash = a.tx_hash
join ton.messages m on m.utime = t.in_msg_utime and m.hash = t.in_msg_hash;

create or replace view etl.asset_trades as
select l.utime, l.trader, x.asset, x.amount, x.ton, x.usd
from etl.dex_legs l
left join etl.stable_jettons s on s.address = l.sold
left join etl.stable_jettons b on b.address = l.bought,
lateral (
  select l.sold as asset, l.sold_raw as amount, case when l.bought = 'TON' then l.bought_raw end as ton,
    etl.units(l.bought_raw, b.decimals) as usd
  where l.sold is not null and (l.bought = 'TON' and l.sold <> 'TON' or b.address is not null)
  union all
  select l.bought, l.bought_raw, case when l.sold = 'TON' then l.sold_raw end, etl.units(l.sold_raw, s.decimals)
  where l.bought is not null and (l.sold = 'TON' and l.bought <> 'TON' or s.address is not null)) x
where l.sold_raw > 0 and l.bought_raw > 0;

create or replace view etl.open_hourly_trades as
select d.day, t.hour, t.asset, t.trades, t.traders, etl.as_raw(t.ton) as ton, etl.as_raw(t.ton_amount) as ton_amount,
  etl.as_usd(t.usd) as usd, etl.as_raw(t.usd_amount) as usd_amount, nullif(etl.as_price(t.ton_usd), 0) as ton_usd
from etl.open_days d,
lateral (
  select g.hour, g.asset, g.trades, g.traders, g.ton, g.ton_amount, g.usd, g.usd_amount,
    coalesce(sum(g.ton_usd) over (partition by g.hour) / sum(g.ton_sold) over (partition by g.hour),
      sum(g.ton_usd) over () / sum(g.ton_sold) over ()) as ton_usd
  from (
    select date_trunc('hour', x.utime, 'UTC') as hour, x.asset, count(*) as trades, count(distinct x.trader) as traders, sum(x.ton) as ton,
      sum(x.amount) filter (where x.ton is not null) as ton_amount, sum(x.usd) as usd,
      sum(x.amount) filter (where x.usd is not null) as usd_amount, sum(x.usd) filter (where x.asset = 'TON') as ton_usd,
      ton.nano_to_ton(sum(x.amount) filter (where x.asset = 'TON' and x.usd is not null)) as ton_sold
    from etl.asset_trades x where x.utime::date = d.day group by 1, 2) g) t
where d.relation = 'hourly_trades';

create or replace view ton.hourly_trades as select *, false as certified from etl.open_hourly_trades;

create or replace view etl.open_daily_trades as
select d.day, t.asset, t.trades, t.traders, etl.as_raw(t.ton) as ton, etl.as_raw(t.ton_amount) as ton_amount,
  etl.as_usd(t.usd) as usd, etl.as_raw(t.usd_amount) as usd_amount, nullif(etl.as_price(t.ton_usd), 0) as ton_usd
from etl.open_days d,
lateral (
  select g.asset, g.trades, g.traders, g.ton, g.ton_amount, g.usd, g.usd_amount,
    sum(g.ton_usd) over () / sum(g.ton_sold) over () as ton_usd
  from (
    select x.asset, count(*) as trades, count(distinct x.trader) as traders, sum(x.ton) as ton,
      sum(x.amount) filter (where x.ton is not null) as ton_amount, sum(x.usd) as usd,
      sum(x.amount) filter (where x.usd is not null) as usd_amount, sum(x.usd) filter (where x.asset = 'TON') as ton_usd,
      ton.nano_to_ton(sum(x.amount) filter (where x.asset = 'TON' and x.usd is not null)) as ton_sold
    from etl.asset_trades x where x.utime::date = d.day group by 1) g) t
where d.relation = 'daily_trades';

create or replace view ton.daily_trades as select *, false as certified from etl.open_daily_trades;

create or replace view etl.open_daily_changes as
select d.day, c.account, c.jetton_wallet, c.asset, c.changes, etl.as_raw(c.change_raw) as change_raw, c.balance_raw as balance_raw
from etl.open_days d,
lateral (
  select t.account, null::text as jetton_wallet, 'TON' as asset, count(*) as changes, null::decimal(38,0) as change_raw,
    (array_agg(t.after_balance order by t.utime desc, t.lt desc))[1] as balance_raw
  from ton.transactions t where t.utime::date = d.day and t.after_balance is not null
  group by t.account
  union all
  select m.account, null, m.jetton_master, count(*), sum(m.amount), null
  from ton.jetton_movements m where m.utime::date = d.day and m.account is not null
  group by m.account, m.jetton_master
  union all
  -- Whose these are may be learned after the day was kept.
  select null, m.jetton_wallet, m.jetton_master, count(*), sum(m.amount), null
  from ton.jetton_mints m
  where m.utime::date = d.day and m.owner is null
    and not exists (select 1 from ton.ton_proxies p where p.address = m.jetton_master)
  group by m.jetton_wallet, m.jetton_master) c
where d.relation = 'daily_changes';

create or replace view ton.daily_changes as select *, false as certified from etl.open_daily_changes;

create or replace view etl.trade_prices as
select p.period, p.day, p.hour, p.asset, p.symbol, (case when p.asset = 'TON' then 1 else etl.as_price(p.worth_ton / nullif(p.priced, 0)) end) as price_ton,
  etl.as_price(case when p.is_stable then 1 when p.worth_ton is null then p.usd / nullif(p.usd_units, 0) else p.worth_ton / nullif(p.priced, 0) * p.ton_usd end) as price_usd,
  etl.as_ton(p.worth_ton) as volume_ton, etl.as_usd(coalesce(p.worth_ton * p.ton_usd, p.usd)) as volume_usd, p.trades, p.traders,
  p.trades >= 100 and p.traders >= 10 as is_liquid, p.certified
from (
  -- An amount of a jetton with more than 18 decimals may round to none.
  select r.*, etl.units(r.usd_amount, r.decimals) as usd_units,
    case when r.ton is not null or r.ton_usd is not null then ton.nano_to_ton(coalesce(r.ton, 0) + coalesce(etl.rounded(1000000000 * r.usd / r.ton_usd), 0)) end as worth_ton,
    etl.units(coalesce(r.ton_amount, 0) + case when r.ton_usd is null then 0 else coalesce(r.usd_amount, 0) end, r.decimals) as priced
  from (
    select h.*, s.address is not null as is_stable, coalesce(s.decimals, case when h.asset = 'TON' then 9
        else etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed) end) as decimals,
      coalesce(etl.asset_symbol(h.asset, m.symbol, k.symbol), s.symbol) as symbol
    from (
      -- A query that names a period reads only its branch.
      select 'hour' as period, t.day, t.hour, t.asset, t.trades, t.traders, t.ton, t.ton_amount, t.usd, t.usd_amount, t.ton_usd, t.certified
      from ton.hourly_trades t
      union all
      select 'day', t.day, null, t.asset, t.trades, t.traders, t.ton, t.ton_amount, t.usd, t.usd_amount, t.ton_usd, t.certified
      from ton.daily_trades t) h
    left join etl.any_jetton_masters m on m.address = h.asset
    left join etl.any_token_metadata k on k.address = h.asset
    left join etl.stable_jettons s on s.address = h.asset) r) p;

create or replace view ton.hourly_prices as
select p.day, p.hour, p.asset, p.symbol, p.price_ton, p.price_usd, p.volume_ton, p.volume_usd, p.trades, p.traders, p.is_liquid, p.certified
from etl.trade_prices p where p.period = 'hour';

create or replace view ton.daily_prices as
select p.day, p.asset, p.symbol, p.price_ton, p.price_usd, p.volume_ton, p.volume_usd, p.trades, p.traders, p.is_liquid, p.certified
from etl.trade_prices p where p.period = 'day';

create or replace view etl.open_daily_legs as
select d.day, x.utime, x.dex, coalesce(o.pools[x.leg + 1], case when x.legs = 1 then x.counterparty end) as pool, x.router, x.trader,
  x.sold, x.sold_raw as sold_raw, x.bought, x.bought_raw as bought_raw, x.volume_ton as volume_ton,
  etl.as_usd(coalesce(x.usd, x.volume_ton * x.ton_usd)) as volume_usd, x.leg, x.legs,
  o.referral, etl.to_numeric(o.query_id) as query_id, x.trace_id, x.action_id, x.start_utime, o.transaction_hash, x.start_lt
from etl.open_days d,
lateral (
  with hours as materialized (
    select p.hour, p.asset, p.ton, p.ton_amount, p.usd, p.usd_amount, p.ton_usd,
      etl.nanotons_each(p.ton, p.ton_amount, p.usd, p.usd_amount, p.ton_usd) as price
    from ton.hourly_trades p where p.day = d.day),
  day as materialized (
    select nullif(sum(h.usd), 0) / nullif(ton.nano_to_ton(sum(h.usd_amount)), 0) as rate from hours h where h.asset = 'TON'),
  prices as materialized (
    select h.asset, etl.nanotons_each(sum(h.ton), sum(h.ton_amount), sum(h.usd), sum(h.usd_amount), max(y.rate)) as price
    from hours h cross join day y group by 1)
  select l.*, coalesce(etl.units(l.sold_raw, ss.decimals), etl.units(l.bought_raw, bs.decimals)) as usd, coalesce(rh.rate, (select y.rate from day y)) as ton_usd,
    ton.nano_to_ton(coalesce(case when l.sold = 'TON' then l.sold_raw when l.bought = 'TON' then l.bought_raw end,
      etl.rounded(1000000000 * coalesce(etl.units(l.sold_raw, ss.decimals), etl.units(l.bought_raw, bs.decimals)) / coalesce(rh.rate, (select y.rate from day y))),
      etl.rounded(coalesce(l.sold_raw * sh.price, l.bought_raw * bh.price, l.sold_raw * sd.price, l.bought_raw * bd.price)))) as volume_ton
  from etl.dex_legs l
  -- One row for each key, as the planner can see: a query that asks for no value does not compute the prices.
  left join (select h.hour, max(h.ton_usd) as rate from hours h group by h.hour) rh on rh.hour = date_trunc('hour', l.utime, 'UTC')
  left join (select distinct on (h.asset, h.hour) h.* from hours h) sh on sh.asset = l.sold and sh.hour = date_trunc('hour', l.utime, 'UTC')
  left join (select distinct on (h.asset, h.hour) h.* from hours h) bh on bh.asset = l.bought and bh.hour = date_trunc('hour', l.utime, 'UTC')
  left join (select distinct on (p.asset) p.* from prices p) sd on sd.asset = l.sold
  left join (select distinct on (p.asset) p.* from prices p) bd on bd.asset = l.bought
  left join etl.stable_jettons ss on ss.address = l.sold
  left join etl.stable_jettons bs on bs.address = l.bought
  where l.utime::date = d.day) x
-- Joined, so that all of it is computed once; a query that names none of it leaves it out.
left join lateral (
  select array_agg(p.destination order by p.created_lt) filter (
      where p.opcode in ('0x25938561', '0x6664de2a', '0x61ee542d', '0x72aca8aa', '0xa7fb58f8', '0xc0ffee20')) as pools,
    max(coalesce(etl.referral_in(p.content_decoded::text), (
      select etl.referral_in(f.decoded_forward_payload::text) from ton.jetton_transfers f
      where f.utime = p.transaction_utime and f.transaction_lt = p.lt and f.transaction_hash = p.transaction_hash))) as referral,
    (array_agg(p.content_decoded->>'query_id' order by p.lt) filter (where (p.content_decoded->>'query_id') is not null))[1] as query_id,
    max(p.transaction_hash) filter (where p.transaction_utime = x.start_utime and p.lt = x.start_lt) as transaction_hash
  from etl.action_messages p
  where p.utime = x.utime and p.trace_id = x.trace_id and p.action_id = x.action_id and p.transaction_utime between x.start_utime and x.utime) o on true
where d.relation = 'daily_legs';

create or replace view ton.daily_legs as select *, false as certified from etl.open_daily_legs;

create or replace view ton.dex_trades as
select x.utime, x.utime as block_time, x.day, etl.dex_of(x.dex) as dex, etl.dex_version_of(x.dex) as version,
  x.pool,
  x.router, x.trader, x.sold as sold_asset, etl.asset_symbol(x.sold, sm.symbol, sk.symbol) as sold_symbol,
  etl.units(x.sold_raw, etl.asset_decimals(x.sold, sm.decimals, sm.jetton_content, sk.decimals, sk.is_indexed)) as sold_amount,
  x.sold_raw as sold_amount_raw, x.bought as bought_asset, etl.asset_symbol(x.bought, bm.symbol, bk.symbol) as bought_symbol,
  etl.units(x.bought_raw, etl.asset_decimals(x.bought, bm.decimals, bm.jetton_content, bk.decimals, bk.is_indexed)) as bought_amount,
  x.bought_raw as bought_amount_raw, x.volume_ton, x.volume_usd, x.leg, x.legs,
  x.referral, x.query_id, x.trace_id, x.action_id, x.start_utime, x.transaction_hash,
  (select n.label from etl.labels n where n.address = x.trader) as trader_label, x.start_lt as lt, x.certified
from ton.daily_legs x
left join etl.any_jetton_masters sm on sm.address = x.sold
left join etl.any_token_metadata sk on sk.address = x.sold
left join etl.any_jetton_masters bm on bm.address = x.bought
left join etl.any_token_metadata bk on bk.address = x.bought;

create or replace view etl.supply_changes as
select n.jetton_master, n.utime, coalesce(t.lt, n.lt) as lt, n.amount
from ton.jetton_mints n
left join etl.any_transactions t on t.utime = n.utime and t.hash = n.tx_hash
union all
select b.jetton_master, b.utime, b.transaction_lt, -b.amount from ton.jetton_burns b where b.transaction_aborted is not true;

create or replace view etl.liquidity_changes as
select a.utime, case a.type when 'dex_deposit_liquidity' then 'deposit' else 'withdrawal' end as type, a.details->>'dex' as dex,
  etl.raw_address(a.details->>'pool') as pool, a.source as provider, case when t.address is not null then 'TON' else x.asset_1 end as asset_1,
  etl.to_numeric(a.details->>'amount_1') as amount_1, case when u.address is not null then 'TON' else x.asset_2 end as asset_2,
  etl.to_numeric(a.details->>'amount_2') as amount_2, etl.to_numeric(coalesce(a.details->>'lp_tokens_minted', a.details->>'lp_tokens_burnt')) as lp_tokens,
  etl.raw_address(coalesce(a.details->>'nft_address', a.details->>'burnt_nft_address')) as position_address, a.trace_id, a.action_id,
  a.start_utime, a.end_lt as lt
from ton.actions a
cross join lateral (
  select etl.asset_of(a.details->>'dex', a.details->>'asset_1', a.details->>'amount_1', a.details->>'user_jetton_wallet_1') as asset_1,
    etl.asset_of(a.details->>'dex', a.details->>'asset_2', a.details->>'amount_2', a.details->>'user_jetton_wallet_2') as asset_2) x
left join ton.ton_proxies t on t.address = x.asset_1
left join ton.ton_proxies u on u.address = x.asset_2
where a.type in ('dex_deposit_liquidity', 'dex_withdraw_liquidity') and a.success is not false
  and coalesce(a.details->>'is_refund', 'false') = 'false';

create or replace view ton.dex_liquidity as
select x.utime, x.utime as block_time, d.day, x.type, etl.dex_of(x.dex) as dex, etl.dex_version_of(x.dex) as version,
  x.pool, x.provider,
  x.asset_1, x.symbol_1, x.units_1 as amount_1, x.amount_1 as amount_1_raw,
  x.asset_2, x.symbol_2, x.units_2 as amount_2, x.amount_2 as amount_2_raw,
  x.lp_amount as lp_amount, x.lp_tokens as lp_amount_raw, x.position_address,
  case when coalesce(x.amount_1, x.amount_2) is not null then
    ton.nano_to_ton(etl.rounded(1000000000 * (case when x.amount_1 is null then 0 else x.units_1 * x.price_ton_1 end + case when x.amount_2 is null then 0 else x.units_2 * x.price_ton_2 end))) end as value_ton,
  case when coalesce(x.amount_1, x.amount_2) is not null then
    etl.as_usd(case when x.amount_1 is null then 0 else x.units_1 * x.price_usd_1 end + case when x.amount_2 is null then 0 else x.units_2 * x.price_usd_2 end) end as value_usd,
  x.trace_id, x.action_id, x.start_utime, x.lt, (select n.label from etl.labels n where n.address = x.provider) as provider_label
from ton.days d,
lateral (
  with prices as materialized (
    select p.asset, p.price_ton, p.price_usd from ton.daily_prices p where p.day = d.day)
  select l.*, etl.asset_symbol(l.asset_1, m1.symbol, k1.symbol) as symbol_1,
    etl.asset_symbol(l.asset_2, m2.symbol, k2.symbol) as symbol_2,
    etl.units(l.amount_1, etl.asset_decimals(l.asset_1, m1.decimals, m1.jetton_content, k1.decimals, k1.is_indexed)) as units_1,
    etl.units(l.amount_2, etl.asset_decimals(l.asset_2, m2.decimals, m2.jetton_content, k2.decimals, k2.is_indexed)) as units_2,
    etl.units(l.lp_tokens, etl.decimals_of(lm.decimals, lm.jetton_content, lk.decimals, lk.is_indexed)) as lp_amount,
    case when l.asset_1 = 'TON' then 1 else p1.price_ton end as price_ton_1, case when l.asset_2 = 'TON' then 1 else p2.price_ton end as price_ton_2,
    p1.price_usd as price_usd_1, p2.price_usd as price_usd_2
  from etl.liquidity_changes l
  left join prices p1 on p1.asset = l.asset_1
  left join prices p2 on p2.asset = l.asset_2
  left join etl.any_jetton_masters m1 on m1.address = l.asset_1
  left join etl.any_token_metadata k1 on k1.address = l.asset_1
  left join etl.any_jetton_masters m2 on m2.address = l.asset_2
  left join etl.any_token_metadata k2 on k2.address = l.asset_2
  left join etl.any_jetton_masters lm on lm.address = l.pool
  left join etl.any_token_metadata lk on lk.address = l.pool
  where l.utime::date = d.day) x;

create or replace macro etl.under_way(receiver, known_lt, known, kind) as (
  select coalesce(sum(etl.to_numeric(m.content_decoded->'amount'->>'value')), 0)
  from ton.transactions t join ton.messages m on m.utime = t.in_msg_utime and m.hash = t.in_msg_hash
  where t.account = receiver and t.lt > known_lt and t.utime >= known and t.utime < known + interval '1 hour'
    and t.aborted is not true and m.created_lt <= known_lt and m.opcode = kind);

create or replace macro etl.reserve_at(pool, master, moment) as (
  select o.balance + etl.under_way(o.address, s.lt, s.utime, '0x178d4519') - coalesce((
    select sum(case when c.utime >= moment and c.lt <= s.lt then c.amount when c.utime < moment and c.lt > s.lt then -c.amount end)
    from (
      select v.utime, v.lt, v.amount from ton.jetton_movements v
      where v.account = pool and v.jetton_master = master and v.kind <> 'minted'
      union all
      -- By the wallet: to find them by the owner takes a search through all wallets.
      select n.utime, n.lt, n.amount from ton.jetton_mints n where n.jetton_master = master and n.jetton_wallet = o.address) c
    where c.utime >= least(moment, s.utime - interval '1 hour')), 0)
  from ton.jetton_wallets o
  join ton.transactions s on s.account = o.address and s.lt = o.last_transaction_lt
  where o.owner = pool and o.jetton = master and etl.movements_stored(s.utime, moment)
  order by s.lt desc limit 1);

create or replace macro etl.supply_at(master, moment) as (
  select m.total_supply - etl.under_way(m.address, s.lt, s.utime, '0x7bdd97de') - coalesce((
    select sum(case when c.utime >= moment and c.lt <= s.lt then c.amount when c.utime < moment and c.lt > s.lt then -c.amount end)
    from etl.supply_changes c where c.jetton_master = master and c.utime >= least(moment, s.utime - interval '1 hour')), 0)
  from ton.jetton_masters m
  join ton.transactions s on s.account = m.address and s.lt = m.last_transaction_lt
  where m.address = master and etl.movements_stored(s.utime, moment));

create or replace view etl.open_daily_pools as
select d.day, x.dex, x.version, x.pool, x.asset_1, x.asset_2, x.pairs, x.trades, x.traders, etl.as_ton(x.volume_ton) as volume_ton,
  etl.as_usd(x.volume_usd) as volume_usd, etl.as_raw(x.gained_1) as gained_1_raw, etl.as_raw(x.gained_2) as gained_2_raw,
  etl.as_raw(x.later_1) as later_1_raw, etl.as_raw(x.later_2) as later_2_raw,
  case x.asset_1 when x.withdrawn_asset_1 then x.amount_1 when x.withdrawn_asset_2 then x.amount_2 end as withdrawn_1_raw,
  case x.asset_2 when x.withdrawn_asset_1 then x.amount_1 when x.withdrawn_asset_2 then x.amount_2 end as withdrawn_2_raw,
  x.burned as burned_raw,
  etl.as_raw(case when x.pairs = 1 and x.asset_1 <> 'TON' then etl.reserve_at(x.pool, x.asset_1, d.ends) end) as held_1_raw,
  etl.as_raw(case when x.pairs = 1 and x.asset_2 <> 'TON' then etl.reserve_at(x.pool, x.asset_2, d.ends) end) as held_2_raw,
  etl.as_raw(etl.supply_at(x.pool, d.ends)) as lp_supply_raw
from etl.open_days d,
lateral (
  with withdrawals as materialized (
    -- A withdrawal is the pool's assets by the share of its LP tokens that is burned.
    select distinct on (w.pool) w.pool, w.utime, w.lp_tokens as burned, w.amount_1, w.amount_2, w.asset_1 as withdrawn_asset_1, w.asset_2 as withdrawn_asset_2
    from etl.liquidity_changes w
    where w.utime::date = d.day and w.type = 'withdrawal' and w.lp_tokens > 0
    order by w.pool, w.utime desc, w.lt desc)
  select g.*, v.burned, v.amount_1, v.amount_2, v.withdrawn_asset_1, v.withdrawn_asset_2
  from (
    select p.dex, p.version, p.pool, p.asset_1, p.asset_2, count(*) over (partition by p.pool) as pairs, count(*) as trades,
      count(distinct p.trader) as traders, sum(p.volume_ton) as volume_ton, sum(p.volume_usd) as volume_usd, sum(p.gained_1) as gained_1,
      sum(p.gained_2) as gained_2, sum(case when p.is_later then p.gained_1 else 0 end) as later_1, sum(case when p.is_later then p.gained_2 else 0 end) as later_2
    from (
      select etl.dex_of(t.dex) as dex, etl.dex_version_of(t.dex) as version, t.pool, t.trader, t.volume_ton, t.volume_usd, t.utime > v.utime as is_later,
        case when t.is_first_sold then t.sold else t.bought end as asset_1, case when t.is_first_sold then t.sold_raw else -t.bought_raw end as gained_1,
        case when t.is_first_sold then t.bought else t.sold end as asset_2, case when t.is_first_sold then -t.bought_raw else t.sold_raw end as gained_2
      from (
        select l.*, l.sold < l.bought as is_first_sold from ton.daily_legs l
        where l.day = d.day and l.pool is not null and l.sold is not null and l.bought is not null) t
      -- A full join is never a loop over all withdrawals for each leg, however few legs the planner expects.
      left join withdrawals v on v.pool = t.pool where coalesce(t.pool, '') <> '') p
    group by p.dex, p.version, p.pool, p.asset_1, p.asset_2) g
  left join withdrawals v on v.pool = g.pool) x
where d.relation = 'daily_pools';

create or replace view ton.daily_pools as select *, false as certified from etl.open_daily_pools;

create or replace view ton.dex_pools as
select d.day, x.dex, x.version, x.pool, x.asset_1, x.symbol_1, x.asset_2, x.symbol_2, x.trades, x.traders, x.volume_ton, x.volume_usd,
  etl.units(x.gained_1_raw, x.decimals_1) as gained_1, etl.units(x.gained_2_raw, x.decimals_2) as gained_2,
  x.gained_1_raw, x.gained_2_raw, x.reserve_1 as reserve_1, x.reserve_2 as reserve_2,
  x.reserve_1_raw as reserve_1_raw, x.reserve_2_raw as reserve_2_raw,
  x.lp_supply as lp_supply, x.supply as lp_supply_raw,
  x.tvl_ton as tvl_ton, etl.as_usd(x.tvl_usd) as tvl_usd,
  etl.as_price(x.tvl_ton / nullif(x.lp_supply, 0)) as lp_price_ton,
  etl.as_price(x.tvl_usd / nullif(x.lp_supply, 0)) as lp_price_usd, x.certified
from etl.days_of_report('daily_pools') d,
lateral (
  with prices as materialized (
    select p.asset, p.price_ton, p.price_usd from ton.daily_prices p where p.day = d.day)
  select r.*, ton.nano_to_ton(etl.rounded(1000000000 * (r.reserve_1 * case when r.asset_1 = 'TON' then 1 else p1.price_ton end
      + r.reserve_2 * case when r.asset_2 = 'TON' then 1 else p2.price_ton end))) as tvl_ton,
    r.reserve_1 * p1.price_usd + r.reserve_2 * p2.price_usd as tvl_usd
  from (
    select u.*, etl.units(u.reserve_1_raw, u.decimals_1) as reserve_1, etl.units(u.reserve_2_raw, u.decimals_2) as reserve_2,
      etl.units(u.supply, u.lp_decimals) as lp_supply
    from (
      select h.*, etl.as_raw(coalesce(h.held_1, etl.rounded(h.withdrawn_1_raw / nullif(h.burned_raw, 0) * h.supply) + h.later_1_raw)) as reserve_1_raw,
        etl.as_raw(coalesce(h.held_2, etl.rounded(h.withdrawn_2_raw / nullif(h.burned_raw, 0) * h.supply) + h.later_2_raw)) as reserve_2_raw,
        etl.asset_symbol(h.asset_1, m1.symbol, k1.symbol) as symbol_1, etl.asset_symbol(h.asset_2, m2.symbol, k2.symbol) as symbol_2,
        etl.asset_decimals(h.asset_1, m1.decimals, m1.jetton_content, k1.decimals, k1.is_indexed) as decimals_1,
        etl.asset_decimals(h.asset_2, m2.decimals, m2.jetton_content, k2.decimals, k2.is_indexed) as decimals_2,
        etl.decimals_of(lm.decimals, lm.jetton_content, lk.decimals, lk.is_indexed) as lp_decimals
      from (
        -- What was not known when the day was kept may be known now.
        select p.*, coalesce(p.held_1_raw, case when p.certified and p.pairs = 1 and p.asset_1 <> 'TON' then etl.reserve_at(p.pool, p.asset_1, d.ends) end) as held_1,
          coalesce(p.held_2_raw, case when p.certified and p.pairs = 1 and p.asset_2 <> 'TON' then etl.reserve_at(p.pool, p.asset_2, d.ends) end) as held_2,
          coalesce(p.lp_supply_raw, case when p.certified then etl.supply_at(p.pool, d.ends) end) as supply
        from ton.daily_pools p where p.day = d.day) h
      left join etl.any_jetton_masters m1 on m1.address = h.asset_1
      left join etl.any_token_metadata k1 on k1.address = h.asset_1
      left join etl.any_jetton_masters m2 on m2.address = h.asset_2
      left join etl.any_token_metadata k2 on k2.address = h.asset_2
      left join etl.any_jetton_masters lm on lm.address = h.pool
      left join etl.any_token_metadata lk on lk.address = h.pool) u) r
  -- One row for each asset, for the same reason as in open_daily_legs.
  left join (select distinct on (p.asset) p.* from prices p) p1 on p1.asset = r.asset_1
  left join (select distinct on (p.asset) p.* from prices p) p2 on p2.asset = r.asset_2) x;

create or replace view ton.staking_prices as
select d.day, x.provider, x.asset, coalesce(m.symbol, k.symbol) as symbol, x.deposits, x.withdrawals, etl.as_ton(ton.nano_to_ton(x.staked)) as staked,
  etl.as_ton(ton.nano_to_ton(x.unstaked)) as unstaked, etl.units(x.minted, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed)) as minted,
  etl.units(x.burned, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed)) as burned,
  etl.as_price(ton.nano_to_ton(x.staked + x.unstaked)
    / nullif(etl.units(x.minted + x.burned, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed)), 0)) as price_ton
from ton.days d,
lateral (
  select s.provider, s.asset, count(*) filter (where s.is_deposit) as deposits, count(*) filter (where not s.is_deposit) as withdrawals,
    coalesce(sum(s.amount) filter (where s.is_deposit), 0) as staked, coalesce(sum(s.amount) filter (where not s.is_deposit), 0) as unstaked,
    coalesce(sum(s.tokens) filter (where s.is_deposit), 0) as minted, coalesce(sum(s.tokens) filter (where not s.is_deposit), 0) as burned
  from (
    select a.details->>'provider' as provider, etl.raw_address(a.details->>'asset') as asset, a.type = 'stake_deposit' as is_deposit,
      etl.to_numeric(a.details->>'amount') as amount, etl.to_numeric(coalesce(a.details->>'tokens_minted', a.details->>'tokens_burnt')) as tokens
    from ton.actions a
    where a.utime::date = d.day and a.type in ('stake_deposit', 'stake_withdrawal') and a.success is not false
      -- What ethena takes is no TON.
      and (a.details->>'source_asset') is null and coalesce(a.details->>'provider', '') <> 'ethena') s
  where s.asset is not null and s.amount > 0 and s.tokens > 0
  group by s.provider, s.asset) x
left join etl.any_jetton_masters m on m.address = x.asset
left join etl.any_token_metadata k on k.address = x.asset;

create or replace view ton.labels as
select l.address, l.label, l.category, l.organization from etl.labels l;

create or replace view ton.jetton_events as
select e.utime, e.utime as block_time, e.type, e.jetton_master, coalesce(m.symbol, k.symbol) as symbol, e.source, e.destination,
  e.jetton_wallet, etl.units(e.amount_raw, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed)) as amount, e.amount_raw,
  e.comment, e.query_id, e.response_destination, e.forward_ton_amount as forward_ton_amount, e.is_aborted, e.lt, e.trace_id, e.transaction_hash
from (
  select t.utime, 'transfer' as type, t.jetton_master, nullif(t.source, '') as source, nullif(t.destination, '') as destination,
    t.source_wallet as jetton_wallet, t.amount as amount_raw, t.comment, t.query_id,
    t.response_destination, ton.nano_to_ton(t.forward_ton_amount) as forward_ton_amount, t.is_aborted, t.transaction_lt as lt,
    t.trace_id, t.transaction_hash
  from etl.transfers t
  union all
  select b.utime, 'burn', b.jetton_master, nullif(b.owner, ''), null, b.jetton_wallet, b.amount, null, b.query_id,
    b.response_destination, null, coalesce(b.transaction_aborted, false), b.transaction_lt, b.trace_id, b.transaction_hash
  from ton.jetton_burns b
  union all
  select n.utime, 'mint', n.jetton_master, null, n.owner, n.jetton_wallet, n.amount, null, n.query_id, null, null, false, n.lt,
    (select max(x.trace_id) from ton.transactions x where x.hash = n.tx_hash and x.utime = n.utime), n.tx_hash
  from ton.jetton_mints n) e
left join etl.any_jetton_masters m on m.address = e.jetton_master
left join etl.any_token_metadata k on k.address = e.jetton_master;

create or replace view ton.jetton_metadata as
select m.address, m.since, lead(m.since) over (partition by m.address order by m.since) as until, coalesce(c.name, f.name) as name,
  coalesce(c.symbol, f.symbol) as symbol, etl.decimals_of(c.decimals, c.content, f.decimals, f.is_indexed) as decimals,
  coalesce(c.description, f.description) as description, coalesce(c.image, f.image) as image, coalesce(c.uri, f.uri) as uri, c.mintable,
  c.admin_address, c.jetton_wallet_code_hash, c.code_hash, f.is_nsfw, f.is_scam, c.content, f.content as token_info
from (
  -- What a source is first found to say counts from the first reading of either source on.
  select x.address, min(x.first_seen) as since, x.of_chain, x.of_indexer
  from (
    select v.address, v.first_seen,
      greatest(1, count(*) filter (where v.source = 'chain') over (partition by v.address order by v.first_seen)) as of_chain,
      greatest(1, count(*) filter (where v.source = 'indexer') over (partition by v.address order by v.first_seen)) as of_indexer
    from ton.jetton_descriptions v) x
  group by x.address, x.of_chain, x.of_indexer) m
left join (
  select v.*, row_number() over (partition by v.address order by v.first_seen) as number
  from ton.jetton_descriptions v where v.source = 'chain') c on c.address = m.address and c.number = m.of_chain
left join (
  select v.*, row_number() over (partition by v.address order by v.first_seen) as number
  from ton.jetton_descriptions v where v.source = 'indexer') f on f.address = m.address and f.number = m.of_indexer;

create or replace view ton.nft_metadata as
select m.address, m.type, i.collection_address, i.index_text as nft_index, m.since,
  lead(m.since) over (partition by m.address, m.type order by m.since) as until, coalesce(c.name, f.name) as name,
  coalesce(c.description, f.description) as description, coalesce(c.image, f.image) as image, coalesce(c.uri, f.uri) as uri,
  coalesce(c.content->'attributes', f.content->'extra'->'attributes') as attributes, f.is_nsfw, f.is_scam, c.content, f.content as token_info
from (
  -- What a source is first found to say counts from the first reading of either source on.
  select x.address, x.type, min(x.first_seen) as since, x.of_chain, x.of_indexer
  from (
    select v.address, v.type, v.first_seen,
      greatest(1, count(*) filter (where v.source = 'chain') over (partition by v.address, v.type order by v.first_seen)) as of_chain,
      greatest(1, count(*) filter (where v.source = 'indexer') over (partition by v.address, v.type order by v.first_seen)) as of_indexer
    from ton.nft_descriptions v) x
  group by x.address, x.type, x.of_chain, x.of_indexer) m
left join (
  select v.*, row_number() over (partition by v.address, v.type order by v.first_seen) as number
  from ton.nft_descriptions v where v.source = 'chain') c on c.address = m.address and c.type = m.type and c.number = m.of_chain
left join (
  select v.*, row_number() over (partition by v.address, v.type order by v.first_seen) as number
  from ton.nft_descriptions v where v.source = 'indexer') f on f.address = m.address and f.type = m.type and f.number = m.of_indexer
left join etl.any_nft_items i on i.address = m.address and m.type = 'item';

create or replace view etl.first_bids as
select b.utime, b.trace_id, b.action_id, b.nft_address, b.nft_index, b.collection_address, b.bidder, b.amount, b.is_aborted, b.start_lt, b.end_lt
from (
  -- The bid is coins for the collection, whose next message makes the item.
  select m.*, t.source as bidder, t.amount, row_number() over (
    partition by m.utime, m.trace_id, m.action_id order by case when t.end_lt <= m.start_lt then t.end_lt else 0 end desc) as number
  from etl.mints m
  left join etl.any_actions t on t.utime = m.utime and t.trace_id = m.trace_id and t.type = 'ton_transfer' and t.destination = m.collection_address
  where m.is_first_bid) b
where b.number = 1;

create or replace view ton.nft_events as
select e.utime, e.utime as block_time, e.type, e.sale_type, e.nft_address, coalesce(e.nft_index, i.index_text) as nft_index,
  coalesce(e.collection_address, i.collection_address) as collection_address, e.previous_owner, e.owner, e.bidder,
  ton.nano_to_ton(e.price_raw) as price, e.price_raw as price_raw, case when e.price_raw is not null then 'TON' end as payment_asset, e.sale_address,
  e.marketplace, e.marketplace_address, etl.as_ton(ton.nano_to_ton(e.fee)) as marketplace_fee,
  ton.nano_to_ton(e.royalty) as royalty, e.royalty_address, e.comment, e.query_id as query_id, e.is_aborted, e.lt, e.trace_id, e.action_id, e.transaction_hash, coalesce(r.domain, q.domain) as domain
from (
  select t.utime, 'transfer' as type, null::text as sale_type, t.nft_address, null::text as nft_index, nullif(t.nft_collection, '') as collection_address,
    nullif(t.old_owner, '') as previous_owner, nullif(t.new_owner, '') as owner, null::text as bidder, null::decimal(38,0) as price_raw, null::text as sale_address,
    null::text as marketplace, null::text as marketplace_address, null::decimal(38,0) as fee, null::decimal(38,0) as royalty, null::text as royalty_address,
    t.comment, t.query_id, coalesce(t.transaction_aborted, false) as is_aborted, t.transaction_lt as lt,
    t.trace_id, null::text as action_id, t.transaction_hash
  from ton.nft_transfers t
  union all
  select a.utime, k.type, coalesce(k.sale_type, case s.type when 'getgems_sale' then 'sale' when 'getgems_auction' then 'auction' end,
      case when c.sells_itself then 'auction' end), a.asset, a.details->>'nft_item_index', etl.raw_address(a.details->>'nft_collection'),
    case when k.type = 'sale' then etl.raw_address(coalesce(a.details->>'real_old_owner', a.details->>'old_owner')) end,
    case when k.type = 'sale' then etl.raw_address(a.details->>'new_owner') when k.type in ('bid', 'outbid') then null
      else a.source end,
    case when k.type in ('bid', 'outbid') then etl.raw_address(a.details->>'bidder') when k.type = 'auction end' then etl.raw_address(s.details->>'last_member') end,
    case when k.type in ('listing', 'price change', 'bid', 'outbid', 'sale') then a.amount
      when k.type = 'auction end' then nullif(etl.to_numeric(s.details->>'last_bid'), 0) end,
    coalesce(etl.raw_address(coalesce(a.details->>'sale_address', a.details->>'auction_address', a.details->>'auction', a.details->>'sale_contract')), c.address,
      case when c.sells_itself then a.asset end),
    a.details->>'marketplace', etl.raw_address(a.details->>'marketplace_address'),
    coalesce(etl.to_numeric(a.details->>'marketplace_fee'), case when k.type = 'sale' then
      a.amount - etl.to_numeric(a.details->>'payout_amount') - coalesce(r.royalty, case when c.address is null or s.address is not null then 0 end) end),
    r.royalty, etl.raw_address(coalesce(a.details->>'royalty_address', case when k.type = 'sale' then coalesce(s.details->>'royalty_address', s.details->>'royalty_fee_address') end)),
    coalesce(a.details->>'comment', a.details->>'payout_comment'), etl.to_numeric(a.details->>'query_id'), a.success is false, a.end_lt,
    a.trace_id, a.action_id, null
  from ton.actions a
  join (values
    ('nft_put_on_sale', 'listing', 'sale'), ('nft_put_on_auction', 'listing', 'auction'),
    ('teleitem_start_auction', 'listing', 'auction'), ('nft_update_sale', 'price change', 'sale'), ('nft_cancel_sale', 'cancel', 'sale'),
    ('nft_cancel_auction', 'cancel', 'auction'), ('teleitem_cancel_auction', 'cancel', 'auction'), ('auction_bid', 'bid', 'auction'),
    ('auction_outbid', 'outbid', 'auction'), ('nft_purchase', 'sale', null), ('dns_purchase', 'sale', null), ('nft_transfer', 'sale', null),
    ('nft_finish_auction', 'auction end', 'auction')) k (action, type, sale_type) on k.action = a.type
  -- A contract that sells an item owns it until then, unless it is the item itself, and the source tells the fees of some sales by it alone.
  cross join lateral (
    select case when k.type = 'auction end' then etl.raw_address(a.details->>'auction_address')
      when k.type = 'sale' and (a.details->>'old_owner') <> (a.details->>'real_old_owner') then etl.raw_address(a.details->>'old_owner') end as address,
      k.type = 'sale' and (a.details->>'real_old_owner') is null as sells_itself) c
  left join etl.any_nft_sales s on s.address = c.address
  cross join lateral (
    select coalesce(etl.to_numeric(a.details->>'royalty_amount'), case when k.type = 'sale' then coalesce(etl.to_numeric(s.details->>'royalty_amount'),
      -- The contract drops what is less than a nanoton.
      etl.rounded(floor(a.amount * etl.to_numeric(s.details->>'royalty_fee_factor') / nullif(etl.to_numeric(s.details->>'royalty_fee_base'), 0)))) end) as royalty) r
  -- A transfer has a price only if it is a sale: of a user name, or of an item whose payment the source does not see.
  where a.type <> 'nft_transfer' or a.amount is not null
  union all
  select m.utime, 'mint', null, m.nft_address, m.nft_index, m.collection_address, null, m.owner, null, null, null,
    null, null, null, null, null, null, null, m.is_aborted, m.end_lt, m.trace_id, m.action_id, null
  from etl.mints m where not m.is_first_bid
  union all
  select f.utime, 'bid', 'auction', f.nft_address, f.nft_index, f.collection_address, null, null, f.bidder, f.amount, f.nft_address,
    null, null, null, null, null, null, null, f.is_aborted, f.end_lt, f.trace_id, f.action_id, null
  from etl.first_bids f) e
left join etl.any_nft_items i on i.address = e.nft_address
left join etl.any_dns_records r on r.nft_item_address = e.nft_address
left join etl.any_dns_auctions q on q.nft_item_address = e.nft_address;

create or replace view ton.nft_offers as
select o.since, o.until, o.ended_by, o.nft_address, o.collection_address, o.seller, o.price, o.price_raw, o.marketplace, o.sale_address, o.domain, o.trace_id
from (
  select e.utime as since, lead(e.utime) over w as until, lead(e.type) over w as ended_by, e.type, e.sale_type, e.nft_address,
    -- A change of price names no collection.
    coalesce(e.collection_address, max(e.collection_address) over (partition by e.nft_address)) as collection_address,
    e.owner as seller, e.price, e.price_raw, e.marketplace, e.sale_address, e.domain, e.trace_id
  from (
    select n.*, count(*) filter (where n.type <> 'transfer') over (partition by n.nft_address, n.trace_id) as named
    from ton.nft_events n where n.type in ('listing', 'price change', 'sale', 'cancel', 'transfer') and not n.is_aborted) e
  -- The contract of an offer owns the item, so an offer ends with any transfer, also of a sale that the source does not know
  -- as one. A transfer in the trace of another event is a part of that.
  where e.type <> 'transfer' or e.named = 0
  window w as (partition by e.nft_address order by e.utime, e.lt)) o
where o.type in ('listing', 'price change') and o.sale_type = 'sale';

create or replace view ton.account_activity as
select t.account, coalesce(l.label, b.domain) as label, l.category, coalesce(s.interfaces, b.interfaces) as interfaces,
  t.first_seen, t.last_seen, t.is_whole, t.deployed_at,
  (select m.source from ton.transactions x join ton.messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
    where x.account = t.account and x.utime = t.deployed_at and x.orig_status in ('nonexist', 'uninit') and x.end_status = 'active' order by x.lt limit 1) as deployed_by,
  -- A message that is not stored ends the search: it may have brought the first coins.
  (select m.source from ton.transactions x left join etl.any_messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
    where x.account = t.account and x.bounce_type is distinct from 'ok'
      and (m.hash is null and x.in_msg_hash is not null or m.source is not null and m.value > 0 and m.bounced is not true)
    order by x.utime, x.lt limit 1) as first_funder,
  t.transactions, t.aborted, t.active_days, etl.as_ton(ton.nano_to_ton(t.fees)) as fees
from (
  select x.account, min(x.utime) as first_seen, max(x.utime) as last_seen, coalesce(bool_or(x.prev_trans_lt = 0), false) as is_whole,
    min(x.utime) filter (where x.orig_status in ('nonexist', 'uninit') and x.end_status = 'active') as deployed_at, count(*) as transactions,
    count(*) filter (where x.aborted) as aborted, count(distinct date_trunc('day', x.utime, 'UTC')) as active_days, sum(x.total_fees) as fees
  from ton.transactions x group by x.account) t
left join etl.labels l on l.address = t.account
left join etl.any_address_book b on b.address = t.account
left join etl.any_account_states s on s.address = t.account;

create or replace view ton.balances as
select b.utime, b.utime as block_time, b.account, b.asset, etl.asset_symbol(b.asset, m.symbol, k.symbol) as symbol,
  etl.units(b.before_raw, etl.asset_decimals(b.asset, m.decimals, m.jetton_content, k.decimals, k.is_indexed)) as balance_before,
  etl.units(b.after_raw, etl.asset_decimals(b.asset, m.decimals, m.jetton_content, k.decimals, k.is_indexed)) as balance,
  etl.as_raw(b.before_raw) as balance_before_raw, etl.as_raw(b.after_raw) as balance_raw, b.lt, b.step, b.transaction_hash
from (
  select t.utime, t.account, 'TON' as asset, t.before_balance as before_raw, t.after_balance as after_raw, t.lt, 0 as step, t.hash as transaction_hash
  from ton.transactions t where t.after_balance is not null
  union all
  select j.utime, j.account, j.jetton_master, j.balance - j.amount, j.balance, j.lt, j.step, j.tx_hash
  from (
    select x.*, sum(x.amount) over (partition by x.account, x.jetton_master order by x.utime, x.lt, x.step, x.tx_hash) as balance
    from ton.jetton_movements x where x.account is not null) j) b
left join etl.any_jetton_masters m on m.address = b.asset
left join etl.any_token_metadata k on k.address = b.asset;

create or replace view etl.balance_changes as
select c.day, c.account, c.asset, c.balance_raw, c.change_raw, true as certified from etl.certified_changes c
union all
select c.day, c.account, c.asset, c.balance_raw, c.change_raw, false from etl.open_daily_changes c where c.account is not null;

create or replace view ton.daily_balances as
select b.day, b.account, b.asset, etl.asset_symbol(b.asset, m.symbol, k.symbol) as symbol,
  etl.units(b.balance_raw, etl.asset_decimals(b.asset, m.decimals, m.jetton_content, k.decimals, k.is_indexed)) as balance,
  etl.as_raw(b.balance_raw) as balance_raw, b.day = b.changed as has_changed
from (
  with days as materialized (select d.day, d.is_open from etl.balance_days() d)
  -- Days before the first open one need kept rows alone. This part names no other relation, so it is planned fast.
  select d.day, c.account, c.asset, c.balance_raw, c.changed
  from days d,
  lateral (
    select x.account, x.asset, coalesce((array_agg(x.balance_raw order by x.day desc))[1], sum(x.change_raw)) as balance_raw, max(x.day) as changed
    from etl.certified_changes x where x.day <= d.day group by x.account, x.asset) c
  where not d.is_open
  union all
  select d.day, c.account, c.asset, c.balance_raw, c.day
  from days d
  join (
    select x.day, x.account, x.asset, coalesce(x.balance_raw, sum(x.change_raw) over w) as balance_raw, coalesce(lead(x.day) over w, 'infinity') as next
    from etl.balance_changes x
    window w as (partition by x.account, x.asset order by x.day)) c on d.day >= c.day and d.day < c.next
  where d.is_open) b
left join etl.any_jetton_masters m on m.address = b.asset
left join etl.any_token_metadata k on k.address = b.asset;

create or replace view ton.nominators as
select p.address as pool_address, etl.raw_address(p.active_nominators->n.place->>'address') as nominator_address,
  etl.to_numeric(p.active_nominators->n.place->>'balance') as balance, etl.to_numeric(p.active_nominators->n.place->>'pending_balance') as pending_balance,
  p.loaded_at
from ton.nominator_pools p
cross join unnest(etl.positions_in(p.active_nominators)) as n (place);

create or replace view ton.vesting_unlocks as
select v.address, v.owner_address, v.sender_address, u.unlocks_at, etl.as_ton(ton.nano_to_ton(u.unlocked - u.before)) as amount,
  etl.as_ton(ton.nano_to_ton(u.unlocked)) as unlocked
from (
  select c.*, div(c.total_duration, c.unlock_period)::bigint as periods, div(c.cliff_duration, c.unlock_period)::bigint as at_cliff
  from ton.vesting_contracts c
  where c.unlock_period > 0 and c.total_duration >= c.unlock_period and c.cliff_duration >= 0 and c.start_time between 0 and 100000000000
    and c.total_duration < 100000000000 and c.total_duration / c.unlock_period < 10000) v
cross join lateral (
  -- Before the cliff nothing is paid out; then all periods that are over are at once.
  select to_timestamp(v.start_time + least(greatest(k.period * v.unlock_period, v.cliff_duration), v.total_duration)) as unlocks_at,
    div(v.total_amount * k.period, v.periods) as unlocked,
    case when k.period = k.first then 0 else div(v.total_amount * (k.period - 1), v.periods) end as before
  from (select g.period, least(greatest(v.at_cliff, 1), v.periods) as first from generate_series(least(greatest(v.at_cliff, 1), v.periods), v.periods) as g (period)) k) u;

-- Functions that read tables: applied after the views.

create or replace macro ton.jetton_units(master, amount) as etl.units(amount, etl.decimals_of(
  (select max(m.decimals) from ton.jetton_masters m where m.address = ton.ton_address(master)),
  (select any_value(m.jetton_content) from ton.jetton_masters m where m.address = ton.ton_address(master)),
  (select max(k.decimals) from ton.token_metadata k where k.address = ton.ton_address(master)),
  (select bool_or(k.is_indexed) from ton.token_metadata k where k.address = ton.ton_address(master))));

create or replace macro etl.trace_of(wanted) as (
  select trace_id from (
    select 1 as place, t.trace_id from ton.traces t where t.trace_id = wanted
    union all
    select 2, x.trace_id from ton.transactions x where x.hash = wanted
    union all
    -- A message belongs to the trace of its sender; one from outside to that of its receiver.
    select 3, x.trace_id from ton.messages m join ton.transactions x on x.hash = m.out_msg_tx_hash
    where m.hash = wanted or m.hash_norm = wanted
    union all
    select 4, x.trace_id from ton.messages m
    join ton.transactions x on x.account = m.destination and x.utime = m.utime and x.in_msg_hash = m.hash
    where m.out_msg_tx_hash is null and (m.hash = wanted or m.hash_norm = wanted)
  ) where trace_id is not null order by place limit 1);

-- No rows if the lake has no finished trace with the hash.
create or replace macro ton.trace_tree(trace) as table
with recursive chosen as (
  select t.trace_id, t.start_utime, t.utime from ton.traces t where t.trace_id = etl.trace_of(ton.ton_hash(trace))
  order by t.utime desc limit 1
), nodes as (
  select e.tx_hash, e.parent_tx_hash, e.position from ton.trace_nodes e, chosen c
  where e.utime = c.utime and e.trace_id = c.trace_id
), walk as (
  select e.tx_hash, 0 as depth, [e.position] as path from nodes e where e.parent_tx_hash is null
  union all
  select e.tx_hash, w.depth + 1, list_append(w.path, e.position) from walk w join nodes e on e.parent_tx_hash = w.tx_hash
)
select w.depth,
  repeat('  ', w.depth) || left(x.account, 10) || '…' || right(x.account, 4)
    || coalesce(' ' || coalesce(m.decoded_opcode, m.opcode), '')
    || coalesce(' ' || ton.nano_to_ton(m.value) || ' TON', '')
    || case when x.aborted then ' aborted' else '' end as tree,
  x.utime, x.lt, x.account, m.opcode, m.value, x.aborted, w.tx_hash
from walk w
left join (
  select x.* from ton.transactions x, chosen c where x.trace_id = c.trace_id and x.utime between c.start_utime and c.utime
) x on x.hash = w.tx_hash
left join ton.messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
order by w.path;

create or replace macro ton.jetton_holders(master, moment := 'infinity') as table
select h.owner, sum(h.amount) as balance, h.jetton_wallet
from (
  select m.account as owner, m.amount, null::varchar as jetton_wallet from ton.jetton_movements m
  where m.jetton_master = ton.ton_address(master) and m.utime < moment::timestamptz and m.account is not null
  union all
  select null, n.amount, n.jetton_wallet from ton.jetton_mints n
  where n.jetton_master = ton.ton_address(master) and n.utime < moment::timestamptz and n.owner is null) h
group by h.owner, h.jetton_wallet having sum(h.amount) <> 0
order by 2 desc, 1, 3;

create or replace macro ton.account_statement(wanted, since, until) as table
select l.utime, l.kind, coalesce(m.symbol, k.symbol, l.jetton_master, 'TON') as asset,
  etl.units(l.amount, u.decimals) as amount, etl.units(l.balance, u.decimals) as balance,
  -- An address without such a form is shown as it is.
  case when regexp_full_match(l.counterparty, '(-1|[0-9]{1,2}):[0-9A-F]{64}') then ton.ton_address_friendly(l.counterparty)
    else nullif(l.counterparty, '') end as counterparty,
  l.jetton_master,
  case when regexp_full_match(l.tx_hash, '[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=') then ton.hash_hex(l.tx_hash) else l.tx_hash end as tx_hash
from ton.account_ledger l
left join ton.jetton_masters m on m.address = l.jetton_master
left join ton.token_metadata k on k.address = l.jetton_master
cross join lateral (select case when l.jetton_master is null then 9
  else etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed) end as decimals) u
where l.account = ton.ton_address(wanted) and l.utime >= since::timestamptz and l.utime < until::timestamptz
order by l.utime, l.lt, l.step, l.tx_hash;

set search_path = 'ton,etl,main';

set variable ton_account_states = nullif(getvariable('ton_account_states'), getvariable('no_rows'));
set variable ton_account_state_changes = nullif(getvariable('ton_account_state_changes'), getvariable('no_rows'));
set variable ton_account_transactions = nullif(getvariable('ton_account_transactions'), getvariable('no_rows'));
set variable ton_account_messages = nullif(getvariable('ton_account_messages'), getvariable('no_rows'));
set variable ton_actions = nullif(getvariable('ton_actions'), getvariable('no_rows'));
set variable ton_action_accounts = nullif(getvariable('ton_action_accounts'), getvariable('no_rows'));
set variable ton_action_transactions = nullif(getvariable('ton_action_transactions'), getvariable('no_rows'));
set variable ton_address_book = nullif(getvariable('ton_address_book'), getvariable('no_rows'));
set variable ton_blocks = nullif(getvariable('ton_blocks'), getvariable('no_rows'));
set variable ton_block_parents = nullif(getvariable('ton_block_parents'), getvariable('no_rows'));
set variable ton_dns_auctions = nullif(getvariable('ton_dns_auctions'), getvariable('no_rows'));
set variable ton_dns_records = nullif(getvariable('ton_dns_records'), getvariable('no_rows'));
set variable ton_extended_account_states = nullif(getvariable('ton_extended_account_states'), getvariable('no_rows'));
set variable ton_jetton_burns = nullif(getvariable('ton_jetton_burns'), getvariable('no_rows'));
set variable ton_jetton_masters = nullif(getvariable('ton_jetton_masters'), getvariable('no_rows'));
set variable ton_jetton_descriptions = nullif(getvariable('ton_jetton_descriptions'), getvariable('no_rows'));
set variable ton_jetton_transfers = nullif(getvariable('ton_jetton_transfers'), getvariable('no_rows'));
set variable ton_jetton_wallets = nullif(getvariable('ton_jetton_wallets'), getvariable('no_rows'));
set variable ton_masterchain_heads = nullif(getvariable('ton_masterchain_heads'), getvariable('no_rows'));
set variable ton_message_locations = nullif(getvariable('ton_message_locations'), getvariable('no_rows'));
set variable ton_multisig_orders = nullif(getvariable('ton_multisig_orders'), getvariable('no_rows'));
set variable ton_multisig_order_actions = nullif(getvariable('ton_multisig_order_actions'), getvariable('no_rows'));
set variable ton_multisig_wallets = nullif(getvariable('ton_multisig_wallets'), getvariable('no_rows'));
set variable ton_nft_collections = nullif(getvariable('ton_nft_collections'), getvariable('no_rows'));
set variable ton_nft_items = nullif(getvariable('ton_nft_items'), getvariable('no_rows'));
set variable ton_nft_descriptions = nullif(getvariable('ton_nft_descriptions'), getvariable('no_rows'));
set variable ton_nft_sales = nullif(getvariable('ton_nft_sales'), getvariable('no_rows'));
set variable ton_nft_transfers = nullif(getvariable('ton_nft_transfers'), getvariable('no_rows'));
set variable ton_nominator_events = nullif(getvariable('ton_nominator_events'), getvariable('no_rows'));
set variable ton_nominator_pool_events = nullif(getvariable('ton_nominator_pool_events'), getvariable('no_rows'));
set variable ton_nominator_pools = nullif(getvariable('ton_nominator_pools'), getvariable('no_rows'));
set variable ton_shard_block_proofs = nullif(getvariable('ton_shard_block_proofs'), getvariable('no_rows'));
set variable ton_shard_states = nullif(getvariable('ton_shard_states'), getvariable('no_rows'));
set variable ton_token_metadata = nullif(getvariable('ton_token_metadata'), getvariable('no_rows'));
set variable ton_top_accounts = nullif(getvariable('ton_top_accounts'), getvariable('no_rows'));
set variable ton_traces = nullif(getvariable('ton_traces'), getvariable('no_rows'));
set variable ton_trace_nodes = nullif(getvariable('ton_trace_nodes'), getvariable('no_rows'));
set variable ton_transactions = nullif(getvariable('ton_transactions'), getvariable('no_rows'));
set variable ton_messages = nullif(getvariable('ton_messages'), getvariable('no_rows'));
set variable ton_validator_complaints = nullif(getvariable('ton_validator_complaints'), getvariable('no_rows'));
set variable ton_complaint_votes = nullif(getvariable('ton_complaint_votes'), getvariable('no_rows'));
set variable ton_validator_cycles = nullif(getvariable('ton_validator_cycles'), getvariable('no_rows'));
set variable ton_cycle_validators = nullif(getvariable('ton_cycle_validators'), getvariable('no_rows'));
set variable ton_validator_elections = nullif(getvariable('ton_validator_elections'), getvariable('no_rows'));
set variable ton_election_participants = nullif(getvariable('ton_election_participants'), getvariable('no_rows'));
set variable ton_validator_events = nullif(getvariable('ton_validator_events'), getvariable('no_rows'));
set variable ton_vesting_contracts = nullif(getvariable('ton_vesting_contracts'), getvariable('no_rows'));
