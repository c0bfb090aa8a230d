select p.*, now() as built_at
from ({{ days_to_build('daily_trades') }}) d
join {{ source('ton', 'daily_prices') }} p on p.day = d.day
