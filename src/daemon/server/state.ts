/** What the database knows, the same from every process: a gauge each, with its labels and its help. */
export const STATE = {
  database_up: [
    [],
    'Whether the database answers in time: 1 or 0. A high value is good; at 0 nothing is written, or it is slow: look at Postgres, its locks, and DATABASE_URL.',
  ],
  ready: [
    [],
    'Whether everything wanted is there: 1 or 0. A high value is good; at 0 look at /ready, which says why.',
  ],
  head_age_seconds: [
    [],
    'Age of the newest masterchain block seen. High means that the source stands still or cannot be reached: look at the source’s own status, then at the log for "waiting".',
  ],
  watermark_age_seconds: [
    [],
    'Age of the time below which no row can still appear. High while the head is young means that a block or a shard is late: look at waitingFor in /status.',
  ],
  lag_seconds: [
    ['dataset'],
    'How far the end of what is covered lies behind the clock. High means that the tail does not keep up: look at toncenter_etl_budget_rate, then at toncenter_etl_head_age_seconds.',
  ],
  lag_limit_seconds: [
    ['dataset'],
    'Lag above which the dataset counts as behind: its own delay plus the tolerance. A high value is by design where a source is late; look at toncenter_etl_lag_seconds, which is held against it.',
  ],
  collection_age_seconds: [
    ['dataset', 'walk'],
    'Seconds since the source last answered a list, a look-up, a history or a sample; of what was never read, since this process began. High (above toncenter_etl_collection_age_limit_seconds) means that it is not read: look at the collections in /status, at their last error, and at the budget.',
  ],
  collection_age_limit_seconds: [
    ['dataset', 'walk'],
    'Age above which a list, look-up, history or sample that was chosen counts as not read: three of its rounds and a quarter of an hour. A high value is by design of what is read seldom; look at toncenter_etl_collection_age_seconds, which is held against it.',
  ],
  disk_free_bytes: [
    [],
    'Bytes that are free where the embedded database lies; absent for a server of your own. A high value is good; near toncenter_etl_disk_needed_bytes a crawl is about to pause: look at ETL_RETENTION and at what else fills the disk.',
  ],
  disk_needed_bytes: [
    [],
    'Bytes of ETL_MIN_FREE, below which nothing more is read. High means that it pauses early: look at toncenter_etl_disk_free_bytes.',
  ],
  lake_age_seconds: [
    [],
    'Seconds since all that was covered was in the lake of ETL_LAKE. High means that it is not written: look at toncenter_etl_lake_failing, and at the log for "the lake cannot be written".',
  ],
  lake_failing: [
    [],
    'Whether the last round of writing the lake failed: 1 or 0. High means that its place is away or full: look at the lake in /status, which says what was wrong.',
  ],
  covered_seconds: [
    ['dataset'],
    'Seconds of chain time that are stored. A high value is good; a fall means that holes were found: look at the log for "rows were deleted" or "reading holes again".',
  ],
  verified_seconds: [
    ['dataset'],
    'Seconds of chain time that were proved or cross-checked. A high value is good; far below covered means that verification is behind: look at etl.verifications.',
  ],
  missing_seconds: [
    ['dataset'],
    'Seconds since ETL_SINCE that are not stored. High during a first backfill is normal; if it stays high, the budget does not suffice: look at plan, or at toncenter_etl_refused_seconds.',
  ],
  holes: [
    ['dataset'],
    'Holes between the first and the last covered second. If it stays high, ranges cannot be read: look at etl.refused and at status.',
  ],
  refused_seconds: [
    ['dataset', 'reason'],
    'Seconds that could not be read and are tried again later. High means trouble of the kind that the reason names: look at status, which says what the source answered.',
  ],
  quarantined_records: [
    ['dataset'],
    'Records that do not fit their schema. High means that the API has changed: look at path and reason in etl.quarantine; a newer version may take them.',
  ],
  table_rows: [
    ['dataset', 'table'],
    'Rows of a table, as Postgres estimates. High means a large table: look at ETL_RETENTION and at toncenter_etl_missing_seconds for what is still to come.',
  ],
  budget_plan: [
    ['host'],
    'Requests a second that the plan allows, over all processes. High means a large plan: it must be what the key really has; look at TONCENTER_RPS.',
  ],
  budget_rate: [
    ['host'],
    'Requests a second that may be sent now, of what the plan allows. A high value (near the plan) is good; low means that the server refused: look at toncenter_etl_api_refused_total.',
  ],
  budget_paused_seconds: [
    ['host'],
    'Seconds for which no requests are sent, because the server asked for a pause. High means Retry-After or a run of 429: look at status for the last refusal.',
  ],
  budget_spent: [
    ['host', 'worker', 'priority'],
    'Requests in the last whole minute by process and purpose. High for one process means that it uses up the budget: look at what it reads in etl.leases.',
  ],
  waiting_requests: [
    ['worker', 'priority'],
    'Requests that wait for the budget. High is normal in a backfill; high for tail means that the plan is too small for the freshness wanted: look at ETL_FRESHNESS and ETL_DATASETS.',
  ],
} as const satisfies Record<string, readonly [readonly string[], string]>;
