CREATE TABLE "etl"."kept_active_wallets" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"wallets" bigint,
	"messages" bigint,
	CONSTRAINT "kept_active_wallets_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_daily_activity" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"transactions" bigint,
	"aborted" bigint,
	"accounts" bigint,
	"messages" bigint,
	"value" numeric,
	"fees" numeric,
	"traces" bigint,
	"blocks" bigint,
	CONSTRAINT "kept_daily_activity_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_dex_volume" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"dex" text,
	"pool" text,
	"jetton_master" text,
	"swaps" bigint,
	"accounts" bigint,
	"bought" numeric,
	"sold" numeric,
	"volume" numeric,
	"jettons" numeric,
	CONSTRAINT "kept_dex_volume_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_failed_transactions" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"phase" text,
	"reason" text,
	"code" integer,
	"transactions" bigint,
	"accounts" bigint,
	"fees" numeric,
	CONSTRAINT "kept_failed_transactions_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_fees_by_part" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"storage" numeric,
	"gas" numeric,
	"action" numeric,
	"bounce" numeric,
	"import" numeric,
	"total" numeric,
	"forward" numeric,
	CONSTRAINT "kept_fees_by_part_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_hourly_activity" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"hour" timestamp with time zone,
	"transactions" bigint,
	"aborted" bigint,
	"accounts" bigint,
	"fees" numeric,
	CONSTRAINT "kept_hourly_activity_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_jetton_flows" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"jetton_master" text,
	"transfers" bigint,
	"senders" bigint,
	"receivers" bigint,
	"amount" numeric,
	"minted" numeric,
	"burned" numeric,
	CONSTRAINT "kept_jetton_flows_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_message_delays" (
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"from_workchain" integer,
	"from_shard" text,
	"to_workchain" integer,
	"to_shard" text,
	"messages" bigint,
	"mean_seconds" numeric,
	"median_seconds" numeric,
	"longest_seconds" numeric,
	CONSTRAINT "kept_message_delays_day_place_pk" PRIMARY KEY("day","place")
);
--> statement-breakpoint
-- Sums of days that have expired cannot be made again: what was kept moves. The reports must let go of the table first.
DO $$
DECLARE
  report text;
  columns text;
BEGIN
  FOREACH report IN ARRAY array['active_wallets', 'daily_activity', 'dex_volume', 'failed_transactions', 'fees_by_part',
    'hourly_activity', 'jetton_flows', 'message_delays']
  LOOP
    EXECUTE format('INSERT INTO "etl".%1$I SELECT (jsonb_populate_record(null::"etl".%1$I,
        k."row" || jsonb_build_object(''day'', k."day", ''place'', k."place"))).*
      FROM "etl"."kept_rows" k WHERE k."relation" = %2$L', 'kept_' || report, report);
    IF to_regclass('etl.open_' || report) IS NOT NULL THEN
      SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
      WHERE attrelid = ('ton.' || report)::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'certified';
      EXECUTE format('CREATE OR REPLACE VIEW "ton".%I AS SELECT %s, false AS "certified" FROM "etl".%I', report, columns, 'open_' || report);
    END IF;
  END LOOP;
END $$;
--> statement-breakpoint
DROP TABLE "etl"."kept_rows";
