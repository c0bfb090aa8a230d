select d.day, t.trader, max(t.trader_label) as label, count(*) as trades, sum(t.volume_ton) as volume_ton, sum(t.volume_usd) as volume_usd,
  d.certified, now() as built_at
from ({{ days_to_build('hourly_trades') }}) d
join {{ source('ton', 'dex_trades') }} t on t.day = d.day
group by d.day, d.certified, t.trader
