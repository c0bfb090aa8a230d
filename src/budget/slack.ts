/** Minimum number of seconds between requests beyond the plan's spacing: `etl.least_slack()` in `budget.sql`. */
export const LEAST_SLACK_SECONDS = 0.03;
