-- What analysts call: functions and views of schema ton. Applied after repeatable.sql, in the same transaction.
-- Columns of a view may only be added at its end: `create or replace view` refuses anything else.

-- Addresses and hashes in any form. The functions fold to a constant while a query is planned, so `where account =
-- ton_address('EQ…')` uses the index as a literal would.

drop function if exists etl.crc16(text);
-- CRC-16/XMODEM: polynomial 0x1021, from 0, no reflection. It is linear: each of its bits says whether the number of
-- ones among certain bits of the text is odd. These are the bits. Given a variable, it is inlined.
create or replace function etl.crc16(bits bit) returns int language sql immutable parallel safe return
    (bit_count(bits & X'A9A13A6190FF642865822CC6D61B6CCBFF8845253E82C0AB96A7C2CD82058E2C0C88') & 1) * 32768 +
    (bit_count(bits & X'54D09D30C87FB21432C116636B0DB665FFC422929F416055CB53E166C102C7160644') & 1) * 16384 +
    (bit_count(bits & X'AA684E98643FD90A19608B31B586DB32FFE211494FA0B02AE5A9F0B36081638B0322') & 1) * 8192 +
    (bit_count(bits & X'D534274C321FEC850CB04598DAC36D997FF108A4A7D0581572D4F859B040B1C58191') & 1) * 4096 +
    (bit_count(bits & X'C33B29C789F0926AE3DA0E0ABB7ADA074070C1776D6AECA12FCDBEE15A25D6CECC40') & 1) * 2048 +
    (bit_count(bits & X'619D94E3C4F8493571ED07055DBD6D03A03860BBB6B5765097E6DF70AD12EB676620') & 1) * 1024 +
    (bit_count(bits & X'B0CECA71E27C249AB8F68382AEDEB681D01C305DDB5ABB284BF36FB8568975B3B310') & 1) * 512 +
    (bit_count(bits & X'D8676538F13E124D5C7B41C1576F5B40E80E182EEDAD5D9425F9B7DC2B44BAD9D988') & 1) * 256 +
    (bit_count(bits & X'EC33B29C789F0926AE3DA0E0ABB7ADA074070C1776D6AECA12FCDBEE15A25D6CECC4') & 1) * 128 +
    (bit_count(bits & X'7619D94E3C4F8493571ED07055DBD6D03A03860BBB6B5765097E6DF70AD12EB67662') & 1) * 64 +
    (bit_count(bits & X'3B0CECA71E27C249AB8F68382AEDEB681D01C305DDB5ABB284BF36FB8568975B3B31') & 1) * 32 +
    (bit_count(bits & X'34274C321FEC850CB04598DAC36D997FF108A4A7D0581572D4F859B040B1C5819110') & 1) * 16 +
    (bit_count(bits & X'9A13A6190FF642865822CC6D61B6CCBFF8845253E82C0AB96A7C2CD82058E2C0C888') & 1) * 8 +
    (bit_count(bits & X'4D09D30C87FB21432C116636B0DB665FFC422929F416055CB53E166C102C71606444') & 1) * 4 +
    (bit_count(bits & X'A684E98643FD90A19608B31B586DB32FFE211494FA0B02AE5A9F0B36081638B03222') & 1) * 2 +
    (bit_count(bits & X'534274C321FEC850CB04598DAC36D997FF108A4A7D0581572D4F859B040B1C581911') & 1);
comment on function etl.crc16(bit) is
  'Checksum of a friendly address: CRC-16/XMODEM of its first 34 bytes, which are given as 272 bits.';

create or replace function ton.ton_address(form text) returns text
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  word constant text := btrim(form, E' \t\r\n\f\x0b');
  forms constant text := 'Write it as workchain:hex, as 64 hex digits (basechain), or as the 48 characters of a wallet (EQ…, UQ…).';
  workchain bigint := 0;
  digits text;
  bits bit(272);
begin
  if word ~ '^-?[0-9]{1,10}:[0-9a-fA-F]{64}$' then
    workchain := split_part(word, ':', 1)::bigint;
    if workchain not between -2147483648 and 2147483647 then
      raise exception '"%" is not an address: there is no workchain %', word, workchain
        using errcode = 'invalid_text_representation', hint = forms;
    end if;
    return workchain || ':' || upper(split_part(word, ':', 2));
  end if;
  if word ~ '^[0-9a-fA-F]{64}$' then
    return '0:' || upper(word);
  end if;
  if word !~ '^[A-Za-z0-9+/_-]{48}$' then
    raise exception '"%" is not an address: it has % characters and matches no form of an address', word, length(word)
      using errcode = 'invalid_text_representation', hint = forms;
  end if;
  -- Kind, workchain, 32 bytes of hash, CRC-16 of them all: 36 bytes in base64 of either alphabet.
  digits := encode(decode(translate(word, '-_', '+/'), 'base64'), 'hex');
  bits := ('x' || left(digits, 68))::bit(272);
  if lpad(to_hex(etl.crc16(bits)), 4, '0') <> right(digits, 4) then
    raise exception '"%" is not an address: its checksum is wrong: a character is missing or mistyped', word
      using errcode = 'invalid_text_representation', hint = forms;
  end if;
  workchain := ('x' || left(digits, 2))::bit(8)::int;
  if workchain & 127 not in (17, 81) then
    raise exception '"%" is not an address: its first byte, 0x%, is of no known kind', word, to_hex(workchain)
      using errcode = 'invalid_text_representation', hint = forms;
  end if;
  workchain := ('x' || substr(digits, 3, 2))::bit(8)::int;
  return case when workchain > 127 then workchain - 256 else workchain end || ':' || upper(substr(digits, 5, 64));
end $$;
comment on function ton.ton_address(text) is
  'An address as the tables hold it, workchain:HEX in upper case, from any form: raw, 64 hex digits (basechain), or friendly (EQ…, UQ…, kQ…, 0Q…) in base64 or base64url. The checksum of a friendly address is verified. Raises an error for anything else.';

create or replace function ton.ton_address_friendly(address text, bounceable boolean default true, testnet boolean default false)
returns text language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  raw text := address;
  workchain int := 0;
  digits text;
  bits bit(272);
begin
  -- Most addresses are of the basechain and as the tables hold them.
  if length(address) <> 66 or address !~ '^0:[0-9A-F]+$' then
    raw := ton.ton_address(address);
    workchain := split_part(raw, ':', 1)::int;
    if workchain not between -128 and 127 then
      raise exception '"%" has no friendly form: its workchain does not fit into a byte', raw
        using errcode = 'numeric_value_out_of_range';
    end if;
  end if;
  digits := case when bounceable then case when testnet then '91' else '11' end when testnet then 'd1' else '51' end
    || case when workchain = 0 then '00' else lpad(to_hex(workchain & 255), 2, '0') end || right(raw, 64);
  bits := ('x' || digits)::bit(272);
  return translate(encode(decode(digits || lpad(to_hex(etl.crc16(bits)), 4, '0'), 'hex'), 'base64'), '+/', '-_');
end $$;
comment on function ton.ton_address_friendly(text, boolean, boolean) is
  'An address of any form as wallets and explorers show it, 48 characters of base64url: bounceable (EQ…, the default) or not (UQ…). If testnet is true, it is marked for test networks only (kQ…, 0Q…).';

create or replace function ton.ton_hash(form text) returns text
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  word constant text := btrim(form, E' \t\r\n\f\x0b');
begin
  if word ~ '^(0[xX])?[0-9a-fA-F]{64}$' then
    return encode(decode(right(word, 64), 'hex'), 'base64');
  end if;
  -- 43 digits hold 258 bits, so the two lowest bits of the last one must be 0.
  if word ~ '^[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?$' then
    return translate(left(word, 43), '-_', '+/') || '=';
  end if;
  raise exception '"%" is not a hash', form using errcode = 'invalid_text_representation',
    hint = 'A hash is 64 hex digits (0x may stand before them), or 44 characters of base64 or base64url.';
end $$;
comment on function ton.ton_hash(text) is
  'A 256-bit hash as the tables hold it, base64 with padding, from hex (0x may stand before it), base64 or base64url. Raises an error for anything else; a hash has no checksum of its own, only its length and last digit can be wrong.';

-- Not strict, so that it is inlined into the calling statement. A count such as {42} makes an expression slow.
create or replace function ton.hash_hex(hash text) returns text
language sql immutable parallel safe begin atomic
  select encode(decode(case when length(hash) = 44 and hash ~ '^[A-Za-z0-9+/]+[AEIMQUYcgkosw048]=$' then hash else ton.ton_hash(hash) end, 'base64'), 'hex');
end;
comment on function ton.hash_hex(text) is
  'A hash of any form as explorers show it: 64 lower-case hex digits.';

create or replace function ton.nano_to_ton(nanotons numeric) returns numeric
language sql immutable strict parallel safe begin atomic select nanotons * 0.000000001; end;
comment on function ton.nano_to_ton(numeric) is
  'Nanotons as TON, exact to the last of its nine decimals.';

-- Clients keep 38 digits: columns of views are numeric(38, scale), which a number with more digits must not break.
-- Each argument is used once: Postgres inlines no function that would evaluate an expensive one twice.
create or replace function etl.fit(amount numeric, scale int) returns numeric language sql immutable parallel safe
return nullif(greatest(nullif(least(round(amount, scale), power(10::numeric, 38 - scale)), power(10::numeric, 38 - scale)),
  -power(10::numeric, 38 - scale)), -power(10::numeric, 38 - scale));
comment on function etl.fit(numeric, int) is 'A number with so many decimals; null if it does not fit into numeric(38, decimals).';

create or replace function etl.as_raw(amount numeric) returns numeric language sql immutable parallel safe return etl.fit(amount, 0);
comment on function etl.as_raw(numeric) is 'A sum of amounts in the smallest units; null if it has more than 38 digits.';

create or replace function ton.jetton_units(master text, amount numeric) returns numeric
language sql stable strict parallel safe begin atomic
  select amount * etl.to_numeric('1e-' || etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed))
  from (select ton.ton_address(master) as address) j
  left join ton.jetton_masters m on m.address = j.address
  left join ton.token_metadata k on k.address = j.address;
end;
comment on function ton.jetton_units(text, numeric) is
  'An amount of a jetton (an address in any form) in whole units, exact. Decimals are known by the one rule of all views: those of the master, else of token_metadata, else 9 if one of them is whole and says none. Null if they are not known, or no number can have so many.';

create or replace function etl.trace_of(hash text) returns text
language sql stable strict parallel safe begin atomic
  select trace_id from (
    select 1 as place, t.trace_id from ton.traces t where t.trace_id = trace_of.hash
    union all
    select 2, x.trace_id from ton.transactions x where x.hash = trace_of.hash
    union all
    -- A message belongs to the trace of its sender; one from outside to that of its receiver, which is of the same second.
    select 3, x.trace_id from (
      select m.utime, m.hash, m.destination, m.out_msg_tx_hash from ton.messages m where m.hash = trace_of.hash
      union all
      select m.utime, m.hash, m.destination, m.out_msg_tx_hash from ton.messages m where m.hash_norm = trace_of.hash
    ) m,
    lateral (
      select x.trace_id from ton.transactions x where x.hash = m.out_msg_tx_hash
      union all
      select x.trace_id from ton.transactions x
      where m.out_msg_tx_hash is null and x.account = m.destination and x.utime = m.utime and x.in_msg_hash = m.hash
    ) x
  ) found
  where trace_id is not null order by place limit 1;
end;
comment on function etl.trace_of(text) is
  'Id of the trace that a hash (base64) belongs to. It may be the hash of the trace, of one of its transactions or messages, or the normalized hash of the external message that began it. Null if nothing that is stored has it.';

create or replace function ton.trace_tree(trace text)
returns table (
  depth int, tree text, utime timestamptz, lt bigint, account text, opcode text, value numeric, aborted boolean, tx_hash text
) language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  wanted constant text := etl.trace_of(ton.ton_hash(trace));
begin
  if trace is null then
    raise exception 'trace_tree needs a hash, and was given null' using errcode = 'null_value_not_allowed',
      hint = 'If a subquery gives the hash, it found no row.';
  end if;
  if wanted is null then
    raise exception 'nothing that is stored has the hash %', trace using errcode = 'no_data_found',
      hint = etl.command('why ' || ton.ton_hash(trace));
  end if;
  if not exists (select from ton.traces t where t.trace_id = wanted) then
    raise exception 'trace % is not stored as finished', wanted using errcode = 'no_data_found',
      detail = 'Some of its transactions are stored. It still runs, it broke off, or traces of its time are not read yet.',
      hint = etl.command('why ' || wanted);
  end if;
  return query
  with recursive chosen as (
    select t.trace_id, t.start_utime, t.utime from ton.traces t where t.trace_id = wanted
    order by t.utime desc limit 1
  ), nodes as materialized (
    select e.tx_hash, e.parent_tx_hash, e.position from ton.trace_nodes e, chosen c
    where e.utime = c.utime and e.trace_id = c.trace_id
  ), walk as (
    select e.tx_hash, 0 as depth, array[e.position] as path from nodes e where e.parent_tx_hash is null
    union all
    select e.tx_hash, w.depth + 1, w.path || e.position from walk w join nodes e on e.parent_tx_hash = w.tx_hash
  )
  select w.depth,
    repeat('  ', w.depth) || left(x.account, 10) || '…' || right(x.account, 4)
      || coalesce(' ' || coalesce(m.decoded_opcode, m.opcode), '')
      || coalesce(' ' || ton.nano_to_ton(m.value) || ' TON', '')
      || case when x.aborted then ' aborted' else '' end,
    x.utime, x.lt, x.account, m.opcode, m.value, x.aborted, w.tx_hash
  from walk w
  left join (
    select x.* from chosen c, ton.transactions x
    where x.trace_id = c.trace_id and x.utime between c.start_utime and c.utime
      and x.hash in (select e.tx_hash from nodes e)
  ) x on x.hash = w.tx_hash
  left join ton.messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
  order by w.path;
end $$;
comment on function ton.trace_tree(text) is
  'One finished trace as a tree, a row for each transaction in the order of execution along each branch. Column tree is indented by depth and names account, operation and value of the message that started the transaction. Takes any hash that an explorer shows, in any form. It may be that of the trace, of one of its transactions or messages, or of the external message that began it, normalized or not. Raises an error if no stored finished trace has it.';

-- Views by day. Days are in UTC, whatever the session's time zone. Each day is read by a range of utime, so that
-- `where day = '2026-01-01'` reads only that day: the bounds come from ton.days, which knows the days of all
-- partitions.

-- A function, so that it has an estimate: within the statement the planner would expect hundreds of days, whose cost
-- starts the JIT.
create or replace function etl.days_stored() returns table (day date, starts timestamptz, ends timestamptz)
language sql stable security definer parallel safe rows 2 set search_path = pg_catalog, pg_temp as $$
  select (timestamp 'epoch' + second * interval '1 second')::date, to_timestamp(second), to_timestamp(second + 86400)
  from (
    select distinct second from etl.partitions p, generate_series(lower(p.span) / 86400 * 86400, upper(p.span) - 1, 86400) second
  ) seconds
$$;
comment on function etl.days_stored() is
  'Every day, UTC, that some table has a partition for, with its bounds.';

create or replace view ton.days as select d.day, d.starts, d.ends from etl.days_stored() d;
comment on view ton.days is 'Every day, UTC, that some table has a partition for, with its bounds: for reports by day that read only the days asked for. A day that is listed need not have rows.';
comment on column ton.days.day is 'Date of the day, UTC, whatever the time zone of the session.';
comment on column ton.days.starts is 'First moment of the day: utime >= starts.';
comment on column ton.days.ends is 'First moment of the next day, exclusive: utime < ends.';

-- Sums over months read the stored sums of each day. A day is closed if everything that feeds the report is verified.
-- Until then it is open, and summed up by the query. Each report is defined once, over its open days, as etl.open_….

create or replace function etl.reports_by_day() returns setof text language sql immutable parallel safe begin atomic
  select unnest(array['daily_activity', 'hourly_activity', 'active_wallets', 'fees_by_part', 'failed_transactions',
    'gas_by_contract', 'message_delays', 'jetton_flows', 'daily_changes', 'dex_volume', 'hourly_trades', 'daily_trades', 'daily_legs', 'daily_pools']);
end;
comment on function etl.reports_by_day() is
  'Views of schema ton that sum up days, and keep what they summed up.';

create or replace function etl.columns_of_report(report text) returns text language sql stable begin atomic
  select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
  where attrelid = ('etl.open_' || report)::regclass and attnum > 1 and not attisdropped;
end;
comment on function etl.columns_of_report(text) is
  'Columns of a report by day as a statement names them, without the day, which is the first.';

-- A function for the same reason.
create or replace function etl.days_open(report text) returns table (day date, starts timestamptz, ends timestamptz)
language sql stable security definer parallel safe rows 2 set search_path = pg_catalog, pg_temp as $$
  select d.day, d.starts, d.ends from ton.days d
  where not exists (select from etl.closed_days c where c.relation = days_open.report and c.day = d.day and c.closed_at is not null)
$$;
comment on function etl.days_open(text) is
  'Days of one report by day that are not in etl.closed_days, with their bounds.';

create or replace function etl.days_of_report(report text) returns table (day date, ends timestamptz)
language sql stable security definer parallel safe rows 2 set search_path = pg_catalog, pg_temp as $$
  select d.day, d.ends from ton.days d
  union
  select c.day, (c.day + 1)::timestamp at time zone 'UTC' from etl.closed_days c where c.relation = days_of_report.report and c.closed_at is not null
$$;
comment on function etl.days_of_report(text) is
  'Days that are stored, and days of one report by day that are kept though their rows have been dropped, with the first moment of the next day.';

create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends
from etl.reports_by_day() r (relation)
cross join lateral etl.days_open(r.relation) d;
comment on view etl.open_days is 'Days of each report by day that are summed up while they are asked for, as they are not in etl.closed_days.';
comment on column etl.open_days.relation is 'View of schema ton that sums up days.';
comment on column etl.open_days.day is 'A day of the report that is not closed, UTC.';
comment on column etl.open_days.starts is 'First moment of the open day: utime >= starts.';
comment on column etl.open_days.ends is 'First moment after the open day, exclusive: utime < ends.';

create or replace view etl.open_daily_activity as
select d.day, t.transactions, t.aborted, t.accounts, m.messages, m.value, t.fees, c.traces, b.blocks, t.bounced
from etl.open_days d,
lateral (
  select count(*) as transactions, count(*) filter (where x.aborted) as aborted, count(distinct x.account) as accounts,
    etl.as_raw(sum(x.total_fees))::numeric(38,0) as fees, count(*) filter (where x.aborted and x.bounce_type = 'ok') as bounced
  from ton.transactions x where x.utime >= d.starts and x.utime < d.ends having count(*) > 0) t,
lateral (
  select count(*) as messages, etl.as_raw(sum(x.value))::numeric(38,0) as value
  from ton.messages x where x.utime >= d.starts and x.utime < d.ends) m,
lateral (select count(*) as traces from ton.traces x where x.utime >= d.starts and x.utime < d.ends) c,
lateral (select count(*) as blocks from ton.blocks x where x.utime >= d.starts and x.utime < d.ends) b
where d.relation = 'daily_activity';
comment on view etl.open_daily_activity is 'How busy each day was, UTC; days without transactions have no row.';
comment on column etl.open_daily_activity.day is 'The day that is summed up, UTC.';
comment on column etl.open_daily_activity.transactions is 'How many transactions the day has: rows of transactions.';
comment on column etl.open_daily_activity.aborted is 'How many of the transactions are aborted: the contract did not run, or did not succeed. The coins that came stay unless they bounced, as those do that are sent to an account without code.';
comment on column etl.open_daily_activity.accounts is 'How many accounts had a transaction on the day. Do not add days up: an account counts on each of its days.';
comment on column etl.open_daily_activity.messages is 'How many messages were created on the day, external ones included: rows of messages.';
comment on column etl.open_daily_activity.value is 'Coins that the messages of the day carried, nanotons; what passes through three accounts is counted three times.';
comment on column etl.open_daily_activity.fees is 'Fees that validators collected on the day, nanotons: sum of transactions.total_fees.';
comment on column etl.open_daily_activity.traces is 'How many traces ended on the day: rows of traces, 0 if traces are not read.';
comment on column etl.open_daily_activity.blocks is 'How many blocks of all shards and the masterchain were made: rows of blocks, 0 if blocks are not read.';
comment on column etl.open_daily_activity.bounced is 'How many of the aborted transactions sent the coins that came back to their sender (bounce_type ok); the others kept them.';

create or replace view etl.open_hourly_activity as
select d.day, t.hour, t.transactions, t.aborted, t.accounts, t.fees
from etl.open_days d,
lateral (
  select date_trunc('hour', x.utime, 'UTC') as hour, count(*) as transactions, count(*) filter (where x.aborted) as aborted,
    count(distinct x.account) as accounts, etl.as_raw(sum(x.total_fees))::numeric(38,0) as fees
  from ton.transactions x where x.utime >= d.starts and x.utime < d.ends group by 1) t
where d.relation = 'hourly_activity';
comment on view etl.open_hourly_activity is 'How busy each hour was; hours without transactions have no row.';
comment on column etl.open_hourly_activity.day is 'The day of the hour, UTC: name it, and only that day is read.';
comment on column etl.open_hourly_activity.hour is 'First moment of the hour.';
comment on column etl.open_hourly_activity.transactions is 'How many transactions the hour has.';
comment on column etl.open_hourly_activity.aborted is 'How many of the hour''s transactions are aborted: the contract did not run, or did not succeed.';
comment on column etl.open_hourly_activity.accounts is 'How many accounts had a transaction in the hour. Do not add hours up: an account counts in each of its hours.';
comment on column etl.open_hourly_activity.fees is 'Fees that validators collected in the hour, nanotons: sum of transactions.total_fees.';

create or replace view etl.open_active_wallets as
select d.day, m.wallets, m.messages
from etl.open_days d,
lateral (
  select count(distinct x.destination) as wallets, count(*) as messages
  from ton.messages x
  where x.utime >= d.starts and x.utime < d.ends and x.source is null and x.destination is not null having count(*) > 0) m
where d.relation = 'active_wallets';
comment on view etl.open_active_wallets is 'How many wallets were used on each day, UTC: accounts that received a message from outside the chain, which their owner signed. Contracts that programs call from outside count, too; accounts that only received something do not.';
comment on column etl.open_active_wallets.day is 'The day on which the wallets were used, UTC.';
comment on column etl.open_active_wallets.wallets is 'How many accounts received a message from outside the chain. Do not add days up: a wallet counts on each of its days.';
comment on column etl.open_active_wallets.messages is 'How many such messages came in.';

create or replace view etl.open_fees_by_part as
select d.day, etl.as_raw(f.storage)::numeric(38,0) as storage, etl.as_raw(f.gas)::numeric(38,0) as gas, etl.as_raw(f.action)::numeric(38,0) as action, etl.as_raw(f.bounce)::numeric(38,0) as bounce,
  etl.as_raw(f.total - f.storage - f.gas - f.action - f.bounce)::numeric(38,0) as import, etl.as_raw(f.total)::numeric(38,0) as total, etl.as_raw(m.forward)::numeric(38,0) as forward
from etl.open_days d,
lateral (
  select coalesce(sum(x.storage_fees_collected), 0) + coalesce(sum(x.credit_due_fees_collected), 0) as storage,
    coalesce(sum(x.compute_gas_fees), 0) as gas, coalesce(sum(x.action_total_action_fees), 0) as action,
    coalesce(sum(x.bounce_msg_fees), 0) as bounce, sum(x.total_fees) as total
  from ton.transactions x where x.utime >= d.starts and x.utime < d.ends having count(*) > 0) f,
lateral (
  select coalesce(sum(x.fwd_fee + x.ihr_fee), 0) as forward
  from ton.messages x where x.utime >= d.starts and x.utime < d.ends and x.out_msg_tx_hash is not null) m
where d.relation = 'fees_by_part';
comment on view etl.open_fees_by_part is 'What fees were paid for on each day, UTC, nanotons. storage, gas, action, bounce and import make total, which validators collected in the transactions; forward comes on top and goes to the validators that deliver the messages.';
comment on column etl.open_fees_by_part.day is 'The day whose fees are taken apart, UTC.';
comment on column etl.open_fees_by_part.storage is 'Fees for keeping accounts, older debts included, nanotons: sum of storage_fees_collected and credit_due_fees_collected.';
comment on column etl.open_fees_by_part.gas is 'Fees for running contracts, nanotons: sum of compute_gas_fees.';
comment on column etl.open_fees_by_part.action is 'Share of forwarding fees that the sending block keeps, nanotons: sum of action_total_action_fees.';
comment on column etl.open_fees_by_part.bounce is 'Share of the fees of returned messages that the block keeps, nanotons: sum of bounce_msg_fees.';
comment on column etl.open_fees_by_part.import is 'What is left of total, nanotons: the fee for importing external messages, which the source does not give by itself.';
comment on column etl.open_fees_by_part.total is 'All fees that validators collected in the transactions of the day, nanotons: sum of total_fees.';
comment on column etl.open_fees_by_part.forward is 'Fees for delivering the messages that were sent on the day, beyond the share in action and bounce, nanotons: sum of fwd_fee and ihr_fee of messages.';

create or replace view etl.open_failed_transactions as
select d.day, f.phase, f.reason, f.code, f.transactions, f.accounts, f.fees, f.bounced
from etl.open_days d,
lateral (
  select x.phase, x.reason, x.code, count(*) as transactions, count(distinct x.account) as accounts, etl.as_raw(sum(x.total_fees))::numeric(38,0) as fees,
    count(*) filter (where x.bounce_type = 'ok') as bounced
  from (
    select t.account, t.total_fees, t.bounce_type,
      case when t.compute_skipped then 'skipped' when t.compute_success is false then 'compute'
        when t.action_success is false then 'action' else 'other' end as phase,
      case when t.compute_skipped then t.compute_reason end as reason,
      case when t.compute_skipped then null when t.compute_success is false then t.compute_exit_code
        when t.action_success is false then t.action_result_code end as code
    from ton.transactions t where t.utime >= d.starts and t.utime < d.ends and t.aborted) x
  group by x.phase, x.reason, x.code) f
where d.relation = 'failed_transactions';
comment on view etl.open_failed_transactions is 'How transactions failed on each day, UTC: one row for each way of failing. A transaction fails if it is aborted: the contract did not run, or did not succeed. That says nothing of the coins that came: see bounced.';
comment on column etl.open_failed_transactions.day is 'The day on which the transactions failed, UTC.';
comment on column etl.open_failed_transactions.phase is 'Where they failed: skipped (the contract was not run), compute (it ended with an exit code), action (what it wanted could not be carried out), other.';
comment on column etl.open_failed_transactions.reason is 'Why the contract was not run: no_state, bad_state, no_gas or suspended; null for other phases. From compute_reason.';
comment on column etl.open_failed_transactions.code is 'Exit code of the contract (compute) or result code (action); null if it was not run.';
comment on column etl.open_failed_transactions.transactions is 'How many transactions failed this way on the day.';
comment on column etl.open_failed_transactions.accounts is 'On how many accounts they failed this way.';
comment on column etl.open_failed_transactions.fees is 'Fees that were paid for failing this way, nanotons: sum of total_fees.';
comment on column etl.open_failed_transactions.bounced is 'How many of them sent the coins that came back to their sender (bounce_type ok). The others kept them: to no_state without a bounce, a transfer of coins is a deposit.';

create or replace view etl.open_gas_by_contract as
select d.day, g.account, g.code_hash, g.runs, g.failed, g.gas_used, g.gas_fees
from etl.open_days d,
lateral (
  select x.account, (array_agg(x.after_code_hash order by coalesce(x.after_code_hash<>'',false) desc, x.lt desc))[1] as code_hash, count(*) as runs, count(*) filter (where not x.compute_success) as failed,
    etl.as_raw(sum(x.compute_gas_used))::numeric(38,0) as gas_used, etl.as_raw(sum(x.compute_gas_fees))::numeric(38,0) as gas_fees
  from ton.transactions x where x.utime >= d.starts and x.utime < d.ends and x.compute_gas_used is not null
  group by x.account) g
where d.relation = 'gas_by_contract';
comment on view etl.open_gas_by_contract is 'Gas that each contract used on each day, UTC; runs that were skipped are left out.';
comment on column etl.open_gas_by_contract.day is 'The day on which the contract ran, UTC.';
comment on column etl.open_gas_by_contract.account is 'The contract that ran, raw form.';
comment on column etl.open_gas_by_contract.code_hash is 'Hash of its code, base64: contracts of one kind share it. The last of the day that is known; null if the source holds none of its states.';
comment on column etl.open_gas_by_contract.runs is 'How often the contract ran on the day.';
comment on column etl.open_gas_by_contract.failed is 'How many of the runs ended with an exit code of failure.';
comment on column etl.open_gas_by_contract.gas_used is 'Gas units that all runs used together.';
comment on column etl.open_gas_by_contract.gas_fees is 'Fees for that gas, nanotons: sum of compute_gas_fees.';

create or replace view etl.open_message_delays as
select d.day, x.from_workchain, x.from_shard, x.to_workchain, x.to_shard, x.messages, x.mean_seconds::numeric(38,6) as mean_seconds,
  x.median_seconds::numeric(38,6) as median_seconds, x.longest_seconds::numeric(38,6) as longest_seconds
from etl.open_days d,
lateral (
  -- Reads all messages and senders of the time at once: `offset 0` keeps the planner from looking them up one by one.
  -- A hash alone finds its message: with a second condition, tables without statistics are taken for nearly empty.
  with seen as materialized (
    select t.utime, t.hash, t.in_msg_utime, t.in_msg_hash, t.block_workchain, t.block_shard
    from ton.transactions t where t.utime >= d.starts and t.utime < d.ends),
  first as materialized (select min(r.in_msg_utime) as utime from seen r),
  delays as (
    select g.from_workchain, g.from_shard, g.to_workchain, g.to_shard, g.delay, count(*) as messages
    from (
      select s.block_workchain as from_workchain, s.block_shard as from_shard, r.block_workchain as to_workchain, r.block_shard as to_shard,
        r.utime - r.in_msg_utime as delay
      from seen r
      join (
        select x.hash, x.out_msg_tx_hash from ton.messages x
        where x.utime >= (select f.utime from first f) and x.utime < d.ends and x.out_msg_tx_hash is not null offset 0) m on m.hash = r.in_msg_hash
      join (
        select x.hash, x.block_workchain, x.block_shard from seen x
        union all
        select x.hash, x.block_workchain, x.block_shard from ton.transactions x
        where x.utime >= (select f.utime from first f) and x.utime < d.starts offset 0) s on s.hash = m.out_msg_tx_hash
      offset 0) g
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
comment on view etl.open_message_delays is 'How long messages were under way from shard to shard, by the day, UTC, on which they arrived. Block times are whole seconds, so 0 means within one second; messages from outside the chain are left out.';
comment on column etl.open_message_delays.day is 'The day on which the messages arrived, UTC.';
comment on column etl.open_message_delays.from_workchain is 'Workchain from which the messages came.';
comment on column etl.open_message_delays.from_shard is 'Shard from which the messages came, upper-case hex without padding.';
comment on column etl.open_message_delays.to_workchain is 'Workchain in which the messages arrived.';
comment on column etl.open_message_delays.to_shard is 'Shard in which the messages arrived, upper-case hex without padding.';
comment on column etl.open_message_delays.messages is 'How many messages arrived from the one shard in the other.';
comment on column etl.open_message_delays.mean_seconds is 'Mean time between the blocks that sent and received them, seconds.';
comment on column etl.open_message_delays.median_seconds is 'Half of the messages took no longer than this, seconds.';
comment on column etl.open_message_delays.longest_seconds is 'The longest that one of them took, seconds.';

-- Jettons that stand for TON.

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
comment on view ton.ton_proxies is 'Jettons that stand for TON: exchanges move TON as a jetton of their own. Views count them as TON, and leave them out of sums over jettons. Add more to etl.ton_proxies.';
comment on column ton.ton_proxies.address is 'Master of the jetton that stands for TON, raw form.';
comment on column ton.ton_proxies.dex is 'Exchange that uses the jetton for TON, as swaps.dex names it; null if several do.';
comment on column ton.ton_proxies.note is 'What the proxy is.';

-- Movements of money.

create or replace view ton.jetton_mints as
select m.utime, m.created_lt as lt, m.hash as message_hash, m.source as jetton_master, m.destination as jetton_wallet, w.owner,
  etl.to_numeric(m.content_decoded->'amount'->>'value')::numeric(38,0) as amount, etl.to_numeric(m.content_decoded->>'query_id')::numeric(38,0) as query_id,
  m.out_msg_tx_hash as tx_hash
from ton.jetton_wallets w
join ton.messages m on m.source = w.jetton and m.destination = w.address
where m.opcode = '0x178d4519'
  -- A case expression, so that it is evaluated only for mints.
  and case when m.source = w.jetton then (select bool_or(x.aborted) from ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash
        and x.utime >= m.utime and x.utime < m.utime + interval '1 day') is not true end
union all
-- The wallet was not looked up. Then a master is an account that sends jettons without a request to transfer some, and
-- the owner is who gave the wallet an order that it carried out. Conditions upon the owner are not tested before the join.
select m.utime, m.created_lt, m.hash, m.source, m.destination, case when w.jetton is null then (
    select r.source from ton.transactions s join ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
    where s.account = m.destination and s.aborted is not true and r.opcode in ('0x0f8a7ea5', '0x595f07bc') limit 1) end,
  etl.to_numeric(m.content_decoded->'amount'->>'value')::numeric(38,0), etl.to_numeric(m.content_decoded->>'query_id')::numeric(38,0), m.out_msg_tx_hash
from ton.messages m
left join ton.jetton_wallets w on w.address = m.destination
where m.opcode = '0x178d4519' and w.jetton is null
  and case when w.jetton is null then (
      select max(coalesce(r.opcode, '')) from ton.transactions s
      left join ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
      where s.utime = m.utime and s.hash = m.out_msg_tx_hash) <> '0x0f8a7ea5'
    and (select bool_or(x.aborted) from ton.transactions x
      where x.account = m.destination and x.in_msg_utime = m.utime and x.in_msg_hash = m.hash
        and x.utime >= m.utime and x.utime < m.utime + interval '1 day') is not true end;
comment on view ton.jetton_mints is 'Jettons that came into being, one row for each message with which a master gave some to a jetton wallet. Mints that are part of a deposit, or of another action, are here, too. Messages that the wallet refused are left out.';
comment on column ton.jetton_mints.utime is 'Block time, UTC, at which the master sent the jettons: give a range of it.';
comment on column ton.jetton_mints.lt is 'Logical time of the message that brought the jettons.';
comment on column ton.jetton_mints.message_hash is 'Hash of the message that brought the jettons, base64. With utime it names the mint.';
comment on column ton.jetton_mints.jetton_master is 'Contract of the jetton that was minted, raw form.';
comment on column ton.jetton_mints.jetton_wallet is 'Jetton wallet that got the jettons, raw form.';
comment on column ton.jetton_mints.owner is 'Owner of the jetton wallet, raw form: by jetton_wallets, else who gave the wallet an order to transfer or burn that it carried out. Null if neither is stored: no message of a mint names its owner.';
comment on column ton.jetton_mints.amount is 'How many jettons were minted, in the smallest units; null if the source could not decode the message.';
comment on column ton.jetton_mints.query_id is 'Number that the requester of the mint chose; null if the source could not decode the message.';
comment on column ton.jetton_mints.tx_hash is 'Hash of the transaction of the master that sent the jettons, base64.';

create or replace view etl.refused_transfers as
select i.utime, i.out_msg_tx_hash as transaction_hash, b.destination as source_wallet, b.utime as refused_at
from ton.messages b
join ton.transactions x on x.utime = b.utime and x.hash = b.out_msg_tx_hash
join ton.messages i on i.utime = x.in_msg_utime and i.hash = x.in_msg_hash
where b.bounced and i.opcode = '0x178d4519';
comment on view etl.refused_transfers is 'Transfers of jettons that the receiving jetton wallet refused: the message bounced, and the jettons went back.';
comment on column etl.refused_transfers.utime is 'Block time, UTC, of the transfer that was refused.';
comment on column etl.refused_transfers.transaction_hash is 'Hash of the transaction of the transfer that was refused, base64, as in jetton_transfers; that of the master if it was a mint.';
comment on column etl.refused_transfers.source_wallet is 'Jetton wallet that the jettons went back to, raw form.';
comment on column etl.refused_transfers.refused_at is 'Block time, UTC, at which the receiving jetton wallet refused them.';

create or replace view etl.transfers as
select t.utime, t.transaction_lt, t.transaction_hash, t.trace_id, t.source, t.destination, t.source_wallet, t.jetton_master, t.amount,
  t.query_id, t.comment, t.response_destination, t.forward_ton_amount,
  -- Looked up row by row: a join would compare each transfer with each one that was refused.
  coalesce(t.transaction_aborted, false) or (
    select count(*) from etl.refused_transfers r where r.source_wallet = t.source_wallet and r.transaction_hash = t.transaction_hash
      and r.refused_at >= t.utime and r.refused_at < t.utime + interval '1 day') > 0 as is_aborted
from ton.jetton_transfers t;
comment on view etl.transfers is 'Transfers of jettons, with whether each one came to pass.';
comment on column etl.transfers.utime is 'Block time, UTC, of the transfer of the jettons.';
comment on column etl.transfers.transaction_lt is 'Logical time of the transaction of the transfer.';
comment on column etl.transfers.transaction_hash is 'Hash of the transaction of the transfer, base64.';
comment on column etl.transfers.trace_id is 'Trace that the transfer is part of, base64; null if the source did not know it.';
comment on column etl.transfers.source is 'Owner that sent the jettons, raw form; empty if the source does not know it.';
comment on column etl.transfers.destination is 'Owner that is to get the jettons, raw form; empty if the source does not know it.';
comment on column etl.transfers.source_wallet is 'Jetton wallet that sent the jettons, raw form.';
comment on column etl.transfers.jetton_master is 'Contract of the jetton that was transferred, raw form.';
comment on column etl.transfers.amount is 'How many jettons were transferred, in their smallest units.';
comment on column etl.transfers.query_id is 'Number that the sender chose for the transfer.';
comment on column etl.transfers.comment is 'Text that came with the transfer; null if there was none, or the server did not decode it.';
comment on column etl.transfers.response_destination is 'Account that gets what is left of the coins of the transfer, raw form; null if there is none.';
comment on column etl.transfers.forward_ton_amount is 'Coins that go to the destination with the notice of the transfer, nanotons.';
comment on column etl.transfers.is_aborted is 'True if the transaction of the transfer failed, or the receiving jetton wallet refused the jettons within a day.';

create or replace view ton.jetton_movements as
select j.account, j.utime, j.lt, j.step, j.jetton_master, j.kind, j.amount::numeric(38,0) as amount, j.counterparty, j.tx_hash
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
comment on view ton.jetton_movements is 'Every change of an owner''s jettons that is stored: transfers from both sides, burns, and mints. A transfer counts when it was sent, unless the receiving jetton wallet refused it within a day. Jettons that stand for TON (ton_proxies) are left out.';
comment on column ton.jetton_movements.account is 'Owner whose jettons changed, raw form; null for what was minted to a wallet whose owner is not known: see jetton_mints.owner.';
comment on column ton.jetton_movements.utime is 'Block time, UTC, of the transfer or burn; of a mint, when the master sent it.';
comment on column ton.jetton_movements.lt is 'Logical time of the transfer or burn; of a mint, that of its message.';
comment on column ton.jetton_movements.step is 'Order of movements that share a logical time: 0 what goes, 1 what comes, 2 what is minted.';
comment on column ton.jetton_movements.jetton_master is 'Contract of the jetton that moved, raw form.';
comment on column ton.jetton_movements.kind is 'What moved the jettons: sent, received, burned or minted.';
comment on column ton.jetton_movements.amount is 'How many jettons the owner got, below zero if they left, in the jetton''s smallest units.';
comment on column ton.jetton_movements.counterparty is 'The owner on the other side, raw form; null for burns and mints.';
comment on column ton.jetton_movements.tx_hash is 'Hash of the transaction of the transfer or burn, base64; of a mint, that of the master''s.';

create or replace view ton.account_ledger as
select t.account, t.utime, t.lt, v.step, null::text as jetton_master, v.kind, etl.as_raw(v.amount)::numeric(38,0) as amount, v.counterparty,
  etl.as_raw(coalesce(t.before_balance, 0) + sum(v.amount) over (partition by t.account, t.utime, t.lt order by v.step))::numeric(38,0) as balance,
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
  etl.as_raw(sum(j.amount) over (partition by j.account, j.jetton_master order by j.utime, j.lt, j.step, j.tx_hash collate "C"))::numeric(38,0) as balance, j.tx_hash
from ton.jetton_movements j;
comment on view ton.account_ledger is 'Every movement of coins and jettons of an account with the balance after it: ask for one account, order by utime, lt, step. Coins: what came, fees, what was sent and what its delivery cost, of each transaction; the balance is the chain''s own. Jettons: as in jetton_movements; the balance is the sum of what is stored, so it is the owner''s only if the jetton is stored from its beginning.';
comment on column ton.account_ledger.account is 'Account whose money moved, raw form: of jettons their owner, not the jetton wallet.';
comment on column ton.account_ledger.utime is 'Block time, UTC, of the movement.';
comment on column ton.account_ledger.lt is 'Logical time of the transaction that moved the money.';
comment on column ton.account_ledger.step is 'Order of the movements that share a logical time, from 0.';
comment on column ton.account_ledger.jetton_master is 'Contract of the jetton that moved in the ledger, raw form; null for coins (TON).';
comment on column ton.account_ledger.kind is 'What the movement was: received, sent, fees, forward fees, burned or minted.';
comment on column ton.account_ledger.amount is 'How much came (above zero) or went (below zero), nanotons or the jetton''s smallest units.';
comment on column ton.account_ledger.counterparty is 'Account on the other side of the movement, raw form; null if there is none.';
comment on column ton.account_ledger.balance is 'What the account held after the movement, nanotons or the jetton''s smallest units.';
comment on column ton.account_ledger.tx_hash is 'Hash of the transaction that moved the money, base64.';

drop function if exists ton.jetton_holders(text, timestamptz);
create or replace function ton.jetton_holders(master text, at timestamptz default 'infinity')
returns table (owner text, balance numeric, jetton_wallet text) language sql stable parallel safe set jit = off begin atomic
  select h.owner, sum(h.amount), h.jetton_wallet
  from (
    select m.account as owner, m.amount, null::text as jetton_wallet from ton.jetton_movements m
    where m.jetton_master = ton.ton_address(master) and m.utime < at and m.account is not null
    union all
    select null, n.amount, n.jetton_wallet from ton.jetton_mints n
    where n.jetton_master = ton.ton_address(master) and n.utime < at and n.owner is null) h
  group by h.owner, h.jetton_wallet having sum(h.amount) <> 0
  order by 2 desc, 1, 3;
end;
comment on function ton.jetton_holders(text, timestamptz) is
  'Who held a jetton before a moment (default: now) and how much, in its smallest units, richest first: the sum of the movements that are stored. Together they are what was minted but for what was burned. What was minted to a wallet whose owner is not known has no owner and a row for each jetton_wallet. What such a wallet was sent by a transfer is its owner''s. Balances are true if the jetton is stored from its first mint on, burns included. If it is not, those of owners whose jettons came before are too low, or below zero. So are those of mintless jettons, which owners claim without a mint.';

create or replace function ton.account_statement(account text, "from" timestamptz, "to" timestamptz)
returns table (
  utime timestamptz, kind text, asset text, amount numeric, balance numeric, counterparty text, jetton_master text, tx_hash text
) language sql stable parallel safe set jit = off begin atomic
  select l.utime, l.kind, coalesce(m.symbol, k.symbol, l.jetton_master, 'TON'), l.amount * u.unit, l.balance * u.unit,
    -- An address without such a form is shown as it is: an external address, a workchain beyond a byte.
    case when l.counterparty ~ '^(-1|[0-9]{1,2}):[0-9A-F]{64}$' then ton.ton_address_friendly(l.counterparty) else nullif(l.counterparty, '') end,
    l.jetton_master,
    case when l.tx_hash ~ '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$' then ton.hash_hex(l.tx_hash) else l.tx_hash end
  from ton.account_ledger l
  left join ton.jetton_masters m on m.address = l.jetton_master
  left join ton.token_metadata k on k.address = l.jetton_master
  cross join lateral (select etl.to_numeric('1e-' || case when l.jetton_master is null then 9
    else etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed) end) as unit) u
  where l.account = ton.ton_address(account_statement.account)
    and l.utime >= account_statement."from" and l.utime < account_statement."to"
    -- Raises an error if the range is empty, instead of returning a statement without a line.
    and case when account_statement."from" < account_statement."to" then true
      else etl.seconds_between(account_statement."from", account_statement."to") is not null end
  order by l.utime, l.lt, l.step, l.tx_hash;
end;
comment on function ton.account_statement(text, timestamptz, timestamptz) is
  'Statement of an account (in any form) between two times, the second exclusive: every movement of account_ledger in whole units, with the symbol of the jetton. Amounts are null for jettons whose decimals are not known: jetton_units says how they are found. Hashes are hex and addresses friendly, as explorers show them.';

create or replace view etl.open_jetton_flows as
select d.day, j.jetton_master, j.transfers, j.senders, j.receivers, etl.as_raw(j.amount)::numeric(38,0) as amount, etl.as_raw(j.minted)::numeric(38,0) as minted, etl.as_raw(j.burned)::numeric(38,0) as burned
from etl.open_days d,
lateral (
  select m.jetton_master, count(*) filter (where m.kind = 'sent') as transfers,
    count(distinct m.account) filter (where m.kind = 'sent') as senders,
    count(distinct m.account) filter (where m.kind = 'received') as receivers,
    coalesce(sum(m.amount) filter (where m.kind = 'received'), 0) as amount,
    coalesce(sum(m.amount) filter (where m.kind = 'minted'), 0) as minted,
    coalesce(-sum(m.amount) filter (where m.kind = 'burned'), 0) as burned
  from ton.jetton_movements m where m.utime >= d.starts and m.utime < d.ends
  group by m.jetton_master) j
where d.relation = 'jetton_flows';
comment on view etl.open_jetton_flows is 'What moved of each jetton on each day, UTC.';
comment on column etl.open_jetton_flows.day is 'The day on which the jetton moved, UTC.';
comment on column etl.open_jetton_flows.jetton_master is 'Contract of the jetton whose flow this is, raw form.';
comment on column etl.open_jetton_flows.transfers is 'How many transfers were sent, by owners that are known.';
comment on column etl.open_jetton_flows.senders is 'How many owners sent some.';
comment on column etl.open_jetton_flows.receivers is 'How many owners were sent some.';
comment on column etl.open_jetton_flows.amount is 'How many jettons were transferred, in the smallest units.';
comment on column etl.open_jetton_flows.minted is 'How many jettons came into being, in the smallest units.';
comment on column etl.open_jetton_flows.burned is 'How many jettons were destroyed, in the smallest units; 0 if burns are not read.';

create or replace function etl.asset_of(dex text, named text, amount text, wallet text) returns text
language sql immutable parallel safe
return case
  when named is not null then etl.raw_address(named)
  -- If the server names no asset, it means TON or a jetton that it does not know. stonfi_v2 and tonco name no asset for
  -- TON alone, stonfi never; the others move TON without jetton wallets.
  when amount is not null and (dex in ('stonfi_v2', 'tonco') or dex <> 'stonfi' and wallet is null) then 'TON'
end;
comment on function etl.asset_of(text, text, text, text) is
  'The asset of one side of a swap: TON, a jetton''s raw address, also that of a proxy of TON, or null if it is not known.';

create or replace view ton.swaps as
select s.utime, s.trace_id, s.action_id, s.start_utime, s.account, s.dex, s.success,
  case when i.address is not null then 'TON' else s.asset_in end as asset_in, s.amount_in::numeric(38,0) as amount_in,
  case when o.address is not null then 'TON' else s.asset_out end as asset_out, s.amount_out::numeric(38,0) as amount_out,
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
comment on view ton.swaps is 'Exchanges of one asset for another on decentralized exchanges, one row a swap: the actions of type jetton_swap.';
comment on column ton.swaps.utime is 'Block time, UTC, at which the swap''s trace ended, as in actions: give a range of it.';
comment on column ton.swaps.trace_id is 'Trace that the swap is, base64. From actions.trace_id.';
comment on column ton.swaps.action_id is 'Identity of the swap within its trace, base64. From actions.action_id.';
comment on column ton.swaps.start_utime is 'Block time, UTC, of the swap''s first transaction. From actions.start_utime.';
comment on column ton.swaps.account is 'Who swapped, raw form. From actions.source.';
comment on column ton.swaps.dex is 'The exchange: dedust, stonfi, stonfi_v2, tonco and so on. From details.dex.';
comment on column ton.swaps.success is 'False if the swap was tried and failed. From actions.success.';
comment on column ton.swaps.asset_in is 'What was given: TON (also as a proxy of ton_proxies), or a jetton, raw form; null if the source does not know the jetton. From details.asset_in, else from the first of details.peer_swaps.';
comment on column ton.swaps.amount_in is 'How much was given, in the smallest units. From details.dex_incoming_transfer.amount; null if that is no number.';
comment on column ton.swaps.asset_out is 'What was got: TON (also as a proxy of ton_proxies), or a jetton, raw form; null if the source does not know the jetton. From details.asset_out, else from the last of details.peer_swaps.';
comment on column ton.swaps.amount_out is 'How much was got, in the smallest units. From details.dex_outgoing_transfer.amount; null if that is no number.';
comment on column ton.swaps.pool is 'Account of the exchange on the jetton''s side of the swap, raw form: what was given went there, or, where TON was given, what was got came from there. The pool itself, or what the exchange keeps its jettons in: a vault (dedust), a router (stonfi).';

create or replace view etl.open_dex_volume as
select d.day, s.dex, s.pool, s.jetton_master, s.swaps, s.accounts, etl.as_raw(s.bought)::numeric(38,0) as bought, etl.as_raw(s.sold)::numeric(38,0) as sold,
  etl.as_raw(s.volume)::numeric(38,0) as volume, etl.as_raw(s.jettons)::numeric(38,0) as jettons
from etl.open_days d,
lateral (
  select x.dex, x.pool, t.jetton_master, count(*) as swaps, count(distinct x.account) as accounts,
    coalesce(sum(t.bought), 0) as bought, coalesce(sum(t.sold), 0) as sold,
    sum(coalesce(t.bought, t.sold)) as volume, sum(t.jettons) as jettons
  from ton.swaps x, lateral (
    select x.asset_out as jetton_master, x.amount_in as bought, null::numeric as sold, x.amount_out as jettons
    where x.asset_in = 'TON' and x.asset_out <> 'TON'
    union all
    select x.asset_in, null, x.amount_out, x.amount_in where x.asset_out = 'TON' and x.asset_in <> 'TON') t
  where x.utime >= d.starts and x.utime < d.ends and x.success is not false
  group by 1, 2, 3) s
where d.relation = 'dex_volume';
comment on view etl.open_dex_volume is 'What was traded for TON on decentralized exchanges by day, UTC, pool and jetton. Swaps of one jetton for another have no TON side and are not here. volume / jettons is the day''s mean price in nanotons of the jetton''s smallest unit.';
comment on column etl.open_dex_volume.day is 'The day on which the trades'' traces ended, UTC.';
comment on column etl.open_dex_volume.dex is 'The exchange that traded: dedust, stonfi, stonfi_v2, tonco and so on.';
comment on column etl.open_dex_volume.pool is 'Account of the exchange on the jetton''s side of the trades, raw form: see swaps.pool.';
comment on column etl.open_dex_volume.jetton_master is 'Contract of the jetton that was traded for TON, raw form.';
comment on column etl.open_dex_volume.swaps is 'How many trades succeeded on the day.';
comment on column etl.open_dex_volume.accounts is 'How many accounts traded.';
comment on column etl.open_dex_volume.bought is 'TON that was given for the jetton, nanotons.';
comment on column etl.open_dex_volume.sold is 'TON that was got for the jetton, nanotons.';
comment on column etl.open_dex_volume.volume is 'TON that changed hands either way, nanotons: bought + sold.';
comment on column etl.open_dex_volume.jettons is 'How many jettons changed hands for it, in the smallest units.';

create or replace view etl.mints as
select a.utime, a.trace_id, a.action_id, a.asset as nft_address, a.details->>'nft_item_index' as nft_index, a.collection_address,
  nullif(a.source, a.collection_address) as owner, a.success is false as is_aborted, a.start_lt, a.end_lt,
  coalesce(a.collection_address, '') = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF' as is_first_bid
from (
  select n.*, etl.raw_address(n.details->>'nft_collection') as collection_address from ton.actions n where n.type = 'nft_mint') a;
comment on view etl.mints is 'Mints of NFT items by indexed actions, those of domains below .ton among them, which are first bids.';
comment on column etl.mints.utime is 'Block time, UTC, at which the trace of the mint ended.';
comment on column etl.mints.trace_id is 'Trace of the mint, base64.';
comment on column etl.mints.action_id is 'The action that the mint is within its trace, base64.';
comment on column etl.mints.nft_address is 'The item that was made, raw form.';
comment on column etl.mints.nft_index is 'Index of the made item in its collection; null if the action lacks it.';
comment on column etl.mints.collection_address is 'Collection of the made item, raw form; null if the action names none.';
comment on column etl.mints.owner is 'Who asked for the mint, raw form; null if the source names the collection, which sends the item its code.';
comment on column etl.mints.is_aborted is 'True if the mint was tried and failed.';
comment on column etl.mints.start_lt is 'Logical time of the first transaction of the mint.';
comment on column etl.mints.end_lt is 'Logical time of the last transaction of the mint.';
comment on column etl.mints.is_first_bid is 'True if the item is a domain below .ton: its first bid makes it, and it has no owner until its auction is over.';

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
left join ton.nft_items i on i.address = h.nft_address and h.kind = 'mint'
window w as (partition by h.nft_address order by h.utime, h.lt);
comment on view ton.nft_ownership is 'Who owned an NFT item from when until when: one row for each owner in turn, as far as its mint, transfers and sales are stored.';
comment on column ton.nft_ownership.nft_address is 'The item that was owned, raw form.';
comment on column ton.nft_ownership.owner is 'Who owned the item from since on, raw form; null if that is not known. After a mint, that is who gave it away next, else its owner in nft_items, else who asked for the mint.';
comment on column ton.nft_ownership.since is 'When the owner got the item, UTC: block time of the transfer; of a mint or a sale, when its trace ended.';
comment on column ton.nft_ownership.until is 'When the item went to the next owner, UTC; null for the last owner that is stored.';
comment on column ton.nft_ownership.kind is 'How the owner got the item: mint, transfer (most sales are transfers too), or sale, of a domain or a user name after its auction.';
comment on column ton.nft_ownership.previous_owner is 'Who gave the item away, raw form; null for a mint, and if the source does not say.';
comment on column ton.nft_ownership.lt is 'Logical time of the change of owner; of a mint or a sale, that of its last transaction.';
comment on column ton.nft_ownership.trace_id is 'Trace in which the item changed hands, base64; null if the source did not know it.';

-- Validators.

create or replace view ton.validator_stakes as
select e.election_id, to_timestamp(case when e.election_id between 0 and 253402300799 then e.election_id end) as starts, e.validator_pubkey, e.stake_holder_address,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'stake_accepted'), 0))::numeric(38,0) as stake,
  count(*) filter (where e.type = 'stake_accepted') as accepted, count(*) filter (where e.type = 'stake_rejected') as rejected,
  min(e.utime) as first_at, max(e.utime) as last_at
from ton.validator_events e where e.election_id is not null
group by e.election_id, e.validator_pubkey, e.stake_holder_address;
comment on view ton.validator_stakes is 'What was staked for each election, one row for each validator and holder of a stake. Stakes that are given back name no election and are not here.';
comment on column ton.validator_stakes.election_id is 'The election that was staked for, named by the unix time at which its validators begin.';
comment on column ton.validator_stakes.starts is 'When the validators of the election begin their work, UTC: election_id as a time.';
comment on column ton.validator_stakes.validator_pubkey is 'Public key for which the stake was sent, 64 upper-case hex digits.';
comment on column ton.validator_stakes.stake_holder_address is 'Account that sent the stake of the election, raw form: a wallet or a pool.';
comment on column ton.validator_stakes.stake is 'Stakes that the elector accepted, nanotons, together.';
comment on column ton.validator_stakes.accepted is 'How many stakes the elector accepted.';
comment on column ton.validator_stakes.rejected is 'How many stakes the elector sent back at once.';
comment on column ton.validator_stakes.first_at is 'When the first of the stakes came, block time, UTC.';
comment on column ton.validator_stakes.last_at is 'When the last of the stakes came, block time, UTC.';

create or replace view ton.validator_income as
select max(m.election_id) as election_id, to_timestamp(max(case when m.election_id between 0 and 253402300799 then m.election_id end)) as starts, m.stake_holder_address,
  count(m.election_id) as elections, etl.as_raw(sum(m.stake))::numeric(38,0) as stake, etl.as_raw(sum(m.returned))::numeric(38,0) as returned,
  etl.as_raw(sum(m.returned) - sum(m.stake))::numeric(38,0) as reward,
  max(m.at) filter (where m.returned is not null) as returned_at
from (
  select x.*, count(x.returned) over (
    partition by x.stake_holder_address order by x.at desc, (x.returned is null), x.lt desc) as returns_from_here
  from (
    select s.stake_holder_address, s.election_id, s.stake, null::numeric as returned, null::bigint as lt,
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
comment on view ton.validator_income is 'What came of the stakes of each election, one row for each holder of stakes and return. A return names no election: it settles the holder''s accepted stakes in the elections whose successor has begun by then and that no earlier return settled. A return that settles none of the stored stakes has no row. Successors are known from stakes that are stored; what is not returned yet has nulls. Of a pool the reward is before its own shares. What the elector gives back of a stake in excess is a part of returned, too, so that a reward may hold some.';
comment on column ton.validator_income.election_id is 'Election whose stakes were settled, named by the unix time at which its validators begin; the last if a return settled several.';
comment on column ton.validator_income.starts is 'When the validators of that election begin their work, UTC: election_id as a time.';
comment on column ton.validator_income.stake_holder_address is 'Account that sent the stakes and got them back, raw form: a wallet or a pool.';
comment on column ton.validator_income.elections is 'The number of elections that the stakes are from: 1 if the holder takes them back after each.';
comment on column ton.validator_income.stake is 'Stakes that the elector accepted in those elections, nanotons, together.';
comment on column ton.validator_income.returned is 'What the elector gave back, nanotons; null if nothing came back yet.';
comment on column ton.validator_income.reward is 'What was earned, nanotons: returned - stake; below zero after a fine, null if nothing came back yet.';
comment on column ton.validator_income.returned_at is 'When the stakes came back, block time, UTC; null if they have not yet.';

create or replace view ton.complaints as
select c.utime, c.election_id, c.complaint_hash, c.validator_pubkey, c.stake_holder_address, c.severity, c.suggested_fine, c.is_passed,
  c.approved_percent, v.votes, v.weight, v.voters
from ton.validator_complaints c,
lateral (
  select count(*) as votes, etl.as_raw(coalesce(sum(x.weight), 0))::numeric(38,0) as weight, array_agg(x.validator_index order by x.position) as voters
  from ton.complaint_votes x
  where x.utime = c.utime and x.election_id = c.election_id and x.complaint_hash = c.complaint_hash) v;
comment on view ton.complaints is 'Complaints about validators with the votes on them, one row a complaint.';
comment on column ton.complaints.utime is 'Block time, UTC, at which the complaint was filed, as in validator_complaints.';
comment on column ton.complaints.election_id is 'Election of the validator that is complained about.';
comment on column ton.complaints.complaint_hash is 'Hash of the complaint with its votes, base64.';
comment on column ton.complaints.validator_pubkey is 'Public key of the validator that is complained about, 64 upper-case hex digits.';
comment on column ton.complaints.stake_holder_address is 'Account that holds the stake of the validator complained about, raw form.';
comment on column ton.complaints.severity is 'How grave the author says that it is.';
comment on column ton.complaints.suggested_fine is 'Fine that the author asks for, nanotons.';
comment on column ton.complaints.is_passed is 'True if enough weight voted for it.';
comment on column ton.complaints.approved_percent is 'Share of all voting weight that is for it, percent.';
comment on column ton.complaints.votes is 'How many validators voted for it: rows of complaint_votes.';
comment on column ton.complaints.weight is 'Weight of the votes together, as far as the source knows it.';
comment on column ton.complaints.voters is 'Numbers of the voters in their set of validators, in the order of the votes; null if no validator voted.';

create or replace view ton.nominator_pool_cycles as
select e.pool_address, e.validator_address, e.cycle_start,
  (array_agg(e.balance_before order by e.utime, e.tx_lt))[1]::numeric(38,0) as opening,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'reward'), 0))::numeric(38,0) as rewards,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'penalty'), 0))::numeric(38,0) as penalties,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'deposit'), 0))::numeric(38,0) as deposits,
  etl.as_raw(coalesce(sum(e.amount) filter (where e.type = 'withdrawal'), 0))::numeric(38,0) as withdrawals,
  (array_agg(e.balance_after order by e.utime desc, e.tx_lt desc))[1]::numeric(38,0) as closing, count(*) as events
from (
  select x.pool_address, x.validator_address, x.utime, x.tx_lt, x.type, x.amount, x.balance_before, x.balance_after,
    max(x.cycle_start) over (partition by x.pool_address, x.validator_address order by x.utime, x.tx_lt) as cycle_start
  from ton.nominator_pool_events x) e
group by e.pool_address, e.validator_address, e.cycle_start;
comment on view ton.nominator_pool_cycles is 'Books of the validator''s own money in each nominator pool by validation cycle: opening + rewards - penalties + deposits - withdrawals = closing. Deposits and withdrawals belong to the cycle that was settled last before them. The money of nominators is in nominator_events.';
comment on column ton.nominator_pool_cycles.pool_address is 'The pool whose books these are, raw form.';
comment on column ton.nominator_pool_cycles.validator_address is 'The validator whose money in the pool it is, raw form.';
comment on column ton.nominator_pool_cycles.cycle_start is 'Start of the validation cycle that was settled last, UTC; null before the first one that is stored.';
comment on column ton.nominator_pool_cycles.opening is 'The validator''s money before the first event of the cycle''s books, nanotons.';
comment on column ton.nominator_pool_cycles.rewards is 'What the validator earned in the cycle''s books, nanotons.';
comment on column ton.nominator_pool_cycles.penalties is 'What the validator was fined in the cycle''s books, nanotons.';
comment on column ton.nominator_pool_cycles.deposits is 'What the validator paid in after the cycle was settled, nanotons.';
comment on column ton.nominator_pool_cycles.withdrawals is 'What the validator took out after the cycle was settled, nanotons.';
comment on column ton.nominator_pool_cycles.closing is 'The validator''s money after the last event of the cycle''s books, nanotons.';
comment on column ton.nominator_pool_cycles.events is 'How many events the cycle''s books have.';

-- A role that can only read. Functions need no grant: a role without usage of a schema cannot call them.

create or replace function etl.reader_statements(reader name, password text, timeout interval)
returns table (part text, statement text) language sql stable begin atomic
  select 'role', format('create role %I login connection limit 20 password %L', reader, password)
  where not exists (select from pg_roles where rolname = reader)
  union all
  select 'password', format('alter role %I login connection limit 20 password %L', reader, password)
  where password is not null and exists (select from pg_roles where rolname = reader)
  union all
  select 'settings', format('alter role %I in database %I set %s = %s', reader, current_database(), name, value)
  from (values
    ('search_path', 'pg_catalog, ton, public'), ('timezone', quote_literal('UTC')), ('default_transaction_read_only', 'on'),
    -- With many partitions compiling a query takes far longer than running it.
    ('jit', 'off'), ('statement_timeout', quote_literal((extract(epoch from timeout) * 1000)::bigint)),
    ('idle_in_transaction_session_timeout', quote_literal('10min'))) settings (name, value)
  where not exists (
    select from pg_db_role_setting s join pg_roles r on r.oid = s.setrole join pg_database d on d.oid = s.setdatabase,
      unnest(s.setconfig) is_set
    where r.rolname = reader and d.datname = current_database() and lower(split_part(is_set, '=', 1)) = name
      and split_part(is_set, '=', 2) = btrim(value, ''''));
end;
comment on function etl.reader_statements(name, text, interval) is
  'What makes a role that reads, or renews its password (unless that is null), and gives its sessions their settings: statements for a user who may make roles.';

create or replace function etl.withheld_statements(reader name) returns setof text
language sql stable begin atomic
  select format('revoke temporary on database %I from public', current_database())
  where has_database_privilege(reader, current_database(), 'temporary')
  union all
  -- Up to Postgres 14, every role may create tables there.
  select 'revoke create on schema public from public' where has_schema_privilege(reader, 'public', 'create')
  union all
  -- The program itself uses locks, so its role keeps them.
  select format('grant execute on function %1$s to %2$I; revoke execute on function %1$s from public', p.oid::regprocedure, o.rolname)
  from pg_proc p, pg_namespace n join pg_roles o on o.oid = n.nspowner
  where n.nspname = 'etl' and p.pronamespace = 'pg_catalog'::regnamespace
    and (p.proname ~ '^pg_(try_)?advisory_' or p.proname in ('pg_logical_emit_message', 'pg_export_snapshot', 'lo_create', 'lo_creat', 'lo_from_bytea', 'lo_put', 'lowrite',
      'lo_truncate', 'lo_truncate64', 'lo_unlink', 'lo_import', 'lo_export'))
    and has_function_privilege(reader, p.oid, 'execute');
end;
comment on function etl.withheld_statements(name) is
  'What takes from a role what Postgres lets everybody do beside reading: temporary tables, large objects, locks of programs, messages into the log, tables in schema public. It takes that from every role of the database which has it by PUBLIC alone. Empty if it is taken already.';

drop function if exists etl.allow_reading(name, text, interval);
create or replace function etl.allow_reading(reader name, password text, timeout interval, strict boolean default false) returns table (part text, statement text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted record;
begin
  if reader = current_user or exists (
    select from pg_roles r where r.rolname = reader
      and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls
        or exists (select from pg_auth_members m where m.member = r.oid)))
  then
    raise exception 'role "%" may do more than read', reader using errcode = 'invalid_role_specification',
      hint = 'Give a name that no role has yet: --name.';
  end if;
  for wanted in select * from etl.reader_statements(reader, password, timeout) loop
    begin
      execute wanted.statement;
    exception
      -- Another database of this server created the role at the same moment.
      when duplicate_object or unique_violation then null;
      -- If the role could not be created, there is none to alter.
      when insufficient_privilege or undefined_object then
        part := wanted.part;
        statement := wanted.statement;
        return next;
    end;
  end loop;
  if not exists (select from pg_roles where rolname = reader) then
    return;
  end if;
  execute format('grant connect on database %I to %I', current_database(), reader);
  -- Views and functions read as their owner whatever else they need.
  execute format('grant usage on schema ton, etl to %I', reader);
  execute format('grant select on all tables in schema ton to %I', reader);
  -- Tables that are made afterwards.
  execute format('alter default privileges in schema ton grant select on tables to %I', reader);
  -- Of the program's own tables only those that say how far to trust the data, and the one that lists the stable jettons.
  -- What a role may not read, tools do not list.
  execute format('revoke select on all tables in schema etl, etl_partitions from %I', reader);
  execute format('grant select on etl.coverage, etl.coverage_report, etl.datasets, etl.feeds, etl.findings, etl.grades, etl.stable_jettons to %I', reader);
  if not allow_reading.strict then
    return;
  end if;
  for wanted in select s.statement from etl.withheld_statements(reader) s (statement) loop
    begin
      execute wanted.statement;
    exception when insufficient_privilege then null;
    end;
  end loop;
  return query select 'server', s from etl.withheld_statements(reader) s;
end $$;
revoke execute on function etl.allow_reading(name, text, interval, boolean) from public;
comment on function etl.allow_reading(name, text, interval, boolean) is
  'Makes a role that reads the data and does no more, or renews its password. It reads all of schema ton, with what is made there later. In schema etl it reads six relations, which say how far to trust the data: coverage, coverage_report, datasets, feeds, findings, grades. Its sessions are read-only, in UTC, find the tables of ton without their schema, and end a statement after the timeout. A role that is there already and that this user may not alter is granted the same. Only with strict does it take from PUBLIC what etl.withheld_statements names. Gives back the statements that only an administrator may run: none if all is done.';
