/** Seconds by which requests lie apart, at least, beyond what the plan asks: `etl.least_slack()` in `budget.sql`. */
export const LEAST_SLACK_SECONDS = 0.03;
