select d.day, t.dex, t.version, count(*) as trades, count(distinct t.trader) as traders, sum(t.volume_ton) as volume_ton,
  sum(t.volume_usd) as volume_usd, count(*) filter (where t.volume_ton is null) as trades_without_price, d.certified, now() as built_at
from ({{ days_to_build('hourly_trades') }}) d
join {{ source('ton', 'dex_trades') }} t on t.day = d.day
group by d.day, d.certified, t.dex, t.version
