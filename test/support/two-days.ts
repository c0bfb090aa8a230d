/** Two days of UTC, two months, two partitions; one day of Tokyo, the analyst's time zone. */
export const twoDays = {
  name: 'two_days',
  options: {
    seed: 5,
    start: Date.UTC(2026, 0, 31, 23, 25) / 1000,
    duration: 4200,
    load: 1.1,
    accounts: 120,
    electionSeconds: 600,
    refusals: 0.02,
  },
} as const;
