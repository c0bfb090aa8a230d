CREATE TABLE "etl"."budget" (
	"host" text PRIMARY KEY NOT NULL,
	"rps" double precision NOT NULL,
	"free_at" double precision NOT NULL,
	"tail_free_at" double precision DEFAULT 0 NOT NULL,
	"asked_at" double precision[] DEFAULT '{0,0,0,0}' NOT NULL,
	"line_at" double precision[] DEFAULT '{0,0,0,0}' NOT NULL,
	"factor" double precision DEFAULT 1 NOT NULL,
	"refused_factor" double precision,
	"slack" double precision NOT NULL,
	"generation" bigint DEFAULT 1 NOT NULL,
	"refusals" bigint DEFAULT 0 NOT NULL,
	"relapses" integer DEFAULT 0 NOT NULL,
	"refused_at" double precision DEFAULT 0 NOT NULL,
	"resumed_at" double precision DEFAULT 0 NOT NULL,
	"server_started_at" double precision NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."spending" (
	"host" text NOT NULL,
	"minute" timestamp with time zone NOT NULL,
	"worker" text NOT NULL,
	"priority" text NOT NULL,
	"requests" integer NOT NULL,
	CONSTRAINT "spending_host_minute_worker_priority_pk" PRIMARY KEY("host","minute","worker","priority")
);
--> statement-breakpoint
CREATE TABLE "etl"."workers" (
	"worker" text PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"waiting" jsonb NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
-- One row that is updated many times a second: room in its page keeps every new version there, out of the index, and
-- lets the next update clear the old ones away.
ALTER TABLE "etl"."budget" SET (fillfactor = 10, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 100000);
