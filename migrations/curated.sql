-- Curated views: what analysts ask for most, with decimals applied, symbols joined and TON as one asset. Applied after
-- analyst.sql, in the same transaction, by the same rules; over a lake the same definitions serve DuckDB.
-- An asset is 'TON', the raw address of a jetton master, or null where the source does not know it.

create or replace function etl.units(amount numeric, decimals int) returns numeric
language sql immutable parallel safe
return amount * etl.to_numeric('1e-' || decimals);
comment on function etl.units(numeric, int) is
  'An amount in whole units, exact; null where the decimals are null or no number can have so many.';

create or replace function etl.rounded(amount numeric) returns numeric language sql immutable parallel safe return round(amount);
comment on function etl.rounded(numeric) is 'An amount that was calculated, as a whole number of smallest units.';

create or replace function etl.as_price(price numeric) returns numeric language sql immutable parallel safe return round(price, 18);
comment on function etl.as_price(numeric) is 'A price that was calculated, with eighteen decimals.';

create or replace function etl.as_usd(amount numeric) returns numeric language sql immutable parallel safe return round(amount, 6);
comment on function etl.as_usd(numeric) is 'An amount of dollars that was calculated, with six decimals.';

create or replace function etl.decimals_of(own int, content jsonb, found int, is_indexed boolean) returns int
language sql immutable parallel safe
return coalesce(own, found, case when is_indexed or jsonb_typeof(content) = 'object' and (content->>'uri') is null then 9 end);
comment on function etl.decimals_of(int, jsonb, int, boolean) is
  'Decimals of a jetton by its master, else by the indexer''s metadata, else 9 where one of them is whole and says none, as wallets do; null where what lies off chain is not known.';

-- Trades.

create or replace function etl.asset_of(dex text, word text) returns text
language sql immutable parallel safe
return case
  -- The source gives no address for TON; of the first version of STON.fi it gives none for a jetton that it does not know.
  when word is null then case when dex = 'stonfi' then null else 'TON' end
  when etl.raw_address(word) in (
    '0:0000000000000000000000000000000000000000000000000000000000000000',
    '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C',
    '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3',
    '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E',
    '0:D0A1CE4CDC187C79615EA618BD6C29617AF7A56D966F5A192A768F345EE63FD2') then 'TON'
  else etl.raw_address(word)
end;
comment on function etl.asset_of(text, text) is
  'The asset that an exchange''s action names: TON for TON itself and for its proxies, a jetton''s raw address, or null where it is not known.';

create or replace function etl.hops_of(details jsonb) returns int[]
language sql immutable parallel safe
return case
  when jsonb_typeof(details->'peer_swaps') = 'array' and jsonb_array_length(details->'peer_swaps') > 0
    then array(select generate_series(0, jsonb_array_length(details->'peer_swaps') - 1))
  else array[0]
end;
comment on function etl.hops_of(jsonb) is
  'Numbers of the legs of a swap, from 0: one for each pool that it goes through.';

create or replace function etl.referral_in(decoded text) returns text
language sql immutable parallel safe
return '0:' || substring(decoded from '"ref(?:erral)?_address": \{(?:"@type": "just", "value": \{)?"@type": "addr_std", "address": "([0-9A-F]{64})"');
comment on function etl.referral_in(text) is
  'The account that a decoded body names as the referral of a trade, raw form; null where it names none.';

create or replace view etl.dex_legs as
select a.utime, a.start_utime, a.trace_id, a.action_id, a.start_lt, x.leg, cardinality(a.hops) as legs, x.dex, x.router, x.counterparty,
  a.source as trader, x.sold, x.sold_raw, x.bought, x.bought_raw
from (
  select t.*, etl.hops_of(t.details) as hops from ton.actions t where t.type = 'jetton_swap' and t.success is not false) a,
lateral (
  -- Taken apart once for all who ask.
  select h.leg, h.dex, etl.raw_address(coalesce(h.taker, h.giver)) as router,
    etl.raw_address(case when h.taken = 'TON' then h.giver else h.taker end) as counterparty,
    etl.asset_of(h.dex, h.asset_in) as sold, etl.to_numeric(h.amount_in) as sold_raw,
    etl.asset_of(h.dex, h.asset_out) as bought, etl.to_numeric(h.amount_out) as bought_raw
  from (
    select p.leg, a.details->>'dex' as dex, a.details->'dex_incoming_transfer'->>'destination' as taker,
      a.details->'dex_outgoing_transfer'->>'source' as giver, etl.asset_of(a.details->>'dex', a.details->>'asset_in') as taken,
      case when p.hop is null then a.details->>'asset_in' else p.hop->>'asset_in' end as asset_in,
      case when p.hop is null then a.details->'dex_incoming_transfer'->>'amount' else p.hop->>'amount_in' end as amount_in,
      case when p.hop is null then a.details->>'asset_out' else p.hop->>'asset_out' end as asset_out,
      case when p.hop is null then a.details->'dex_outgoing_transfer'->>'amount' else p.hop->>'amount_out' end as amount_out
    from (select u.leg, a.details->'peer_swaps'->u.leg as hop from unnest(a.hops) as u (leg)) p) h offset 0) x;
comment on view etl.dex_legs is 'Trades on exchanges without prices: one row for each pool that a successful swap goes through.';
comment on column etl.dex_legs.utime is 'block time, UTC, at which the trace of the swap ended.';
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
comment on column etl.dex_legs.sold_raw is 'How much was given, in the smallest units; null where that is no number.';
comment on column etl.dex_legs.bought is 'Asset that was got in the leg.';
comment on column etl.dex_legs.bought_raw is 'How much was got, in the smallest units; null where that is no number.';

create or replace view etl.action_messages as
select a.utime, a.trace_id, a.action_id, t.utime as transaction_utime, t.lt, m.source, m.destination, m.created_lt, m.opcode, m.content_decoded,
  f.decoded_forward_payload as forwarded
from ton.action_transactions a
join ton.transactions t on t.hash = a.tx_hash
join ton.messages m on m.utime = t.in_msg_utime and m.hash = t.in_msg_hash
left join ton.jetton_transfers f on f.utime = t.utime and f.transaction_lt = t.lt and f.transaction_hash = t.hash;
comment on view etl.action_messages is 'The messages that started the transactions of each action.';
comment on column etl.action_messages.utime is 'block time, UTC, at which the trace of the action ended.';
comment on column etl.action_messages.trace_id is 'Trace that the action is part of, base64.';
comment on column etl.action_messages.action_id is 'The action within its trace, base64.';
comment on column etl.action_messages.transaction_utime is 'block time, UTC, of the transaction that the message started: give a range of it.';
comment on column etl.action_messages.lt is 'Logical time of the transaction that the message started.';
comment on column etl.action_messages.source is 'Account that sent the message of the action, raw form; null from outside the chain.';
comment on column etl.action_messages.destination is 'Account that received the message of the action, raw form.';
comment on column etl.action_messages.created_lt is 'Logical time at which the message of the action was created.';
comment on column etl.action_messages.opcode is 'First 32 bits of the body of the message of the action.';
comment on column etl.action_messages.content_decoded is 'What the decoder of the server made of the body of the message of the action.';
comment on column etl.action_messages.forwarded is 'What the decoder made of the payload that a transfer of jettons forwards; null for other messages.';

-- What is worth something by itself: TON, and what somebody keeps at a dollar.
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
comment on column etl.asset_trades.utime is 'block time, UTC, at which the trace of the trade ended.';
comment on column etl.asset_trades.trader is 'Who traded, raw form.';
comment on column etl.asset_trades.asset is 'The asset that was paid for: TON or a jetton master.';
comment on column etl.asset_trades.amount is 'How much of the asset changed hands, in its smallest units.';
comment on column etl.asset_trades.ton is 'What was paid, nanotons; null where it was a stable jetton.';
comment on column etl.asset_trades.usd is 'What was paid in a stable jetton, whole units; null where it was TON.';

create or replace view etl.open_hourly_trades as
select d.day, t.hour, t.asset, t.trades, t.traders, t.ton, t.ton_amount, t.usd, t.usd_amount, t.ton_usd
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
comment on column etl.open_hourly_trades.trades is 'How many legs of swaps traded it in the hour.';
comment on column etl.open_hourly_trades.traders is 'How many accounts traded it in the hour.';
comment on column etl.open_hourly_trades.ton is 'TON that was paid for it in the hour, nanotons.';
comment on column etl.open_hourly_trades.ton_amount is 'How much of it that TON paid for, in its smallest units.';
comment on column etl.open_hourly_trades.usd is 'Stable jettons that were paid for it in the hour, whole units.';
comment on column etl.open_hourly_trades.usd_amount is 'How much of it those stable jettons paid for, in its smallest units.';
comment on column etl.open_hourly_trades.ton_usd is 'Price of a TON in USD in the hour, else on the day; null where no TON was traded for a stable jetton.';

create or replace view etl.open_daily_trades as
select d.day, t.asset, t.trades, t.traders, t.ton, t.ton_amount, t.usd, t.usd_amount, t.ton_usd
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
comment on column etl.open_daily_trades.trades is 'How many legs of swaps traded it in the day.';
comment on column etl.open_daily_trades.traders is 'How many accounts traded it in the day.';
comment on column etl.open_daily_trades.ton is 'TON that was paid for it in the day, nanotons.';
comment on column etl.open_daily_trades.ton_amount is 'How much of it that TON paid for, in its smallest units.';
comment on column etl.open_daily_trades.usd is 'Stable jettons that were paid for it in the day, whole units.';
comment on column etl.open_daily_trades.usd_amount is 'How much of it those stable jettons paid for, in its smallest units.';
comment on column etl.open_daily_trades.ton_usd is 'Price of a TON in USD in the day; null where no TON was traded for a stable jetton.';

-- The reports themselves: closed days as they were kept, open ones as they are now.

do $$
declare
  report name;
  said record;
begin
  for report in select * from etl.reports_by_day() loop
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
      'True where every dataset that feeds the row is verified on the whole day, and the row was kept then; false where it is summed up now.');
    -- What was kept under another definition is summed up again, as far as its rows are still there.
    execute format('delete from etl.closed_days c using ton.days d where c.relation = %1$L and d.day = c.day
      and c.definition <> md5(pg_get_viewdef(%2$L::regclass))', report, 'etl.open_' || report);
  end loop;
end $$;


-- Prices are per whole unit.

create or replace view ton.hourly_prices as
select p.day, p.hour, p.asset, p.symbol, case when p.asset = 'TON' then 1 else etl.as_price(p.worth_ton / p.priced) end as price_ton,
  etl.as_price(case when p.worth_ton is null then p.usd / p.usd_units else p.worth_ton / p.priced * p.ton_usd end) as price_usd,
  p.worth_ton as volume_ton, etl.as_usd(coalesce(p.worth_ton * p.ton_usd, p.usd)) as volume_usd, p.trades, p.traders,
  p.trades >= 100 and p.traders >= 10 as is_liquid, p.certified
from (
  select r.*, etl.units(r.usd_amount, r.decimals) as usd_units,
    case when r.ton is not null or r.ton_usd is not null then ton.nano_to_ton(coalesce(r.ton, 0) + coalesce(etl.rounded(1000000000 * r.usd / r.ton_usd), 0)) end as worth_ton,
    etl.units(coalesce(r.ton_amount, 0) + case when r.ton_usd is null then 0 else coalesce(r.usd_amount, 0) end, r.decimals) as priced
  from (
    select h.*, coalesce(s.decimals, case when h.asset = 'TON' then 9
        else etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed) end) as decimals,
      case when h.asset = 'TON' then 'TON' else coalesce(m.symbol, k.symbol, s.symbol) end as symbol
    from ton.hourly_trades h
    left join ton.jetton_masters m on m.address = h.asset
    left join ton.token_metadata k on k.address = h.asset
    left join etl.stable_jettons s on s.address = h.asset) r) p;
comment on view ton.hourly_prices is 'What a whole unit of each asset cost in each hour, in TON and in USD: the mean of all trades against TON and against stable jettons (etl.stable_jettons), weighted by their volume. An asset that was not traded against them has no row.';
comment on column ton.hourly_prices.day is 'The day of the price, UTC: name it, and only that day is read.';
comment on column ton.hourly_prices.hour is 'First moment of the hour whose trades make the price.';
comment on column ton.hourly_prices.asset is 'The asset that has the price: TON or the raw address of a jetton master.';
comment on column ton.hourly_prices.symbol is 'Ticker of the asset; null where no dataset has stored it.';
comment on column ton.hourly_prices.price_ton is 'Price of one whole unit in the hour, TON; null where the decimals of the asset are not known, or no TON stands behind it.';
comment on column ton.hourly_prices.price_usd is 'Price of one whole unit in the hour, USD; null where the decimals are not known, or no stable jetton stands behind it.';
comment on column ton.hourly_prices.volume_ton is 'What was paid for the asset in the hour, TON: stable jettons at the price of TON.';
comment on column ton.hourly_prices.volume_usd is 'What was paid for the asset in the hour, USD: TON at its own price.';
comment on column ton.hourly_prices.trades is 'How many legs of swaps the price of the hour is made of.';
comment on column ton.hourly_prices.traders is 'How many accounts made those trades of the hour.';
comment on column ton.hourly_prices.is_liquid is 'True where 100 trades or more by 10 accounts or more stand behind the price of the hour.';
comment on column ton.hourly_prices.certified is 'True where the price is made of a kept day: every dataset that feeds it is verified on the whole day.';

create or replace view ton.daily_prices as
select p.day, p.asset, p.symbol, case when p.asset = 'TON' then 1 else etl.as_price(p.worth_ton / p.priced) end as price_ton,
  etl.as_price(case when p.worth_ton is null then p.usd / p.usd_units else p.worth_ton / p.priced * p.ton_usd end) as price_usd,
  p.worth_ton as volume_ton, etl.as_usd(coalesce(p.worth_ton * p.ton_usd, p.usd)) as volume_usd, p.trades, p.traders,
  p.trades >= 100 and p.traders >= 10 as is_liquid, p.certified
from (
  select r.*, etl.units(r.usd_amount, r.decimals) as usd_units,
    case when r.ton is not null or r.ton_usd is not null then ton.nano_to_ton(coalesce(r.ton, 0) + coalesce(etl.rounded(1000000000 * r.usd / r.ton_usd), 0)) end as worth_ton,
    etl.units(coalesce(r.ton_amount, 0) + case when r.ton_usd is null then 0 else coalesce(r.usd_amount, 0) end, r.decimals) as priced
  from (
    select h.*, coalesce(s.decimals, case when h.asset = 'TON' then 9
        else etl.decimals_of(m.decimals, m.jetton_content, k.decimals, k.is_indexed) end) as decimals,
      case when h.asset = 'TON' then 'TON' else coalesce(m.symbol, k.symbol, s.symbol) end as symbol
    from ton.daily_trades h
    left join ton.jetton_masters m on m.address = h.asset
    left join ton.token_metadata k on k.address = h.asset
    left join etl.stable_jettons s on s.address = h.asset) r) p;
comment on view ton.daily_prices is 'What a whole unit of each asset cost on each day, UTC, in TON and in USD: the mean of all trades against TON and against stable jettons (etl.stable_jettons), weighted by their volume. An asset that was not traded against them has no row.';
comment on column ton.daily_prices.day is 'The day of the price, UTC.';
comment on column ton.daily_prices.asset is 'The asset that has the price: TON or the raw address of a jetton master.';
comment on column ton.daily_prices.symbol is 'Ticker of the asset; null where no dataset has stored it.';
comment on column ton.daily_prices.price_ton is 'Price of one whole unit in the day, TON; null where the decimals of the asset are not known, or no TON stands behind it.';
comment on column ton.daily_prices.price_usd is 'Price of one whole unit in the day, USD; null where the decimals are not known, or no stable jetton stands behind it.';
comment on column ton.daily_prices.volume_ton is 'What was paid for the asset in the day, TON: stable jettons at the price of TON.';
comment on column ton.daily_prices.volume_usd is 'What was paid for the asset in the day, USD: TON at its own price.';
comment on column ton.daily_prices.trades is 'How many legs of swaps the price of the day is made of.';
comment on column ton.daily_prices.traders is 'How many accounts made those trades of the day.';
comment on column ton.daily_prices.is_liquid is 'True where 100 trades or more by 10 accounts or more stand behind the price of the day.';
comment on column ton.daily_prices.certified is 'True where the price is made of a kept day: every dataset that feeds it is verified on the whole day.';
create or replace view ton.dex_trades as
select x.utime, x.utime as block_time, d.day, regexp_replace(x.dex, '_v[0-9]+$', '') as dex,
  coalesce(nullif(substr(x.dex, length(regexp_replace(x.dex, '_v[0-9]+$', '')) + 3), ''), '1') as version,
  coalesce((
    select array_agg(p.destination order by p.created_lt) from etl.action_messages p
    where p.utime = x.utime and p.trace_id = x.trace_id and p.action_id = x.action_id and p.transaction_utime between x.start_utime and x.utime
      and p.opcode in ('0x25938561', '0x6664de2a', '0x61ee542d', '0x72aca8aa', '0xa7fb58f8', '0xc0ffee20'))[x.leg + 1],
    case when x.legs = 1 then x.counterparty end) as pool,
  x.router, x.trader, x.sold as sold_asset, case when x.sold = 'TON' then 'TON' else coalesce(sm.symbol, sk.symbol) end as sold_symbol,
  etl.units(x.sold_raw, case when x.sold = 'TON' then 9 else etl.decimals_of(sm.decimals, sm.jetton_content, sk.decimals, sk.is_indexed) end) as sold_amount,
  x.sold_raw as sold_amount_raw, x.bought as bought_asset, case when x.bought = 'TON' then 'TON' else coalesce(bm.symbol, bk.symbol) end as bought_symbol,
  etl.units(x.bought_raw, case when x.bought = 'TON' then 9 else etl.decimals_of(bm.decimals, bm.jetton_content, bk.decimals, bk.is_indexed) end) as bought_amount,
  x.bought_raw as bought_amount_raw, x.volume_ton, etl.as_usd(coalesce(x.usd, x.volume_ton * x.ton_usd)) as volume_usd, x.leg, x.legs,
  (select max(coalesce(etl.referral_in(p.content_decoded::text), etl.referral_in(p.forwarded::text))) from etl.action_messages p
    where p.utime = x.utime and p.trace_id = x.trace_id and p.action_id = x.action_id and p.transaction_utime between x.start_utime and x.utime) as referral,
  etl.to_numeric((select array_agg((p.content_decoded->>'query_id') order by p.lt) from etl.action_messages p
    where p.utime = x.utime and p.trace_id = x.trace_id and p.action_id = x.action_id and p.transaction_utime between x.start_utime and x.utime
      and (p.content_decoded->>'query_id') is not null)[1]) as query_id,
  x.trace_id, x.action_id, x.start_utime,
  (select max(t.hash) from ton.action_transactions p join ton.transactions t on t.hash = p.tx_hash and t.lt = x.start_lt and t.utime = x.start_utime
    where p.utime = x.utime and p.trace_id = x.trace_id and p.action_id = x.action_id) as transaction_hash
from ton.days d,
lateral (
  with prices as materialized (
    select p.hour, p.asset, p.ton_usd, (coalesce(p.ton, 0) + coalesce(1000000000 * p.usd / p.ton_usd, 0))
      / nullif(coalesce(p.ton_amount, 0) + case when p.ton_usd is null then 0 else coalesce(p.usd_amount, 0) end, 0) as price
    from ton.hourly_trades p where p.day = d.day)
  select l.*, coalesce(etl.units(l.sold_raw, ss.decimals), etl.units(l.bought_raw, bs.decimals)) as usd, coalesce(sp.ton_usd, bp.ton_usd) as ton_usd,
    ton.nano_to_ton(coalesce(case when l.sold = 'TON' then l.sold_raw when l.bought = 'TON' then l.bought_raw end,
      etl.rounded(1000000000 * coalesce(etl.units(l.sold_raw, ss.decimals), etl.units(l.bought_raw, bs.decimals)) / coalesce(sp.ton_usd, bp.ton_usd)),
      etl.rounded(coalesce(l.sold_raw * sp.price, l.bought_raw * bp.price)))) as volume_ton
  from etl.dex_legs l
  left join prices sp on sp.asset = l.sold and sp.hour = date_trunc('hour', l.utime, 'UTC')
  left join prices bp on bp.asset = l.bought and bp.hour = date_trunc('hour', l.utime, 'UTC')
  left join etl.stable_jettons ss on ss.address = l.sold
  left join etl.stable_jettons bs on bs.address = l.bought
  where l.utime >= d.starts and l.utime < d.ends) x
left join ton.jetton_masters sm on sm.address = x.sold
left join ton.token_metadata sk on sk.address = x.sold
left join ton.jetton_masters bm on bm.address = x.bought
left join ton.token_metadata bk on bk.address = x.bought;
comment on view ton.dex_trades is 'Trades on decentralized exchanges, one row for each leg: a swap that goes through several pools has a row for each of them. Amounts are in whole units, TON is one asset whatever proxy an exchange uses for it, and the volume is in TON and USD. Failed swaps are left out.';
comment on column ton.dex_trades.utime is 'block time, UTC, at which the trace of the trade ended: give a range of it, or of day.';
comment on column ton.dex_trades.block_time is 'The same as utime, under the name that other data sets have for it.';
comment on column ton.dex_trades.day is 'The day of the trade, UTC: name it, and only that day is read.';
comment on column ton.dex_trades.dex is 'The exchange of the trade, without its version: dedust, stonfi, tonco and so on.';
comment on column ton.dex_trades.version is 'Version of the exchange, such as 2; 1 where the source names none.';
comment on column ton.dex_trades.pool is 'Account of the pool of the leg, raw form: who received the order of the exchange to swap. Where no such message is known, the account of the exchange on the side of the swap that is no TON; null of a swap through several pools then.';
comment on column ton.dex_trades.router is 'Account of the exchange that took what the trader gave, raw form: a router (stonfi), a vault (dedust).';
comment on column ton.dex_trades.trader is 'Who traded, raw form.';
comment on column ton.dex_trades.sold_asset is 'Asset that the trader gave in the leg: TON, the raw address of a jetton master, or null where the source does not know it.';
comment on column ton.dex_trades.sold_symbol is 'Ticker of the asset that was sold; null where no dataset has stored it.';
comment on column ton.dex_trades.sold_amount is 'How much was sold, whole units; null where the decimals are not known.';
comment on column ton.dex_trades.sold_amount_raw is 'How much was sold, in the smallest units of the asset.';
comment on column ton.dex_trades.bought_asset is 'Asset that the trader got in the leg: TON, the raw address of a jetton master, or null where the source does not know it.';
comment on column ton.dex_trades.bought_symbol is 'Ticker of the asset that was bought; null where no dataset has stored it.';
comment on column ton.dex_trades.bought_amount is 'How much was bought, whole units; null where the decimals are not known.';
comment on column ton.dex_trades.bought_amount_raw is 'How much was bought, in the smallest units of the asset.';
comment on column ton.dex_trades.volume_ton is 'Value of the leg, TON: its TON side; else its stable side at the price of TON in that hour; else what was sold, or bought, at its own price in that hour. Null where there is no such price.';
comment on column ton.dex_trades.volume_usd is 'Value of the leg, USD: its stable side, else volume_ton at the price of TON in that hour, or on that day. Null where no TON was traded for a stable jetton on the day.';
comment on column ton.dex_trades.leg is 'Number of the leg within its swap, from 0.';
comment on column ton.dex_trades.legs is 'How many legs the swap of the trade has.';
comment on column ton.dex_trades.referral is 'Account that the order names as its referral, raw form; null where it names none, or the server did not decode it.';
comment on column ton.dex_trades.query_id is 'Number that the order of the trade carries: bots and apps are known by it. Null where the server decoded no message of the trade that has one.';
comment on column ton.dex_trades.trace_id is 'Trace that the trade is part of, base64.';
comment on column ton.dex_trades.action_id is 'The swap of the trade within its trace, base64: with trace_id and utime it finds the row of actions.';
comment on column ton.dex_trades.start_utime is 'Block time, UTC, of the first transaction of the trade.';
comment on column ton.dex_trades.transaction_hash is 'Hash of the first transaction of the trade, base64.';
