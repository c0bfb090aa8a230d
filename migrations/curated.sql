-- Curated views: the most frequent questions of analysts, with decimals applied, symbols joined and TON as one asset.
-- Applied after analyst.sql, in the same transaction, by the same rules. Over a lake, DuckDB uses the same
-- definitions.
-- An asset is 'TON', the raw address of a jetton master, or null if the source does not know it.

create or replace function etl.as_ton(amount numeric) returns numeric language sql immutable parallel safe return etl.fit(amount, 9);
comment on function etl.as_ton(numeric) is 'An amount of TON, exact; null from 1e29 on.';

create or replace function etl.as_units(amount numeric) returns numeric language sql immutable parallel safe return etl.fit(amount, 18);
comment on function etl.as_units(numeric) is 'An amount in whole units with at most 18 decimals; null from 1e20 on.';

create or replace function etl.units(amount numeric, decimals int) returns numeric
language sql immutable parallel safe
-- Cast, because text || integer is not immutable: it would keep the function from being inlined.
return etl.as_units(amount * case decimals when 9 then 0.000000001 when 6 then 0.000001 else etl.to_numeric('1e-' || decimals::text) end);
comment on function etl.units(numeric, int) is
  'An amount in whole units, as etl.as_units has it; null if the decimals are null or no number can have so many.';

create or replace function etl.asset_decimals(asset text, own int, content jsonb, found int, is_indexed boolean) returns int
language sql immutable parallel safe
return case when asset = 'TON' then 9 else etl.decimals_of(own, content, found, is_indexed) end;
comment on function etl.asset_decimals(text, int, jsonb, int, boolean) is 'Decimals of TON, or of a jetton by etl.decimals_of.';

create or replace function etl.asset_symbol(asset text, own text, found text) returns text
language sql immutable parallel safe
return case when asset = 'TON' then 'TON' else coalesce(own, found) end;
comment on function etl.asset_symbol(text, text, text) is 'Ticker of TON, or of a jetton: by its master, else by the metadata of the indexer.';

create or replace function etl.dex_of(named text) returns text language sql immutable parallel safe
return regexp_replace(named, '_v[0-9]+$', '');
comment on function etl.dex_of(text) is 'An exchange without the version that the source names with it: stonfi of stonfi_v2.';

create or replace function etl.dex_version_of(named text) returns text language sql immutable parallel safe
return coalesce(nullif(substr(named, length(etl.dex_of(named)) + 3), ''), '1');
comment on function etl.dex_version_of(text) is 'The version that the source names with an exchange: 2 of stonfi_v2; 1 if it names none.';

create or replace function etl.rounded(amount numeric) returns numeric language sql immutable parallel safe return etl.fit(amount, 0);
comment on function etl.rounded(numeric) is 'An amount that was calculated, as a whole number of smallest units.';

create or replace function etl.as_price(price numeric) returns numeric language sql immutable parallel safe return etl.fit(price, 24);
comment on function etl.as_price(numeric) is 'A price that was calculated, with 24 decimals; null from 1e14 on.';

create or replace function etl.as_usd(amount numeric) returns numeric language sql immutable parallel safe return etl.fit(amount, 6);
comment on function etl.as_usd(numeric) is 'An amount of dollars that was calculated, with six decimals; null from 1e32 on.';

-- Trades.

create or replace function etl.positions_in(list jsonb) returns int[]
language sql immutable parallel safe
return case when jsonb_typeof(list) = 'array' then array(select generate_series(0, jsonb_array_length(list) - 1)) else '{}' end;
comment on function etl.positions_in(jsonb) is
  'Positions of the elements of a JSON array, from 0; empty if it is no array.';

create or replace function etl.hops_of(details jsonb) returns int[]
language sql immutable parallel safe
return case when (details->'peer_swaps'->0) is null then array[0]
  else coalesce(nullif(etl.positions_in(details->'peer_swaps'), '{}'), array[0]) end;
comment on function etl.hops_of(jsonb) is
  'Numbers of the legs of a swap, from 0: one for each pool that it goes through.';

create or replace function etl.referral_in(decoded text) returns text
language sql immutable parallel safe
return '0:' || substring(decoded from '"ref(?:erral)?_address": \{(?:"@type": "just", "value": \{)?"@type": "addr_std", "address": "([0-9A-F]{64})"');
comment on function etl.referral_in(text) is
  'The account that a decoded body names as the referral of a trade, raw form; null if it names none.';

create or replace view etl.dex_legs as
select a.utime, a.start_utime, a.trace_id, a.action_id, a.start_lt, x.leg, cardinality(a.hops) as legs, x.dex, x.router,
  case when x.taken = 'TON' or t.address is not null then x.giver else x.taker end as counterparty, a.source as trader,
  case when s.address is not null then 'TON' else x.sold end as sold, x.sold_raw,
  case when b.address is not null then 'TON' else x.bought end as bought, x.bought_raw
from (
  -- Decompressed once, and its legs counted once: `#> '{}'` is the whole.
  select t.utime, t.start_utime, t.trace_id, t.action_id, t.start_lt, t.source, w.details, w.hops
  from ton.actions t
  cross join lateral (select t.details #> '{}' as details, etl.hops_of(t.details #> '{}') as hops offset 0) w
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
    from unnest(a.hops) as u (leg) where a.action_id <> '' offset 0) h offset 0) x
left join ton.ton_proxies t on t.address = x.taken
left join ton.ton_proxies s on s.address = x.sold
left join ton.ton_proxies b on b.address = x.bought;
comment on view etl.dex_legs is 'Trades on exchanges without prices: one row for each pool that a successful swap goes through.';
comment on column etl.dex_legs.utime is 'Block time, UTC, at which the trace of the swap ended.';
comment on column etl.dex_legs.start_utime is 'Block time, UTC, of the first transaction of the swap.';
comment on column etl.dex_legs.trace_id is 'Trace that the leg is part of, base64.';
comment on column etl.dex_legs.action_id is 'The swap that the leg is part of within its trace, base64.';
comment on column etl.dex_legs.start_lt is 'Logical time of the first transaction of the swap.';
comment on column etl.dex_legs.leg is 'Number of the leg within its swap, from 0.';
comment on column etl.dex_legs.legs is 'How many legs the swap has.';
comment on column etl.dex_legs.dex is 'The exchange as the source names it, with its version.';
comment on column etl.dex_legs.router is 'Account of the exchange that took what the trader gave, raw form.';
comment on column etl.dex_legs.counterparty is 'Account of the exchange on the side of the swap that is no TON, raw form.';
comment on column etl.dex_legs.trader is 'Who swapped, raw form: actions.source.';
comment on column etl.dex_legs.sold is 'Asset that was given in the leg.';
comment on column etl.dex_legs.sold_raw is 'How much was given, in the smallest units; null if that is no number.';
comment on column etl.dex_legs.bought is 'Asset that was got in the leg.';
comment on column etl.dex_legs.bought_raw is 'How much was got, in the smallest units; null if that is no number.';

create or replace view etl.action_messages as
select a.utime, a.trace_id, a.action_id, t.utime as transaction_utime, t.lt, m.source, m.destination, m.created_lt, m.opcode, m.content_decoded,
  t.hash as transaction_hash
from ton.action_transactions a
join ton.transactions t on t.hash = a.tx_hash
join ton.messages m on m.utime = t.in_msg_utime and m.hash = t.in_msg_hash;
comment on view etl.action_messages is 'The messages that started the transactions of each action.';
comment on column etl.action_messages.utime is 'Block time, UTC, at which the trace of the action ended.';
comment on column etl.action_messages.trace_id is 'Trace that the action is part of, base64.';
comment on column etl.action_messages.action_id is 'The action within its trace, base64.';
comment on column etl.action_messages.transaction_utime is 'Block time, UTC, of the transaction that the message started: give a range of it.';
comment on column etl.action_messages.lt is 'Logical time of the transaction that the message started.';
comment on column etl.action_messages.source is 'Account that sent the message of the action, raw form; null from outside the chain.';
comment on column etl.action_messages.destination is 'Account that received the message of the action, raw form.';
comment on column etl.action_messages.created_lt is 'Logical time at which the message of the action was created.';
comment on column etl.action_messages.opcode is 'First 32 bits of the body of the message of the action.';
comment on column etl.action_messages.content_decoded is 'What the decoder of the server made of the body of the message of the action.';
comment on column etl.action_messages.transaction_hash is 'Hash of the transaction that the message started, base64.';

-- Assets with a value of their own: TON, and jettons that are pegged to a dollar.
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
comment on view etl.asset_trades is 'What was paid for an asset in TON or in a stable jetton: one row for each leg of a swap and asset.';
comment on column etl.asset_trades.utime is 'Block time, UTC, at which the trace of the trade ended.';
comment on column etl.asset_trades.trader is 'Who traded, raw form.';
comment on column etl.asset_trades.asset is 'The asset that was paid for: TON or a jetton master.';
comment on column etl.asset_trades.amount is 'How much of the asset changed hands, in its smallest units.';
comment on column etl.asset_trades.ton is 'What was paid, nanotons; null if it was a stable jetton.';
comment on column etl.asset_trades.usd is 'What was paid in a stable jetton, whole units; null if it was TON.';

create or replace view etl.open_hourly_trades as
select d.day, t.hour, t.asset, t.trades, t.traders, etl.as_raw(t.ton)::numeric(38,0) as ton, etl.as_raw(t.ton_amount)::numeric(38,0) as ton_amount,
  etl.as_usd(t.usd)::numeric(38,6) as usd, etl.as_raw(t.usd_amount)::numeric(38,0) as usd_amount, nullif(etl.as_price(t.ton_usd), 0)::numeric(38,24) as ton_usd
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
    from etl.asset_trades x where x.utime >= d.starts and x.utime < d.ends group by 1, 2) g) t
where d.relation = 'hourly_trades';
comment on view etl.open_hourly_trades is 'What was paid for each asset in TON and in stable jettons in each hour: what prices are made of. Trades of two assets that are neither have no price and are not here.';
comment on column etl.open_hourly_trades.day is 'The day of the hour, UTC: name it, and only that day is read.';
comment on column etl.open_hourly_trades.hour is 'First moment of the hour in which the traces of the trades ended.';
comment on column etl.open_hourly_trades.asset is 'The asset that was traded: TON or the raw address of a jetton master.';
comment on column etl.open_hourly_trades.trades is 'How many legs of swaps of the hour its price is made of: those against TON or a stable jetton; of TON, those against a stable jetton alone.';
comment on column etl.open_hourly_trades.traders is 'How many accounts made those trades in the hour.';
comment on column etl.open_hourly_trades.ton is 'TON that was paid for it in the hour, nanotons.';
comment on column etl.open_hourly_trades.ton_amount is 'How much of it that TON paid for, in its smallest units.';
comment on column etl.open_hourly_trades.usd is 'Stable jettons that were paid for it in the hour, whole units.';
comment on column etl.open_hourly_trades.usd_amount is 'How much of it those stable jettons paid for, in its smallest units.';
comment on column etl.open_hourly_trades.ton_usd is 'Price of a TON in USD in the hour, else on the day; null if no TON was traded for a stable jetton.';

create or replace view etl.open_daily_trades as
select d.day, t.asset, t.trades, t.traders, etl.as_raw(t.ton)::numeric(38,0) as ton, etl.as_raw(t.ton_amount)::numeric(38,0) as ton_amount,
  etl.as_usd(t.usd)::numeric(38,6) as usd, etl.as_raw(t.usd_amount)::numeric(38,0) as usd_amount, nullif(etl.as_price(t.ton_usd), 0)::numeric(38,24) as ton_usd
from etl.open_days d,
lateral (
  select g.asset, g.trades, g.traders, g.ton, g.ton_amount, g.usd, g.usd_amount,
    sum(g.ton_usd) over () / sum(g.ton_sold) over () as ton_usd
  from (
    select x.asset, count(*) as trades, count(distinct x.trader) as traders, sum(x.ton) as ton,
      sum(x.amount) filter (where x.ton is not null) as ton_amount, sum(x.usd) as usd,
      sum(x.amount) filter (where x.usd is not null) as usd_amount, sum(x.usd) filter (where x.asset = 'TON') as ton_usd,
      ton.nano_to_ton(sum(x.amount) filter (where x.asset = 'TON' and x.usd is not null)) as ton_sold
    from etl.asset_trades x where x.utime >= d.starts and x.utime < d.ends group by 1) g) t
where d.relation = 'daily_trades';
comment on view etl.open_daily_trades is 'What was paid for each asset in TON and in stable jettons on each day, UTC: what prices are made of. Trades of two assets that are neither have no price and are not here.';
comment on column etl.open_daily_trades.day is 'The day of the trades, UTC.';
comment on column etl.open_daily_trades.asset is 'The asset that was traded: TON or the raw address of a jetton master.';
comment on column etl.open_daily_trades.trades is 'How many legs of swaps of the day its price is made of: those against TON or a stable jetton; of TON, those against a stable jetton alone.';
comment on column etl.open_daily_trades.traders is 'How many accounts made those trades in the day.';
comment on column etl.open_daily_trades.ton is 'TON that was paid for it in the day, nanotons.';
comment on column etl.open_daily_trades.ton_amount is 'How much of it that TON paid for, in its smallest units.';
comment on column etl.open_daily_trades.usd is 'Stable jettons that were paid for it in the day, whole units.';
comment on column etl.open_daily_trades.usd_amount is 'How much of it those stable jettons paid for, in its smallest units.';
comment on column etl.open_daily_trades.ton_usd is 'Price of a TON in USD in the day; null if no TON was traded for a stable jetton.';

-- Balances.

create or replace view etl.open_daily_changes as
select d.day, c.account, c.jetton_wallet, c.asset, c.changes, etl.as_raw(c.change_raw)::numeric(38,0) as change_raw, c.balance_raw::numeric(38,0) as balance_raw
from etl.open_days d,
lateral (
  select t.account, null::text as jetton_wallet, 'TON' as asset, count(*) as changes, null::numeric as change_raw,
    (array_agg(t.after_balance order by t.utime desc, t.lt desc))[1] as balance_raw
  from ton.transactions t where t.utime >= d.starts and t.utime < d.ends and t.after_balance is not null
  group by t.account
  union all
  select m.account, null, m.jetton_master, count(*), sum(m.amount), null
  from ton.jetton_movements m where m.utime >= d.starts and m.utime < d.ends and m.account is not null
  group by m.account, m.jetton_master
  union all
  -- Whose these are may be learned after the day was kept.
  select null, m.jetton_wallet, m.jetton_master, count(*), sum(m.amount), null
  from ton.jetton_mints m
  where m.utime >= d.starts and m.utime < d.ends and m.owner is null
    and not exists (select 1 from ton.ton_proxies p where p.address = m.jetton_master)
  group by m.jetton_wallet, m.jetton_master) c
where d.relation = 'daily_changes';
comment on view etl.open_daily_changes is 'What changed of each account''s assets on each day, UTC: what daily_balances is made of. An asset that did not change on the day has no row.';
comment on column etl.open_daily_changes.day is 'The day on which the asset changed, UTC.';
comment on column etl.open_daily_changes.account is 'Account whose asset changed, raw form: of jettons their owner; null for what was minted to a wallet whose owner was not known.';
comment on column etl.open_daily_changes.jetton_wallet is 'Jetton wallet that got what was minted, raw form; null if the owner was known.';
comment on column etl.open_daily_changes.asset is 'What changed: TON or the raw address of a jetton master.';
comment on column etl.open_daily_changes.changes is 'How often the asset of the account changed on the day.';
comment on column etl.open_daily_changes.change_raw is 'By how much the jettons changed on the day, in the smallest units; null of TON.';
comment on column etl.open_daily_changes.balance_raw is 'What TON the account held after the last change of the day, nanotons; null of jettons.';

-- The reports: closed days as stored, open ones as they are now.

create or replace function etl.make_report(report text) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  said record;
begin
  execute format('create or replace view ton.%1$I as
    select day, %2$s, true as certified from etl.kept_%1$s
    where day in (select c.day from etl.closed_days c where c.relation = %1$L and c.closed_at is not null)
    union all select day, %2$s, false from etl.open_%1$s', report, etl.columns_of_report(report));
  for said in select objsubid as place, description from pg_description
    where objoid = ('etl.open_' || report)::regclass and classoid = 'pg_class'::regclass
  loop
    if said.place = 0 then
      execute format('comment on view ton.%I is %L', report, said.description);
    else
      execute format('comment on column ton.%I.%I is %L', report,
        (select attname from pg_attribute where attrelid = ('etl.open_' || report)::regclass and attnum = said.place), said.description);
    end if;
  end loop;
  execute format('comment on column ton.%I.certified is %L', report,
    'True if every dataset that feeds the row is verified on the whole day, and the row was kept then; false if it is summed up now.');
  -- Days that were stored under another definition are summed up again, if their rows are still stored.
  execute format('delete from etl.closed_days c using ton.days d where c.relation = %1$L and d.day = c.day
    and c.definition <> md5(pg_get_viewdef(%2$L::regclass))', report, 'etl.open_' || report);
end $$;
comment on function etl.make_report(text) is
  'Makes the view of schema ton that has the closed days of a report as they are kept, and its open ones as they are now.';
select etl.make_report(r) from etl.reports_by_day() r where r not in ('daily_legs', 'daily_pools');


-- Prices are per whole unit.

create or replace view etl.trade_prices as
select p.period, p.day, p.hour, p.asset, p.symbol, (case when p.asset = 'TON' then 1 else etl.as_price(p.worth_ton / nullif(p.priced, 0)) end)::numeric(38,24) as price_ton,
  etl.as_price(case when p.is_stable then 1 when p.worth_ton is null then p.usd / nullif(p.usd_units, 0) else p.worth_ton / nullif(p.priced, 0) * p.ton_usd end)::numeric(38,24) as price_usd,
  etl.as_ton(p.worth_ton)::numeric(38,9) as volume_ton, etl.as_usd(coalesce(p.worth_ton * p.ton_usd, p.usd))::numeric(38,6) as volume_usd, p.trades, p.traders,
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
    left join ton.jetton_masters m on m.address = h.asset
    left join ton.token_metadata k on k.address = h.asset
    left join etl.stable_jettons s on s.address = h.asset) r) p;
comment on view etl.trade_prices is 'What a whole unit of each asset cost in each hour and on each day: hourly_prices and daily_prices in one.';
comment on column etl.trade_prices.period is 'How long the time is whose trades make the price: hour or day.';
comment on column etl.trade_prices.day is 'The day of the trades that make the price, UTC.';
comment on column etl.trade_prices.hour is 'First moment of the hour of those trades; null for a price of a day.';
comment on column etl.trade_prices.asset is 'The asset that is priced: TON or the raw address of a jetton master.';
comment on column etl.trade_prices.symbol is 'Ticker of the priced asset; null if no dataset has stored it.';
comment on column etl.trade_prices.price_ton is 'Price of one whole unit in the period, TON; null if the decimals of the asset are not known, or no TON stands behind it.';
comment on column etl.trade_prices.price_usd is 'Price of one whole unit in the period, USD: 1 of a stable jetton; null if the decimals are not known, or no stable jetton stands behind it.';
comment on column etl.trade_prices.volume_ton is 'What was paid for the asset in the period, TON: stable jettons at the price of TON.';
comment on column etl.trade_prices.volume_usd is 'What was paid for the asset in the period, USD: TON at its own price.';
comment on column etl.trade_prices.trades is 'How many legs of swaps the price of the period is made of.';
comment on column etl.trade_prices.traders is 'How many accounts made those trades of the period.';
comment on column etl.trade_prices.is_liquid is 'True if 100 trades or more by 10 accounts or more stand behind the price of the period.';
comment on column etl.trade_prices.certified is 'True if the price of the period is made of a kept day.';

create or replace view ton.hourly_prices as
select p.day, p.hour, p.asset, p.symbol, p.price_ton, p.price_usd, p.volume_ton, p.volume_usd, p.trades, p.traders, p.is_liquid, p.certified
from etl.trade_prices p where p.period = 'hour';
comment on view ton.hourly_prices is 'What a whole unit of each asset cost in each hour, in TON and in USD. It is the mean of all trades against TON and against stable jettons (etl.stable_jettons), weighted by their volume. An asset that was not traded against them has no row.';
comment on column ton.hourly_prices.day is 'The day of the price, UTC: name it, and only that day is read.';
comment on column ton.hourly_prices.hour is 'First moment of the hour whose trades make the price.';
comment on column ton.hourly_prices.asset is 'The asset that has the price: TON or the raw address of a jetton master.';
comment on column ton.hourly_prices.symbol is 'Ticker of the asset; null if no dataset has stored it.';
comment on column ton.hourly_prices.price_ton is 'Price of one whole unit in the hour, TON; null if the decimals of the asset are not known, or no TON stands behind it.';
comment on column ton.hourly_prices.price_usd is 'Price of one whole unit in the hour, USD: 1 of a stable jetton; null if the decimals are not known, or no stable jetton stands behind it.';
comment on column ton.hourly_prices.volume_ton is 'What was paid for the asset in the hour in TON and stable jettons, TON: stable jettons at the price of TON. A trade of TON for a stable jetton counts for both assets: do not add assets up, but dex_trades.volume_ton.';
comment on column ton.hourly_prices.volume_usd is 'What was paid for the asset in the hour in TON and stable jettons, USD: TON at its own price. Do not add assets up, but dex_trades.volume_usd.';
comment on column ton.hourly_prices.trades is 'How many legs of swaps the price of the hour is made of: those against TON or a stable jetton; of TON, those against a stable jetton alone. dex_trades has all legs.';
comment on column ton.hourly_prices.traders is 'How many accounts made those trades of the hour.';
comment on column ton.hourly_prices.is_liquid is 'True if 100 trades or more by 10 accounts or more stand behind the price of the hour.';
comment on column ton.hourly_prices.certified is 'True if the price is made of a kept day: every dataset that feeds it is verified on the whole day.';

create or replace view ton.daily_prices as
select p.day, p.asset, p.symbol, p.price_ton, p.price_usd, p.volume_ton, p.volume_usd, p.trades, p.traders, p.is_liquid, p.certified
from etl.trade_prices p where p.period = 'day';
comment on view ton.daily_prices is 'What a whole unit of each asset cost on each day, UTC, in TON and in USD. It is the mean of all trades against TON and against stable jettons (etl.stable_jettons), weighted by their volume. An asset that was not traded against them has no row.';
comment on column ton.daily_prices.day is 'The day of the price, UTC.';
comment on column ton.daily_prices.asset is 'The asset that has the price: TON or the raw address of a jetton master.';
comment on column ton.daily_prices.symbol is 'Ticker of the asset; null if no dataset has stored it.';
comment on column ton.daily_prices.price_ton is 'Price of one whole unit in the day, TON; null if the decimals of the asset are not known, or no TON stands behind it.';
comment on column ton.daily_prices.price_usd is 'Price of one whole unit in the day, USD: 1 of a stable jetton; null if the decimals are not known, or no stable jetton stands behind it.';
comment on column ton.daily_prices.volume_ton is 'What was paid for the asset in the day in TON and stable jettons, TON: stable jettons at the price of TON. A trade of TON for a stable jetton counts for both assets: do not add assets up, but dex_trades.volume_ton.';
comment on column ton.daily_prices.volume_usd is 'What was paid for the asset in the day in TON and stable jettons, USD: TON at its own price. Do not add assets up, but dex_trades.volume_usd.';
comment on column ton.daily_prices.trades is 'How many legs of swaps the price of the day is made of: those against TON or a stable jetton; of TON, those against a stable jetton alone. dex_trades has all legs.';
comment on column ton.daily_prices.traders is 'How many accounts made those trades of the day.';
comment on column ton.daily_prices.is_liquid is 'True if 100 trades or more by 10 accounts or more stand behind the price of the day.';
comment on column ton.daily_prices.certified is 'True if the price is made of a kept day: every dataset that feeds it is verified on the whole day.';
create or replace function etl.nanotons_each(ton numeric, ton_amount numeric, usd numeric, usd_amount numeric, ton_usd numeric) returns numeric
language sql immutable parallel safe
return (coalesce(ton, 0) + coalesce(1000000000 * usd / ton_usd, 0))
  / nullif(coalesce(ton_amount, 0) + case when ton_usd is null then 0 else coalesce(usd_amount, 0) end, 0);
comment on function etl.nanotons_each(numeric, numeric, numeric, numeric, numeric) is
  'Price of the smallest unit of an asset, nanotons: what was paid in TON and in stable jettons, divided by the amounts that it paid for. Null if no TON stands behind it.';

create or replace view etl.open_daily_legs as
select d.day, x.utime, x.dex, coalesce(o.pools[x.leg + 1], case when x.legs = 1 then x.counterparty end) as pool, x.router, x.trader,
  x.sold, x.sold_raw::numeric(38,0) as sold_raw, x.bought, x.bought_raw::numeric(38,0) as bought_raw, x.volume_ton::numeric(38,9) as volume_ton,
  etl.as_usd(coalesce(x.usd, x.volume_ton * x.ton_usd))::numeric(38,6) as volume_usd, x.leg, x.legs,
  o.referral, etl.to_numeric(o.query_id)::numeric(38,0) as query_id, x.trace_id, x.action_id, x.start_utime, o.transaction_hash, x.start_lt
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
  where l.utime >= d.starts and l.utime < d.ends) x
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
comment on view etl.open_daily_legs is 'Trades on exchanges with their value in the smallest units: what dex_trades is made of, which adds symbols and whole units.';
comment on column etl.open_daily_legs.day is 'The day of the leg, UTC: name it, and only that day is read.';
comment on column etl.open_daily_legs.utime is 'Block time, UTC, at which the trace of the leg ended.';
comment on column etl.open_daily_legs.dex is 'The exchange of the leg as the source names it, with its version.';
comment on column etl.open_daily_legs.pool is 'Account of the pool of the leg, raw form: see dex_trades.pool.';
comment on column etl.open_daily_legs.router is 'Account of the exchange that took what was given in the leg, raw form.';
comment on column etl.open_daily_legs.trader is 'Who traded in the leg, raw form.';
comment on column etl.open_daily_legs.sold is 'Asset that was given in the leg: TON, a jetton master, or null if the source does not know it.';
comment on column etl.open_daily_legs.sold_raw is 'How much was given in the leg, in the smallest units.';
comment on column etl.open_daily_legs.bought is 'Asset that was got in the leg: TON, a jetton master, or null if the source does not know it.';
comment on column etl.open_daily_legs.bought_raw is 'How much was got in the leg, in the smallest units.';
comment on column etl.open_daily_legs.volume_ton is 'Value of the leg at the prices of its hour or day, TON: see dex_trades.volume_ton.';
comment on column etl.open_daily_legs.volume_usd is 'Value of the leg at the prices of its hour or day, USD: see dex_trades.volume_usd.';
comment on column etl.open_daily_legs.leg is 'Number of the leg in its swap, from 0.';
comment on column etl.open_daily_legs.legs is 'How many legs the swap of the leg has.';
comment on column etl.open_daily_legs.referral is 'Account that the order of the leg names as its referral, raw form; null if none is known.';
comment on column etl.open_daily_legs.query_id is 'Number that the order of the leg carries; null if none is known.';
comment on column etl.open_daily_legs.trace_id is 'Trace of the leg, base64.';
comment on column etl.open_daily_legs.action_id is 'The swap of the leg within its trace, base64.';
comment on column etl.open_daily_legs.start_utime is 'Block time, UTC, of the first transaction of the swap of the leg.';
comment on column etl.open_daily_legs.transaction_hash is 'Hash of the first transaction of the swap of the leg, base64.';
comment on column etl.open_daily_legs.start_lt is 'Logical time of the first transaction of the swap of the leg.';
select etl.make_report('daily_legs');

create or replace view ton.dex_trades as
select x.utime, x.utime as block_time, x.day, etl.dex_of(x.dex) as dex, etl.dex_version_of(x.dex) as version,
  x.pool,
  x.router, x.trader, x.sold as sold_asset, etl.asset_symbol(x.sold, sm.symbol, sk.symbol) as sold_symbol,
  etl.units(x.sold_raw, etl.asset_decimals(x.sold, sm.decimals, sm.jetton_content, sk.decimals, sk.is_indexed))::numeric(38,18) as sold_amount,
  x.sold_raw as sold_amount_raw, x.bought as bought_asset, etl.asset_symbol(x.bought, bm.symbol, bk.symbol) as bought_symbol,
  etl.units(x.bought_raw, etl.asset_decimals(x.bought, bm.decimals, bm.jetton_content, bk.decimals, bk.is_indexed))::numeric(38,18) as bought_amount,
  x.bought_raw as bought_amount_raw, x.volume_ton, x.volume_usd, x.leg, x.legs,
  x.referral, x.query_id, x.trace_id, x.action_id, x.start_utime, x.transaction_hash,
  (select n.label from etl.labels n where n.address = x.trader) as trader_label, x.start_lt as lt, x.certified
from ton.daily_legs x
left join ton.jetton_masters sm on sm.address = x.sold
left join ton.token_metadata sk on sk.address = x.sold
left join ton.jetton_masters bm on bm.address = x.bought
left join ton.token_metadata bk on bk.address = x.bought;
comment on view ton.dex_trades is 'Trades on decentralized exchanges, one row for each leg: a swap that goes through several pools has a row for each of them. Amounts are in whole units, TON is one asset whatever proxy an exchange uses for it, and the volume is in TON and USD. Failed swaps are left out.';
comment on column ton.dex_trades.utime is 'Block time, UTC, at which the trace of the trade ended: give a range of it, or of day.';
comment on column ton.dex_trades.block_time is 'The same as utime, under the name that other data sets have for it.';
comment on column ton.dex_trades.day is 'The day of the trade, UTC: name it, and only that day is read.';
comment on column ton.dex_trades.dex is 'The exchange of the trade, without its version: dedust, stonfi, tonco and so on.';
comment on column ton.dex_trades.version is 'Version of the exchange, such as 2; 1 if the source names none.';
comment on column ton.dex_trades.pool is 'Account of the pool of the leg, raw form: who received the order of the exchange to swap. If no such message is known, the account of the exchange on the side of the swap that is no TON; null of a swap through several pools then.';
comment on column ton.dex_trades.router is 'Account of the exchange that took what the trader gave, raw form: a router (stonfi), a vault (dedust).';
comment on column ton.dex_trades.trader is 'Who traded, raw form.';
comment on column ton.dex_trades.sold_asset is 'Asset that the trader gave in the leg: TON, the raw address of a jetton master, or null if the source does not know it.';
comment on column ton.dex_trades.sold_symbol is 'Ticker of the asset that was sold; null if no dataset has stored it.';
comment on column ton.dex_trades.sold_amount is 'How much was sold, whole units; null if the decimals are not known.';
comment on column ton.dex_trades.sold_amount_raw is 'How much was sold, in the smallest units of the asset.';
comment on column ton.dex_trades.bought_asset is 'Asset that the trader got in the leg: TON, the raw address of a jetton master, or null if the source does not know it. Compare each side by itself: with a null, in (…) may be null, and so may its negation.';
comment on column ton.dex_trades.bought_symbol is 'Ticker of the asset that was bought; null if no dataset has stored it.';
comment on column ton.dex_trades.bought_amount is 'How much was bought, whole units; null if the decimals are not known.';
comment on column ton.dex_trades.bought_amount_raw is 'How much was bought, in the smallest units of the asset.';
comment on column ton.dex_trades.volume_ton is 'Value of the leg, TON: its TON side, else its stable side at the price of TON in that hour. If it has neither, it is what was sold, or bought, at its own price in that hour. If the hour has no price, that of the day counts. Null if there is none.';
comment on column ton.dex_trades.volume_usd is 'Value of the leg, USD: its stable side, else volume_ton at the price of TON in that hour, or on that day. Null if volume_ton is, or if no TON was traded for a stable jetton on the day.';
comment on column ton.dex_trades.leg is 'Number of the leg within its swap, from 0.';
comment on column ton.dex_trades.legs is 'How many legs the swap of the trade has.';
comment on column ton.dex_trades.referral is 'Account that the order names as its referral, raw form; null if it names none, or the server did not decode it.';
comment on column ton.dex_trades.query_id is 'Number that the order of the trade carries: bots and apps are known by it. Null if the server decoded no message of the trade that has one.';
comment on column ton.dex_trades.trace_id is 'Trace that the trade is part of, base64.';
comment on column ton.dex_trades.action_id is 'The swap of the trade within its trace, base64: with trace_id and utime it finds the row of actions.';
comment on column ton.dex_trades.start_utime is 'Block time, UTC, of the first transaction of the trade.';
comment on column ton.dex_trades.transaction_hash is 'Hash of the first transaction of the trade, base64.';
comment on column ton.dex_trades.trader_label is 'Label of the trader in labels; null if there is none.';
comment on column ton.dex_trades.lt is 'Logical time of the first transaction of the trade: order by lt, leg, and trades are in the order in which they began.';
comment on column ton.dex_trades.certified is 'True if the trade is of a kept day: every dataset that feeds it is verified on the whole day.';

create or replace view etl.supply_changes as
select n.jetton_master, n.utime, coalesce(t.lt, n.lt) as lt, n.amount
from ton.jetton_mints n
left join ton.transactions t on t.utime = n.utime and t.hash = n.tx_hash
union all
select b.jetton_master, b.utime, b.transaction_lt, -b.amount from ton.jetton_burns b where b.transaction_aborted is not true;
comment on view etl.supply_changes is 'What made more or less of a jetton: mints and burns.';
comment on column etl.supply_changes.jetton_master is 'Contract of the jetton whose supply changed, raw form.';
comment on column etl.supply_changes.utime is 'Block time, UTC, of the change of the supply.';
comment on column etl.supply_changes.lt is 'Logical time of the burn; of a mint, that of the master''s transaction, as far as it is stored.';
comment on column etl.supply_changes.amount is 'How much more there is of the jetton, below zero for a burn, in the smallest units.';

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
comment on view etl.liquidity_changes is 'Deposits into pools of exchanges and withdrawals without prices, one row each. Failed ones and refunds are left out.';
comment on column etl.liquidity_changes.utime is 'Block time, UTC, at which the trace of the change of liquidity ended.';
comment on column etl.liquidity_changes.type is 'What happened to the liquidity: deposit or withdrawal.';
comment on column etl.liquidity_changes.dex is 'The exchange of the liquidity as the source names it, with its version.';
comment on column etl.liquidity_changes.pool is 'Account of the pool whose liquidity changed, raw form.';
comment on column etl.liquidity_changes.provider is 'Who changed the liquidity, raw form: actions.source.';
comment on column etl.liquidity_changes.asset_1 is 'First asset of the change of liquidity: TON, a jetton master, or null if the source does not know it.';
comment on column etl.liquidity_changes.amount_1 is 'How much of the first asset, in the smallest units; null if the source tells none.';
comment on column etl.liquidity_changes.asset_2 is 'Second asset of the change of liquidity: TON, a jetton master, or null if the source does not know it.';
comment on column etl.liquidity_changes.amount_2 is 'How much of the second asset, in the smallest units; null if the source tells none.';
comment on column etl.liquidity_changes.lp_tokens is 'LP tokens that were minted or burned for it, in the smallest units; null if the source tells none.';
comment on column etl.liquidity_changes.position_address is 'NFT item that stands for the liquidity, raw form; null if LP tokens do.';
comment on column etl.liquidity_changes.trace_id is 'Trace that the change of liquidity is part of, base64.';
comment on column etl.liquidity_changes.action_id is 'The change of liquidity within its trace, base64.';
comment on column etl.liquidity_changes.start_utime is 'Block time, UTC, of the first transaction of the change of liquidity.';
comment on column etl.liquidity_changes.lt is 'Logical time of the last transaction of the change of liquidity.';

create or replace view ton.dex_liquidity as
select x.utime, x.utime as block_time, d.day, x.type, etl.dex_of(x.dex) as dex, etl.dex_version_of(x.dex) as version,
  x.pool, x.provider,
  x.asset_1, x.symbol_1, x.units_1::numeric(38,18) as amount_1, x.amount_1::numeric(38,0) as amount_1_raw,
  x.asset_2, x.symbol_2, x.units_2::numeric(38,18) as amount_2, x.amount_2::numeric(38,0) as amount_2_raw,
  x.lp_amount::numeric(38,18) as lp_amount, x.lp_tokens::numeric(38,0) as lp_amount_raw, x.position_address,
  case when coalesce(x.amount_1, x.amount_2) is not null then
    ton.nano_to_ton(etl.rounded(1000000000 * (case when x.amount_1 is null then 0 else x.units_1 * x.price_ton_1 end + case when x.amount_2 is null then 0 else x.units_2 * x.price_ton_2 end))) end::numeric(38,9) as value_ton,
  case when coalesce(x.amount_1, x.amount_2) is not null then
    etl.as_usd(case when x.amount_1 is null then 0 else x.units_1 * x.price_usd_1 end + case when x.amount_2 is null then 0 else x.units_2 * x.price_usd_2 end) end::numeric(38,6) as value_usd,
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
  left join ton.jetton_masters m1 on m1.address = l.asset_1
  left join ton.token_metadata k1 on k1.address = l.asset_1
  left join ton.jetton_masters m2 on m2.address = l.asset_2
  left join ton.token_metadata k2 on k2.address = l.asset_2
  left join ton.jetton_masters lm on lm.address = l.pool
  left join ton.token_metadata lk on lk.address = l.pool
  where l.utime >= d.starts and l.utime < d.ends) x;
comment on view ton.dex_liquidity is 'Deposits into pools of decentralized exchanges and withdrawals, one row each. Amounts are in whole units, TON is one asset whatever proxy an exchange uses for it, and the value is in TON and USD. Failed ones and refunds are left out.';
comment on column ton.dex_liquidity.utime is 'Block time, UTC, at which the trace of the deposit or withdrawal ended: give a range of it, or of day.';
comment on column ton.dex_liquidity.block_time is 'The same as utime of the liquidity, under the name that other data sets have for it.';
comment on column ton.dex_liquidity.day is 'The day of the deposit or withdrawal, UTC: name it, and only that day is read.';
comment on column ton.dex_liquidity.type is 'What the provider did: deposit or withdrawal.';
comment on column ton.dex_liquidity.dex is 'The exchange of the liquidity, without its version: dedust, stonfi, tonco and so on.';
comment on column ton.dex_liquidity.version is 'Version of the exchange of the liquidity, such as 2; 1 if the source names none.';
comment on column ton.dex_liquidity.pool is 'Account of the pool that got or gave the assets, raw form.';
comment on column ton.dex_liquidity.provider is 'Who deposited or withdrew, raw form.';
comment on column ton.dex_liquidity.asset_1 is 'First asset, in the order of the source: TON, the raw address of a jetton master, or null if the source does not know it.';
comment on column ton.dex_liquidity.symbol_1 is 'Ticker of the first asset of the liquidity; null if no dataset has stored it.';
comment on column ton.dex_liquidity.amount_1 is 'How much of the first asset was sent or paid back, whole units. What a vault returned of a deposit is not taken off. Null if the source tells none or the decimals are not known.';
comment on column ton.dex_liquidity.amount_1_raw is 'The same amount of the first asset in its smallest units; null if the source tells none, as of a deposit of one asset.';
comment on column ton.dex_liquidity.asset_2 is 'Second asset, in the order of the source: TON, the raw address of a jetton master, or null if the source does not know it.';
comment on column ton.dex_liquidity.symbol_2 is 'Ticker of the second asset of the liquidity; null if no dataset has stored it.';
comment on column ton.dex_liquidity.amount_2 is 'How much of the second asset was sent or paid back, whole units, as amount_1.';
comment on column ton.dex_liquidity.amount_2_raw is 'The same amount of the second asset in its smallest units; null if the source tells none.';
comment on column ton.dex_liquidity.lp_amount is 'LP tokens that were minted for the deposit or burned for the withdrawal, whole units; null if lp_amount_raw or their decimals are not known.';
comment on column ton.dex_liquidity.lp_amount_raw is 'The same LP tokens in their smallest units; null if the source tells none.';
comment on column ton.dex_liquidity.position_address is 'NFT item that stands for the liquidity instead of LP tokens (tonco), raw form; else null.';
comment on column ton.dex_liquidity.value_ton is 'What both amounts were worth at the prices of the day, TON; null if an amount that the source tells has no known asset, decimals or price.';
comment on column ton.dex_liquidity.value_usd is 'What both amounts were worth at the prices of the day, USD; null if an amount that the source tells has no known asset, decimals or price.';
comment on column ton.dex_liquidity.trace_id is 'Trace that the deposit or withdrawal is part of, base64.';
comment on column ton.dex_liquidity.action_id is 'The deposit or withdrawal within its trace, base64: with trace_id and utime it finds the row of actions.';
comment on column ton.dex_liquidity.start_utime is 'Block time, UTC, of the first transaction of the deposit or withdrawal.';
comment on column ton.dex_liquidity.lt is 'Logical time of the last transaction of the deposit or withdrawal.';
comment on column ton.dex_liquidity.provider_label is 'Label of the provider in labels; null if there is none.';

-- What pools of exchanges hold: what a look-up told, and what moved between it and the moment that is asked for.

create or replace function etl.movements_stored(known timestamptz, wanted timestamptz) returns boolean
language sql stable security definer parallel safe set search_path = pg_catalog, pg_temp as $$
  select count(*) = 3 and range_intersect_agg(c.covered) @> case
    when wanted <= known then int8range(extract(epoch from wanted)::int8, extract(epoch from known)::int8 + 1)
    else int8range(extract(epoch from known)::int8, greatest(extract(epoch from known)::int8,
      least(extract(epoch from wanted)::int8, upper(range_intersect_agg(c.covered))))) end
  from etl.coverage c where c.pass = 0 and c.scope = '' and c.dataset in ('transactions', 'jetton_transfers', 'jetton_burns')
$$;
comment on function etl.movements_stored(timestamptz, timestamptz) is
  'Whether all movements of jettons between two times are stored. If the wanted time is the later one, the last second that is stored is late enough.';

create or replace function etl.under_way(receiver text, known_lt int8, known timestamptz, kind text) returns numeric
language sql stable parallel safe security definer set search_path = pg_catalog, pg_temp begin atomic
  select coalesce(sum(etl.to_numeric(m.content_decoded->'amount'->>'value')), 0)
  from ton.transactions t join ton.messages m on m.utime = t.in_msg_utime and m.hash = t.in_msg_hash
  where t.account = receiver and t.lt > known_lt and t.utime >= known and t.utime < known + interval '1 hour'
    and t.aborted is not true and m.created_lt <= known_lt and m.opcode = kind;
end;
comment on function etl.under_way(text, int8, timestamptz, text) is
  'Sum of the amounts in messages of a kind to an account that were sent up to a transaction of the account, and arrived within the hour after it.';

-- Logical time grows as time does, to within minutes in all shards: nothing that came an hour before a transaction is later.
create or replace function etl.reserve_at(pool text, master text, moment timestamptz) returns numeric
language sql stable parallel safe security definer set search_path = pg_catalog, pg_temp set jit = off begin atomic
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
  order by s.lt desc limit 1;
end;
comment on function etl.reserve_at(text, text, timestamptz) is
  'What the jetton wallet of a pool held before a moment, in the smallest units, by the last look-up of the wallet. Null if it was not looked up, or if movements between the look-up and the moment are not stored.';

create or replace function etl.supply_at(master text, moment timestamptz) returns numeric
language sql stable parallel safe security definer set search_path = pg_catalog, pg_temp set jit = off begin atomic
  select m.total_supply - etl.under_way(m.address, s.lt, s.utime, '0x7bdd97de') - coalesce((
    select sum(case when c.utime >= moment and c.lt <= s.lt then c.amount when c.utime < moment and c.lt > s.lt then -c.amount end)
    from etl.supply_changes c where c.jetton_master = master and c.utime >= least(moment, s.utime - interval '1 hour')), 0)
  from ton.jetton_masters m
  join ton.transactions s on s.account = m.address and s.lt = m.last_transaction_lt
  where m.address = master and etl.movements_stored(s.utime, moment);
end;
comment on function etl.supply_at(text, timestamptz) is
  'How much of a jetton there was before a moment, in the smallest units, by the last look-up of its master. Null if it was not looked up, or if mints and burns between the look-up and the moment are not stored.';

create or replace view etl.open_daily_pools as
select d.day, x.dex, x.version, x.pool, x.asset_1, x.asset_2, x.pairs, x.trades, x.traders, etl.as_ton(x.volume_ton)::numeric(38,9) as volume_ton,
  etl.as_usd(x.volume_usd)::numeric(38,6) as volume_usd, etl.as_raw(x.gained_1)::numeric(38,0) as gained_1_raw, etl.as_raw(x.gained_2)::numeric(38,0) as gained_2_raw,
  etl.as_raw(x.later_1)::numeric(38,0) as later_1_raw, etl.as_raw(x.later_2)::numeric(38,0) as later_2_raw,
  case x.asset_1 when x.withdrawn_asset_1 then x.amount_1 when x.withdrawn_asset_2 then x.amount_2 end::numeric(38,0) as withdrawn_1_raw,
  case x.asset_2 when x.withdrawn_asset_1 then x.amount_1 when x.withdrawn_asset_2 then x.amount_2 end::numeric(38,0) as withdrawn_2_raw,
  x.burned::numeric(38,0) as burned_raw,
  etl.as_raw(case when x.pairs = 1 and x.asset_1 <> 'TON' then etl.reserve_at(x.pool, x.asset_1, d.ends) end)::numeric(38,0) as held_1_raw,
  etl.as_raw(case when x.pairs = 1 and x.asset_2 <> 'TON' then etl.reserve_at(x.pool, x.asset_2, d.ends) end)::numeric(38,0) as held_2_raw,
  etl.as_raw(etl.supply_at(x.pool, d.ends))::numeric(38,0) as lp_supply_raw
from etl.open_days d,
lateral (
  with withdrawals as materialized (
    -- A withdrawal is the pool's assets by the share of its LP tokens that is burned.
    select distinct on (w.pool) w.pool, w.utime, w.lp_tokens as burned, w.amount_1, w.amount_2, w.asset_1 as withdrawn_asset_1, w.asset_2 as withdrawn_asset_2
    from etl.liquidity_changes w
    where w.utime >= d.starts and w.utime < d.ends and w.type = 'withdrawal' and w.lp_tokens > 0
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
        select l.*, l.sold collate "C" < l.bought collate "C" as is_first_sold from ton.daily_legs l
        where l.day = d.day and l.pool is not null and l.sold is not null and l.bought is not null) t
      -- A full join is never a loop over all withdrawals for each leg, however few legs the planner expects.
      full join withdrawals v on v.pool = t.pool where coalesce(t.pool, '') <> '') p
    group by p.dex, p.version, p.pool, p.asset_1, p.asset_2) g
  left join withdrawals v on v.pool = g.pool) x
where d.relation = 'daily_pools';
comment on view etl.open_daily_pools is 'What each pool of an exchange traded and held on each day, UTC, in the smallest units: what dex_pools is made of, which adds symbols, whole units and worth.';
comment on column etl.open_daily_pools.day is 'The day on which the pool traded, UTC: name it, and only that day is read.';
comment on column etl.open_daily_pools.dex is 'The exchange of the pool, without its version.';
comment on column etl.open_daily_pools.version is 'Version of the exchange of the pool; 1 if the source names none.';
comment on column etl.open_daily_pools.pool is 'Account of the pool that traded, raw form: see dex_trades.pool.';
comment on column etl.open_daily_pools.asset_1 is 'First asset of the pair, the raw address of a jetton master.';
comment on column etl.open_daily_pools.asset_2 is 'Second asset of the pair: TON if the pool trades TON, else the raw address of a jetton master.';
comment on column etl.open_daily_pools.pairs is 'How many pairs of assets the pool traded on the day.';
comment on column etl.open_daily_pools.trades is 'How many legs of swaps went through the pool on the day.';
comment on column etl.open_daily_pools.traders is 'How many accounts traded with the pool on the day.';
comment on column etl.open_daily_pools.volume_ton is 'What those trades with the pool were worth, TON: see dex_trades.volume_ton.';
comment on column etl.open_daily_pools.volume_usd is 'What those trades with the pool were worth, USD: see dex_trades.volume_usd.';
comment on column etl.open_daily_pools.gained_1_raw is 'What the pool gained of the first asset, smallest units.';
comment on column etl.open_daily_pools.gained_2_raw is 'What the pool gained of the second asset, smallest units.';
comment on column etl.open_daily_pools.later_1_raw is 'What the pool gained of the first asset after the last withdrawal of liquidity on the day, smallest units.';
comment on column etl.open_daily_pools.later_2_raw is 'What the pool gained of the second asset after the last withdrawal of liquidity on the day, smallest units.';
comment on column etl.open_daily_pools.withdrawn_1_raw is 'What the last withdrawal of liquidity on the day took of the first asset, smallest units; null if there was none.';
comment on column etl.open_daily_pools.withdrawn_2_raw is 'What the last withdrawal of liquidity on the day took of the second asset, smallest units; null if there was none.';
comment on column etl.open_daily_pools.burned_raw is 'LP tokens that the last withdrawal of liquidity on the day burned, smallest units; null if there was none.';
comment on column etl.open_daily_pools.held_1_raw is 'What the pool''s own jetton wallet held of the first asset at the end of the day, smallest units. Null if its wallet was not looked up, or if movements between the look-up and then are not stored.';
comment on column etl.open_daily_pools.held_2_raw is 'What the pool''s own jetton wallet held of the second asset at the end of the day, smallest units; null as held_1_raw is.';
comment on column etl.open_daily_pools.lp_supply_raw is 'LP tokens of the pool at the end of the day, smallest units. Null if the pool was not looked up as the master of a jetton, or if mints and burns since then are not stored.';
select etl.make_report('daily_pools');

create or replace view ton.dex_pools as
select d.day, x.dex, x.version, x.pool, x.asset_1, x.symbol_1, x.asset_2, x.symbol_2, x.trades, x.traders, x.volume_ton, x.volume_usd,
  etl.units(x.gained_1_raw, x.decimals_1)::numeric(38,18) as gained_1, etl.units(x.gained_2_raw, x.decimals_2)::numeric(38,18) as gained_2,
  x.gained_1_raw, x.gained_2_raw, x.reserve_1::numeric(38,18) as reserve_1, x.reserve_2::numeric(38,18) as reserve_2,
  x.reserve_1_raw::numeric(38,0) as reserve_1_raw, x.reserve_2_raw::numeric(38,0) as reserve_2_raw,
  x.lp_supply::numeric(38,18) as lp_supply, x.supply::numeric(38,0) as lp_supply_raw,
  x.tvl_ton::numeric(38,9) as tvl_ton, etl.as_usd(x.tvl_usd)::numeric(38,6) as tvl_usd,
  etl.as_price(x.tvl_ton / nullif(x.lp_supply, 0))::numeric(38,24) as lp_price_ton,
  etl.as_price(x.tvl_usd / nullif(x.lp_supply, 0))::numeric(38,24) as lp_price_usd, x.certified
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
        from ton.daily_pools p where p.day = d.day offset 0) h
      left join ton.jetton_masters m1 on m1.address = h.asset_1
      left join ton.token_metadata k1 on k1.address = h.asset_1
      left join ton.jetton_masters m2 on m2.address = h.asset_2
      left join ton.token_metadata k2 on k2.address = h.asset_2
      left join ton.jetton_masters lm on lm.address = h.pool
      left join ton.token_metadata lk on lk.address = h.pool) u) r
  -- One row for each asset, for the same reason as in open_daily_legs.
  left join (select distinct on (p.asset) p.* from prices p) p1 on p1.asset = r.asset_1
  left join (select distinct on (p.asset) p.* from prices p) p2 on p2.asset = r.asset_2) x;
comment on view ton.dex_pools is 'What each pool of a decentralized exchange traded on each day, UTC: one row for each pool and pair of assets. An account that trades many pairs, such as a vault whose pool is not known, has a row for each. Legs whose pool or asset is not known are not here: the volume of an exchange is that of dex_trades. Fees are not here: the source tells no fee of a pool or trade. What they leave to providers is in the growth of lp_price_ton from day to day.';
comment on column ton.dex_pools.day is 'The day on which the pool traded, UTC: name it, and only that day is read.';
comment on column ton.dex_pools.dex is 'The exchange of the pool, without its version.';
comment on column ton.dex_pools.version is 'Version of the exchange of the pool; 1 if the source names none.';
comment on column ton.dex_pools.pool is 'Account of the pool that traded, raw form: see dex_trades.pool.';
comment on column ton.dex_pools.asset_1 is 'First asset of the pair, the raw address of a jetton master.';
comment on column ton.dex_pools.symbol_1 is 'Ticker of the first asset; null if no dataset has stored it.';
comment on column ton.dex_pools.asset_2 is 'Second asset of the pair: TON if the pool trades TON, else the raw address of a jetton master.';
comment on column ton.dex_pools.symbol_2 is 'Ticker of the second asset; null if no dataset has stored it.';
comment on column ton.dex_pools.trades is 'How many legs of swaps went through the pool on the day.';
comment on column ton.dex_pools.traders is 'How many accounts traded with the pool on the day.';
comment on column ton.dex_pools.volume_ton is 'What those trades with the pool were worth, TON: see dex_trades.volume_ton.';
comment on column ton.dex_pools.volume_usd is 'What those trades with the pool were worth, USD: see dex_trades.volume_usd.';
comment on column ton.dex_pools.gained_1 is 'How much of the first asset traders left in the pool, whole units; below zero if they took more.';
comment on column ton.dex_pools.gained_2 is 'How much of the second asset traders left in the pool, whole units; below zero if they took more.';
comment on column ton.dex_pools.gained_1_raw is 'What the pool gained of the first asset, smallest units.';
comment on column ton.dex_pools.gained_2_raw is 'What the pool gained of the second asset, smallest units.';
comment on column ton.dex_pools.reserve_1 is 'What the pool held of the first asset at the end of the day, whole units; null if reserve_1_raw or the decimals are not known.';
comment on column ton.dex_pools.reserve_2 is 'What the pool held of the second asset at the end of the day, whole units; null if reserve_2_raw or the decimals are not known.';
comment on column ton.dex_pools.reserve_1_raw is 'What the pool held of the first asset at the end of the day, smallest units, as last known and with the changes since. Known from the jetton wallet of the pool (jetton_wallets), if all movements between its look-up and the end of the day are stored. Else from the last withdrawal of liquidity on the day, which pays a share of the pool (lp_supply_raw says which), and the trades after it. Null if neither is known, as of a router or a vault that keeps the assets of many pools.';
comment on column ton.dex_pools.reserve_2_raw is 'What the pool held of the second asset at the end of the day, smallest units, known as reserve_1_raw is; null if it is not known.';
comment on column ton.dex_pools.lp_supply is 'LP tokens of the pool at the end of the day, whole units; null if lp_supply_raw or their decimals are not known.';
comment on column ton.dex_pools.lp_supply_raw is 'LP tokens of the pool at the end of the day, smallest units: the supply in jetton_masters, less mints and burns after the day. Null if the pool is no stored master of a jetton, as those of positions (tonco) are not. Null also if mints and burns between its look-up and the end of the day are not all stored.';
comment on column ton.dex_pools.tvl_ton is 'What both reserves were worth at the prices of the day, TON; null if a reserve or a price is not known.';
comment on column ton.dex_pools.tvl_usd is 'What both reserves were worth at the prices of the day, USD; null if a reserve or a price is not known.';
comment on column ton.dex_pools.lp_price_ton is 'Price of one whole LP token: tvl_ton by lp_supply, TON; null if one of them is not known.';
comment on column ton.dex_pools.certified is 'True if every dataset that feeds the trades of the pool is verified on the whole day, and the row was kept then; false if it is summed up now.';
comment on column ton.dex_pools.lp_price_usd is 'Price of one whole LP token: tvl_usd by lp_supply, USD; null if one of them is not known.';

create or replace view ton.staking_prices as
select d.day, x.provider, x.asset, coalesce(m.symbol, k.symbol) as symbol, x.deposits, x.withdrawals, etl.as_ton(ton.nano_to_ton(x.staked))::numeric(38,9) as staked,
  etl.as_ton(ton.nano_to_ton(x.unstaked))::numeric(38,9) as unstaked, etl.units(x.minted, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed))::numeric(38,18) as minted,
  etl.units(x.burned, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed))::numeric(38,18) as burned,
  etl.as_price(ton.nano_to_ton(x.staked + x.unstaked)
    / nullif(etl.units(x.minted + x.burned, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed)), 0))::numeric(38,24) as price_ton
from ton.days d,
lateral (
  select s.provider, s.asset, count(*) filter (where s.is_deposit) as deposits, count(*) filter (where not s.is_deposit) as withdrawals,
    coalesce(sum(s.amount) filter (where s.is_deposit), 0) as staked, coalesce(sum(s.amount) filter (where not s.is_deposit), 0) as unstaked,
    coalesce(sum(s.tokens) filter (where s.is_deposit), 0) as minted, coalesce(sum(s.tokens) filter (where not s.is_deposit), 0) as burned
  from (
    select a.details->>'provider' as provider, etl.raw_address(a.details->>'asset') as asset, a.type = 'stake_deposit' as is_deposit,
      etl.to_numeric(a.details->>'amount') as amount, etl.to_numeric(coalesce(a.details->>'tokens_minted', a.details->>'tokens_burnt')) as tokens
    from ton.actions a
    where a.utime >= d.starts and a.utime < d.ends and a.type in ('stake_deposit', 'stake_withdrawal') and a.success is not false
      -- What ethena takes is no TON.
      and (a.details->>'source_asset') is null and coalesce(a.details->>'provider', '') <> 'ethena') s
  where s.asset is not null and s.amount > 0 and s.tokens > 0
  group by s.provider, s.asset) x
left join ton.jetton_masters m on m.address = x.asset
left join ton.token_metadata k on k.address = x.asset;
comment on view ton.staking_prices is 'What a token of liquid staking was worth on each day, UTC, one row for each token. It is the TON that was staked and paid back, divided by the tokens that were minted and burned for it. Only deposits and withdrawals of which the source tells both amounts count; failed ones are left out.';
comment on column ton.staking_prices.day is 'The day of the deposits and withdrawals, UTC: name it, and only that day is read.';
comment on column ton.staking_prices.provider is 'Who stakes for the holders of the token, as the source names it: liquid_staking, bemo and so on.';
comment on column ton.staking_prices.asset is 'The token of the stake: raw address of its jetton master.';
comment on column ton.staking_prices.symbol is 'Ticker of the token of the stake; null if no dataset has stored it.';
comment on column ton.staking_prices.deposits is 'How many deposits of the day count.';
comment on column ton.staking_prices.withdrawals is 'How many withdrawals of the day count.';
comment on column ton.staking_prices.staked is 'What those deposits brought, TON.';
comment on column ton.staking_prices.unstaked is 'What those withdrawals paid back, TON.';
comment on column ton.staking_prices.minted is 'Tokens that came into being for the deposits, whole units; null if the decimals are not known.';
comment on column ton.staking_prices.burned is 'Tokens that were burned for the withdrawals, whole units; null if the decimals are not known.';
comment on column ton.staking_prices.price_ton is 'TON that one whole token stood for: staked and unstaked by minted and burned; null if the decimals are not known.';

-- Names that a person has loaded.

create or replace view ton.labels as
select l.address, l.label, l.category, l.organization from etl.labels l;
comment on view ton.labels is 'Names of accounts that a person has loaded: `labels import FILE` fills it from CSV. Join it to any address.';
comment on column ton.labels.address is 'Account that has a label, raw form.';
comment on column ton.labels.label is 'What to call the account that has the label.';
comment on column ton.labels.category is 'What kind of account it is, such as CEX, in the words of the file; null if the file says none.';
comment on column ton.labels.organization is 'Whose account it is, in the words of the file; null if the file says none.';

-- Jettons.

create or replace view ton.jetton_events as
select e.utime, e.utime as block_time, e.type, e.jetton_master, coalesce(m.symbol, k.symbol) as symbol, e.source, e.destination,
  e.jetton_wallet, etl.units(e.amount_raw, etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed))::numeric(38,18) as amount, e.amount_raw,
  e.comment, e.query_id, e.response_destination, e.forward_ton_amount::numeric(38,9) as forward_ton_amount, e.is_aborted, e.lt, e.trace_id, e.transaction_hash
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
left join ton.jetton_masters m on m.address = e.jetton_master
left join ton.token_metadata k on k.address = e.jetton_master;
comment on view ton.jetton_events is 'What happened to jettons: transfers, mints and burns in one, one row each, with amounts in whole units and comments. Jettons that stand for TON (ton_proxies) are here, too.';
comment on column ton.jetton_events.utime is 'Block time, UTC, of the transfer or burn; of a mint, when the master sent it: give a range of it.';
comment on column ton.jetton_events.block_time is 'The same as utime of the jettons'' event, under the name that other data sets have for it.';
comment on column ton.jetton_events.type is 'What happened to the jettons: transfer, mint or burn.';
comment on column ton.jetton_events.jetton_master is 'Contract of the jetton of the event, raw form.';
comment on column ton.jetton_events.symbol is 'Ticker of the jetton of the event; null if no dataset has stored it.';
comment on column ton.jetton_events.source is 'Owner that sent or burned the jettons, raw form; null for mints, or if the source does not know it.';
comment on column ton.jetton_events.destination is 'Owner that is to get the jettons, raw form; null for burns, or if the owner of the wallet is not known.';
comment on column ton.jetton_events.jetton_wallet is 'Jetton wallet of the owner that sent or burned the jettons, or that got what was minted, raw form.';
comment on column ton.jetton_events.amount is 'How many jettons, whole units; null if the decimals are not known.';
comment on column ton.jetton_events.amount_raw is 'How many jettons, in the smallest units.';
comment on column ton.jetton_events.comment is 'Text that came with a transfer; null if there was none, or the server did not decode it.';
comment on column ton.jetton_events.query_id is 'Number that the sender of the jettons chose; bots and apps are known by it.';
comment on column ton.jetton_events.response_destination is 'Account that gets what is left of the coins that were sent along, raw form; null if there is none.';
comment on column ton.jetton_events.forward_ton_amount is 'Coins that go to the destination with the notice of a transfer, TON; null for other events.';
comment on column ton.jetton_events.is_aborted is 'True if the transaction of the event failed, or the receiving jetton wallet refused the transfer.';
comment on column ton.jetton_events.lt is 'Logical time of the transfer or burn; of a mint, that of its message.';
comment on column ton.jetton_events.trace_id is 'Trace that the jettons'' event is part of, base64; null if the source did not know it.';
comment on column ton.jetton_events.transaction_hash is 'Hash of the transaction of the transfer or burn, base64; of a mint, that of the master''s.';

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
comment on view ton.jetton_metadata is 'How each jetton described itself, one row for each version: what its master says on chain, else what the indexer found. The version that holds now has no until. Changes between two readings are not here.';
comment on column ton.jetton_metadata.address is 'Master of the jetton that is described, raw form.';
comment on column ton.jetton_metadata.since is 'When the program read this version of the jetton for the first time, wall time, UTC.';
comment on column ton.jetton_metadata.until is 'When it read the next version of the jetton, wall time, UTC; null if this one holds now.';
comment on column ton.jetton_metadata.name is 'Name of the jetton while the version held; null if neither source says one.';
comment on column ton.jetton_metadata.symbol is 'Ticker of the jetton while the version held; null if neither source says one.';
comment on column ton.jetton_metadata.decimals is 'Decimal places of amounts while the version held, by the rule of jetton_units. Null if they are not known.';
comment on column ton.jetton_metadata.description is 'What the maker of the jetton said of it; null if neither source says anything.';
comment on column ton.jetton_metadata.image is 'URL of the picture of the jetton; null if neither source says one.';
comment on column ton.jetton_metadata.uri is 'Where the rest of the description of the jetton lies; null if all of it is on chain.';
comment on column ton.jetton_metadata.mintable is 'True if more of the jetton could be minted; null if jetton_masters was not read.';
comment on column ton.jetton_metadata.admin_address is 'Account that could mint and change the jetton, raw form; null if there was none, or jetton_masters was not read.';
comment on column ton.jetton_metadata.jetton_wallet_code_hash is 'Hash of the code of the wallets of the jetton, base64; null if jetton_masters was not read.';
comment on column ton.jetton_metadata.code_hash is 'Hash of the code of the master while the version held, base64; null if jetton_masters was not read.';
comment on column ton.jetton_metadata.is_nsfw is 'True if the picture of the jetton was marked as unfit; null if the server does not tell.';
comment on column ton.jetton_metadata.is_scam is 'True if the jetton was marked as fraud; null if the server does not tell.';
comment on column ton.jetton_metadata.content is 'All that the master said of itself on chain, as jetton_masters.jetton_content; null if it could not be read.';
comment on column ton.jetton_metadata.token_info is 'All that the indexer had found of the jetton; null if token_metadata was not read.';

-- Items.

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
left join ton.nft_items i on i.address = m.address and m.type = 'item';
comment on view ton.nft_metadata is 'How each NFT item and collection described itself, one row for each version: what its contract says on chain, else what the indexer found. The version that holds now has no until. Changes between two readings are not here.';
comment on column ton.nft_metadata.address is 'Item or collection that is described, raw form.';
comment on column ton.nft_metadata.type is 'What the account is that is described: item or collection.';
comment on column ton.nft_metadata.collection_address is 'Collection of the described item, raw form; null if it belongs to none, and for collections.';
comment on column ton.nft_metadata.nft_index is 'Number of the described item within its collection, as text with every digit; null for collections.';
comment on column ton.nft_metadata.since is 'When the program read this version of the item or collection for the first time, wall time, UTC.';
comment on column ton.nft_metadata.until is 'When it read the next version of the item or collection, wall time, UTC; null if this one holds now.';
comment on column ton.nft_metadata.name is 'Name of the item or collection while the version held; null if neither source says one.';
comment on column ton.nft_metadata.description is 'What the maker of the item or collection said of it; null if neither source says anything.';
comment on column ton.nft_metadata.image is 'URL of the picture of the item or collection; null if neither source says one.';
comment on column ton.nft_metadata.uri is 'Where the rest of the description of the item or collection lies; null if all of it is on chain.';
comment on column ton.nft_metadata.attributes is 'Traits of the item, a list of JSON objects; null if neither source says any.';
comment on column ton.nft_metadata.is_nsfw is 'True if the picture of the item or collection was marked as unfit; null if the server does not tell.';
comment on column ton.nft_metadata.is_scam is 'True if the item or collection was marked as fraud; null if the server does not tell.';
comment on column ton.nft_metadata.content is 'All that the contract of the item or collection said of itself on chain; null if it could not be read.';
comment on column ton.nft_metadata.token_info is 'All that the indexer had found of the item or collection; null if token_metadata was not read.';


create or replace view etl.first_bids as
select b.utime, b.trace_id, b.action_id, b.nft_address, b.nft_index, b.collection_address, b.bidder, b.amount, b.is_aborted, b.start_lt, b.end_lt
from (
  -- The bid is coins for the collection, whose next message makes the item.
  select m.*, t.source as bidder, t.amount, row_number() over (
    partition by m.utime, m.trace_id, m.action_id order by case when t.end_lt <= m.start_lt then t.end_lt else 0 end desc) as number
  from etl.mints m
  left join ton.actions t on t.utime = m.utime and t.trace_id = m.trace_id and t.type = 'ton_transfer' and t.destination = m.collection_address
  where m.is_first_bid) b
where b.number = 1;
comment on view etl.first_bids is 'First bids for domains below .ton, by indexed actions: each is coins for the collection, which makes the item.';
comment on column etl.first_bids.utime is 'Block time, UTC, at which the trace of the bid ended.';
comment on column etl.first_bids.trace_id is 'Trace of the bid, base64.';
comment on column etl.first_bids.action_id is 'The action by which the collection made the item, base64.';
comment on column etl.first_bids.nft_address is 'The item of the domain, which is its own auction, raw form.';
comment on column etl.first_bids.nft_index is 'Index of the domain''s item in its collection; null if the action lacks it.';
comment on column etl.first_bids.collection_address is 'Collection of the domains below .ton, raw form.';
comment on column etl.first_bids.bidder is 'Account that bid first, raw form; null if no action of the trace is the transfer of its coins.';
comment on column etl.first_bids.amount is 'The bid, nanotons; null as the bidder.';
comment on column etl.first_bids.is_aborted is 'True if the bid was tried and failed.';
comment on column etl.first_bids.start_lt is 'Logical time of the first transaction of the action that made the item.';
comment on column etl.first_bids.end_lt is 'Logical time of the last transaction of the action that made the item.';

create or replace view ton.nft_events as
select e.utime, e.utime as block_time, e.type, e.sale_type, e.nft_address, coalesce(e.nft_index, i.index_text) as nft_index,
  coalesce(e.collection_address, i.collection_address) as collection_address, e.previous_owner, e.owner, e.bidder,
  ton.nano_to_ton(e.price_raw)::numeric(38,9) as price, e.price_raw::numeric(38,0) as price_raw, case when e.price_raw is not null then 'TON' end as payment_asset, e.sale_address,
  e.marketplace, e.marketplace_address, etl.as_ton(ton.nano_to_ton(e.fee))::numeric(38,9) as marketplace_fee,
  ton.nano_to_ton(e.royalty)::numeric(38,9) as royalty, e.royalty_address, e.comment, e.query_id::numeric(38,0) as query_id, e.is_aborted, e.lt, e.trace_id, e.action_id, e.transaction_hash, coalesce(r.domain, q.domain) as domain
from (
  select t.utime, 'transfer' as type, null::text as sale_type, t.nft_address, null::text as nft_index, nullif(t.nft_collection, '') as collection_address,
    nullif(t.old_owner, '') as previous_owner, nullif(t.new_owner, '') as owner, null::text as bidder, null::numeric as price_raw, null::text as sale_address,
    null::text as marketplace, null::text as marketplace_address, null::numeric as fee, null::numeric as royalty, null::text as royalty_address,
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
  left join ton.nft_sales s on s.address = c.address
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
left join ton.nft_items i on i.address = e.nft_address
left join ton.dns_records r on r.nft_item_address = e.nft_address
left join ton.dns_auctions q on q.nft_item_address = e.nft_address;
comment on view ton.nft_events is 'What happened to NFT items: mints, transfers, listings, changes of price, cancellations, bids, bids that were outbid, sales and ends of auctions, one row each. What makes the item of a domain below .ton is its first bid. Price and winner of the end of an auction are known by its contract (nft_sales), if that was looked up. A sale moves its item by a transfer, which has a row of its own.';
comment on column ton.nft_events.utime is 'Block time, UTC, of the transfer; of all else, when its trace ended: give a range of it.';
comment on column ton.nft_events.block_time is 'The same as utime of the event, under the name that other data sets have for it.';
comment on column ton.nft_events.type is 'What happened: mint, transfer, listing, price change, cancel, bid, outbid, sale or auction end.';
comment on column ton.nft_events.sale_type is 'How the item is offered: sale (at a fixed price) or auction; of a sale, by its contract in nft_sales, and auction for domains and user names. Null if that does not apply or is not known.';
comment on column ton.nft_events.nft_address is 'The item of the event, raw form.';
comment on column ton.nft_events.nft_index is 'Index of the item in its collection, by the event or else by nft_items; null if neither says.';
comment on column ton.nft_events.collection_address is 'Collection of the item, raw form, by the event or else by nft_items; null if it has none or neither says.';
comment on column ton.nft_events.previous_owner is 'Who gave or sold the item, raw form; null for other events.';
comment on column ton.nft_events.owner is 'Who got the item by a transfer or sale, asked for its mint, or offers it, raw form. Null for bids, and for mints that the collection sent, whose owner is in nft_ownership.';
comment on column ton.nft_events.bidder is 'Who made the bid, or the last bid of an auction that ended, raw form; null for other events.';
comment on column ton.nft_events.price is 'Price or bid, whole units of payment_asset; of an auction that begins, its least bid, of one that ended, its last.';
comment on column ton.nft_events.price_raw is 'The same price in the smallest units, nanotons.';
comment on column ton.nft_events.payment_asset is 'What the price is of: TON, as the source tells of no other sales; null if there is no price.';
comment on column ton.nft_events.sale_address is 'Contract that offers the item or sold it, raw form; null if the source does not say.';
comment on column ton.nft_events.marketplace is 'Name of the marketplace as the source knows it, such as getgems; else null.';
comment on column ton.nft_events.marketplace_address is 'Account of the marketplace of the event, raw form; null if there is none.';
comment on column ton.nft_events.marketplace_fee is 'What the marketplace gets, TON; of a sale, what is left of the price after payout and royalty. Null if one of them is not known.';
comment on column ton.nft_events.royalty is 'What goes to the author, TON; of a sale, by the event or else by its contract in nft_sales. Null if there is none or neither says.';
comment on column ton.nft_events.royalty_address is 'Who gets the royalty, raw form; of a sale, by the event or else by its contract in nft_sales. Null if neither says.';
comment on column ton.nft_events.comment is 'Text that came with the event; null if there was none, or the server did not decode it.';
comment on column ton.nft_events.query_id is 'Number that the sender chose for the event; null if the source does not say.';
comment on column ton.nft_events.is_aborted is 'True if the event was tried and failed.';
comment on column ton.nft_events.lt is 'Logical time of the transfer; of all else, that of the last transaction of the event.';
comment on column ton.nft_events.trace_id is 'Trace that the event is part of, base64; null if the source did not know it.';
comment on column ton.nft_events.action_id is 'The action that the event is within its trace, base64; null for transfers.';
comment on column ton.nft_events.transaction_hash is 'Hash of the transaction of a transfer, base64; null for other events, whose transactions action_transactions lists.';
comment on column ton.nft_events.domain is 'Domain that the item of the event is, by dns_records or dns_auctions; null if it is none or was not looked up.';

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
comment on view ton.nft_offers is 'Offers of NFT items at a fixed price, one row for each price of an offer, from when until when it stood. The floor of a collection at a moment is the least price of the offers that stood then.';
comment on column ton.nft_offers.since is 'When the item was offered at this price, UTC: when the trace of the listing or of the change of price ended.';
comment on column ton.nft_offers.until is 'When the offer ended or its price changed, UTC; null if it stands.';
comment on column ton.nft_offers.ended_by is 'What ended the offer: sale, cancel, price change, another listing, or a transfer by which the item left it otherwise; null if it stands.';
comment on column ton.nft_offers.nft_address is 'The item that is offered, raw form.';
comment on column ton.nft_offers.collection_address is 'Collection of the offered item, raw form; null if it has none or the source does not say.';
comment on column ton.nft_offers.seller is 'Who offers the item, raw form.';
comment on column ton.nft_offers.price is 'Price of the offered item, TON.';
comment on column ton.nft_offers.price_raw is 'Price of the offered item, nanotons.';
comment on column ton.nft_offers.marketplace is 'Name of the marketplace of the offer as the source knows it, such as getgems; else null.';
comment on column ton.nft_offers.sale_address is 'Contract of the offer, raw form; null if the source does not say.';
comment on column ton.nft_offers.domain is 'Domain that the offered item is, by dns_records or dns_auctions; null if it is none or was not looked up.';
comment on column ton.nft_offers.trace_id is 'Trace in which the item was offered at this price, base64.';

-- Accounts.

create or replace view ton.account_activity as
select t.account, coalesce(l.label, b.domain) as label, l.category, coalesce(s.interfaces, b.interfaces) as interfaces,
  t.first_seen, t.last_seen, t.is_whole, t.deployed_at,
  (select m.source from ton.transactions x join ton.messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
    where x.account = t.account and x.utime = t.deployed_at and x.orig_status in ('nonexist', 'uninit') and x.end_status = 'active' order by x.lt limit 1) as deployed_by,
  -- A message that is not stored ends the search: it may have brought the first coins.
  (select m.source from ton.transactions x left join ton.messages m on m.utime = x.in_msg_utime and m.hash = x.in_msg_hash
    where x.account = t.account and x.bounce_type is distinct from 'ok'
      and (m.hash is null and x.in_msg_hash is not null or m.source is not null and m.value > 0 and m.bounced is not true)
    order by x.utime, x.lt limit 1) as first_funder,
  t.transactions, t.aborted, t.active_days, etl.as_ton(ton.nano_to_ton(t.fees))::numeric(38,9) as fees
from (
  select x.account, min(x.utime) as first_seen, max(x.utime) as last_seen, coalesce(bool_or(x.prev_trans_lt = 0), false) as is_whole,
    min(x.utime) filter (where x.orig_status in ('nonexist', 'uninit') and x.end_status = 'active') as deployed_at, count(*) as transactions,
    count(*) filter (where x.aborted) as aborted, count(distinct date_trunc('day', x.utime, 'UTC')) as active_days, sum(x.total_fees) as fees
  from ton.transactions x group by x.account) t
left join etl.labels l on l.address = t.account
left join ton.address_book b on b.address = t.account
left join ton.account_states s on s.address = t.account;
comment on view ton.account_activity is 'What each account did, as far as its transactions are stored: when it was seen, and how many transactions it had and what they cost. It also says when and by whom it was deployed and first given coins. Give one account, or expect all transactions to be read. For a few accounts of another table, join it as `cross join lateral (select * from account_activity a where a.account = t.account limit 1) a`.';
comment on column ton.account_activity.account is 'The account that was active, raw form.';
comment on column ton.account_activity.label is 'What to call the active account: its label in labels, else a domain that leads to it; null if neither is known.';
comment on column ton.account_activity.category is 'What kind of account it is by its label; null if it has none.';
comment on column ton.account_activity.interfaces is 'What kinds of contract the indexer takes the active account for; null if it was not looked up.';
comment on column ton.account_activity.first_seen is 'Block time, UTC, of the first transaction of the account that is stored.';
comment on column ton.account_activity.last_seen is 'Block time, UTC, of the last transaction of the account that is stored.';
comment on column ton.account_activity.is_whole is 'True if the very first transaction of the account is stored: then first_seen, deployed_at and first_funder are those of the chain.';
comment on column ton.account_activity.deployed_at is 'When the account was deployed, UTC: became active first, from nonexist or uninit; that a frozen account is active again does not count. Null if that is not stored.';
comment on column ton.account_activity.deployed_by is 'Who sent the message that made the account active first, raw form; null if it came from outside the chain or is not stored.';
comment on column ton.account_activity.first_funder is 'Who sent the first coins that the account kept, raw form: coins that bounced or came back do not count. Null if that is not stored.';
comment on column ton.account_activity.transactions is 'How many transactions the account had.';
comment on column ton.account_activity.aborted is 'How many of the transactions of the account are aborted: its contract did not run, or did not succeed. Coins that came without asking for a bounce are kept all the same.';
comment on column ton.account_activity.active_days is 'On how many days, UTC, the account had a transaction.';
comment on column ton.account_activity.fees is 'What validators collected for the transactions of the account, TON.';

create or replace view ton.balances as
select b.utime, b.utime as block_time, b.account, b.asset, etl.asset_symbol(b.asset, m.symbol, k.symbol) as symbol,
  etl.units(b.before_raw, etl.asset_decimals(b.asset, m.decimals, m.jetton_content, k.decimals, k.is_indexed))::numeric(38,18) as balance_before,
  etl.units(b.after_raw, etl.asset_decimals(b.asset, m.decimals, m.jetton_content, k.decimals, k.is_indexed))::numeric(38,18) as balance,
  etl.as_raw(b.before_raw)::numeric(38,0) as balance_before_raw, etl.as_raw(b.after_raw)::numeric(38,0) as balance_raw, b.lt, b.step, b.transaction_hash
from (
  select t.utime, t.account, 'TON' as asset, t.before_balance as before_raw, t.after_balance as after_raw, t.lt, 0 as step, t.hash as transaction_hash
  from ton.transactions t where t.after_balance is not null
  union all
  select j.utime, j.account, j.jetton_master, j.balance - j.amount, j.balance, j.lt, j.step, j.tx_hash
  from (
    select x.*, sum(x.amount) over (partition by x.account, x.jetton_master order by x.utime, x.lt, x.step, x.tx_hash collate "C") as balance
    from ton.jetton_movements x where x.account is not null) j) b
left join ton.jetton_masters m on m.address = b.asset
left join ton.token_metadata k on k.address = b.asset;
comment on view ton.balances is 'What each account held before and after each change, one row for each change of an asset. Balances of TON are those of the chain, balances of jettons are the sum of their movements that are stored. So a balance of jettons is the owner''s only if the jetton is stored from its first mint on, burns included. What was minted to a wallet whose owner is not known (jetton_mints.owner) is left out. If mints are missing, balances are too low, or below zero; so are those of mintless jettons, which owners claim without a mint. If neither an account nor a range is named, all that is stored is read.';
comment on column ton.balances.utime is 'Block time, UTC, of the change of the balance.';
comment on column ton.balances.block_time is 'The same as utime of the change, under the name that other data sets have for it.';
comment on column ton.balances.account is 'Account whose balance changed, raw form: of jettons their owner, not the jetton wallet.';
comment on column ton.balances.asset is 'What the balance is of: TON or the raw address of a jetton master.';
comment on column ton.balances.symbol is 'Ticker of the asset that is held; null if no dataset has stored it.';
comment on column ton.balances.balance_before is 'What the account held before the change, whole units; null if the decimals are not known.';
comment on column ton.balances.balance is 'What the account held after the change, whole units; null if the decimals are not known.';
comment on column ton.balances.balance_before_raw is 'What the account held before the change, smallest units; null if the source does not hold the state.';
comment on column ton.balances.balance_raw is 'What the account held after the change, smallest units.';
comment on column ton.balances.lt is 'Logical time of the transaction that changed the balance.';
comment on column ton.balances.step is 'Order of changes that share a logical time, from 0.';
comment on column ton.balances.transaction_hash is 'Hash of the transaction that changed the balance, base64.';

-- `rows 2`: if the planner expected hundreds of days, the estimated cost would start the JIT.
create or replace function etl.balance_days() returns table (day date, is_open boolean)
language sql stable security definer parallel safe rows 2 set search_path = pg_catalog, pg_temp as $$
  select d.day::date, coalesce(d.day >= f.day, false)
  from (select min(o.day) as day from (
      -- Days of a partition that nothing was read of are open, too.
      select o.day from etl.days_open('daily_changes') o
      where exists (select from ton.transactions t where t.utime >= o.starts and t.utime < o.ends)
        or exists (select from ton.messages t where t.utime >= o.starts and t.utime < o.ends)
        or exists (select from ton.jetton_transfers t where t.utime >= o.starts and t.utime < o.ends)
        or exists (select from ton.jetton_burns t where t.utime >= o.starts and t.utime < o.ends)
      order by o.day limit 1) o) f,
  (select least(min(k.day), (select min(t.day) from ton.days t)) as starts, greatest(max(k.day), (select (max(n.last) at time zone 'UTC')::date from (
      select max(t.utime) as last from ton.transactions t union all select max(t.utime) from ton.jetton_transfers t
      union all select max(t.utime) from ton.jetton_burns t) n)) as ends
    from etl.closed_days k where k.relation = 'daily_changes' and k.closed_at is not null) s,
  generate_series(s.starts, s.ends, interval '1 day') d (day)
$$;
comment on function etl.balance_days() is
  'Every day from the first that is stored or kept to the last, and whether it lies at or after the first day that has rows and is not kept.';

create or replace view etl.certified_changes as
with kept as not materialized (
  select k.* from etl.kept_daily_changes k
  where k.day in (select c.day from etl.closed_days c where c.relation = 'daily_changes' and c.closed_at is not null))
select k.day, k.account, k.asset, k.balance_raw, k.change_raw from kept k where k.account is not null
union all
-- Whose wallet it was has been learned after the day was kept; a day that is open knows it already.
select k.day, o.owner, k.asset, k.balance_raw, k.change_raw
from kept k,
lateral (select coalesce((select max(w.owner) from ton.jetton_wallets w where w.address = k.jetton_wallet and w.jetton = k.asset), (
    select r.source from ton.transactions s join ton.messages r on r.utime = s.in_msg_utime and r.hash = s.in_msg_hash
    where s.account = k.jetton_wallet and s.aborted is not true and r.opcode in ('0x0f8a7ea5', '0x595f07bc') limit 1)) as owner) o
where k.account is null and o.owner is not null;
comment on view etl.certified_changes is 'What changed of each account''s assets on each kept day, UTC, with the owners that were learned after the day was kept.';
comment on column etl.certified_changes.day is 'The kept day on which the balance changed, UTC.';
comment on column etl.certified_changes.account is 'Account whose balance changed on the kept day, raw form: of jettons their owner.';
comment on column etl.certified_changes.asset is 'What changed on the kept day: TON or the raw address of a jetton master.';
comment on column etl.certified_changes.balance_raw is 'What TON the account held at the end of the kept day, nanotons; null of jettons.';
comment on column etl.certified_changes.change_raw is 'By how much the jettons of the account changed on the kept day, in the smallest units; null of TON.';

create or replace view etl.balance_changes as
select c.day, c.account, c.asset, c.balance_raw, c.change_raw, true as certified from etl.certified_changes c
union all
select c.day, c.account, c.asset, c.balance_raw, c.change_raw, false from etl.open_daily_changes c where c.account is not null;
comment on view etl.balance_changes is 'What changed of each account''s assets on each day, UTC, with the owners that were learned after the day was kept.';
comment on column etl.balance_changes.day is 'The day of the change of the balance, UTC.';
comment on column etl.balance_changes.account is 'Account whose balance changed on the day, raw form: of jettons their owner.';
comment on column etl.balance_changes.asset is 'What changed on the day: TON or the raw address of a jetton master.';
comment on column etl.balance_changes.balance_raw is 'What TON the account held at the end of the day, nanotons; null of jettons.';
comment on column etl.balance_changes.change_raw is 'By how much the jettons of the account changed on the day, in the smallest units; null of TON.';
comment on column etl.balance_changes.certified is 'True if the day of the change is kept.';

create or replace view ton.daily_balances as
select b.day, b.account, b.asset, etl.asset_symbol(b.asset, m.symbol, k.symbol) as symbol,
  etl.units(b.balance_raw, etl.asset_decimals(b.asset, m.decimals, m.jetton_content, k.decimals, k.is_indexed))::numeric(38,18) as balance,
  etl.as_raw(b.balance_raw)::numeric(38,0) as balance_raw, b.day = b.changed as has_changed
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
left join ton.jetton_masters m on m.address = b.asset
left join ton.token_metadata k on k.address = b.asset;
comment on view ton.daily_balances is 'What each account held at the end of each day, UTC: the last balance is carried on over days without a change, up to the last day that is stored. Days that are kept (daily_changes) are not read again. What holds of jettons in balances holds here: what was minted to wallets whose owner is not known is left out, and jetton_holders has it.';
comment on column ton.daily_balances.day is 'The day at whose end the balance was held, UTC.';
comment on column ton.daily_balances.account is 'Account that held the balance, raw form.';
comment on column ton.daily_balances.asset is 'What was held: TON or the raw address of a jetton master.';
comment on column ton.daily_balances.symbol is 'Ticker of the asset that was held; null if no dataset has stored it.';
comment on column ton.daily_balances.balance is 'What the account held at the end of the day, whole units; null if the decimals are not known.';
comment on column ton.daily_balances.balance_raw is 'What the account held at the end of the day, smallest units.';
comment on column ton.daily_balances.has_changed is 'True on days on which the balance changed, false if it is carried on.';

-- Nominators.

create or replace view ton.nominators as
select p.address as pool_address, etl.raw_address(p.active_nominators->n.place->>'address') as nominator_address,
  etl.to_numeric(p.active_nominators->n.place->>'balance')::numeric(38,0) as balance, etl.to_numeric(p.active_nominators->n.place->>'pending_balance')::numeric(38,0) as pending_balance,
  p.loaded_at
from ton.nominator_pools p
cross join unnest(etl.positions_in(p.active_nominators)) as n (place);
comment on view ton.nominators is 'Nominators of each pool with their money in it, one row each, as it was when the pool was looked up last. nominator_events says how it became so.';
comment on column ton.nominators.pool_address is 'Nominator pool that holds the money, raw form, as in nominator_pools.';
comment on column ton.nominators.nominator_address is 'Account whose money it is, raw form.';
comment on column ton.nominators.balance is 'Money of the nominator that is at work in the pool, nanotons.';
comment on column ton.nominators.pending_balance is 'Money of the nominator that waits for the next cycle, nanotons.';
comment on column ton.nominators.loaded_at is 'When the pool was last written by the program, wall time, UTC.';

-- Vesting.

create or replace view ton.vesting_unlocks as
select v.address, v.owner_address, v.sender_address, u.unlocks_at, etl.as_ton(ton.nano_to_ton(u.unlocked - u.before))::numeric(38,9) as amount,
  etl.as_ton(ton.nano_to_ton(u.unlocked))::numeric(38,9) as unlocked
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
comment on view ton.vesting_unlocks is 'When each vesting contract lets its owner take how much, one row for each unlocking. Contracts without a period, or with 10,000 periods or more, are left out.';
comment on column ton.vesting_unlocks.address is 'Vesting contract that holds the sum, raw form, as in vesting_contracts.';
comment on column ton.vesting_unlocks.owner_address is 'Who may take what is unlocked, raw form.';
comment on column ton.vesting_unlocks.sender_address is 'Who has paid the vested sum in, raw form.';
comment on column ton.vesting_unlocks.unlocks_at is 'When the amount is unlocked, UTC; it may lie in the future.';
comment on column ton.vesting_unlocks.amount is 'How much is unlocked then, TON.';
comment on column ton.vesting_unlocks.unlocked is 'How much is unlocked from then on together, TON.';
