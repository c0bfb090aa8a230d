CREATE TABLE "etl"."closed_days" (
	"relation" text NOT NULL,
	"day" date NOT NULL,
	"definition" text NOT NULL,
	"begun_at" timestamp with time zone DEFAULT now() NOT NULL,
	"closed_at" timestamp with time zone,
	CONSTRAINT "closed_days_relation_day_pk" PRIMARY KEY("relation","day")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_rows" (
	"relation" text NOT NULL,
	"day" date NOT NULL,
	"place" integer NOT NULL,
	"row" jsonb NOT NULL,
	CONSTRAINT "kept_rows_relation_day_place_pk" PRIMARY KEY("relation","day","place")
);
