CREATE TABLE "etl"."grades" (
	"dataset" text PRIMARY KEY NOT NULL,
	"grade" text NOT NULL,
	"proves" text NOT NULL,
	"blind_to" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."holes" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"pass" smallint DEFAULT 0 NOT NULL,
	"span" "int8range" NOT NULL,
	"reason" text NOT NULL,
	"detail" text DEFAULT '' NOT NULL,
	"rounds" integer DEFAULT 1 NOT NULL,
	"found_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_at" timestamp with time zone DEFAULT now() NOT NULL,
	"retry_at" timestamp with time zone NOT NULL,
	CONSTRAINT "holes_dataset_scope_pass_span_pk" PRIMARY KEY("dataset","scope","pass","span")
);
--> statement-breakpoint
CREATE TABLE "etl"."receipts" (
	"table_name" text NOT NULL,
	"minute" bigint NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "etl"."receipts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"rows" integer NOT NULL,
	"keys" numeric NOT NULL,
	CONSTRAINT "receipts_table_name_minute_id_pk" PRIMARY KEY("table_name","minute","id")
);
--> statement-breakpoint
CREATE TABLE "etl"."verifications" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "etl"."verifications_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"span" "int8range" NOT NULL,
	"check_name" text NOT NULL,
	"rows" bigint NOT NULL,
	"findings" integer NOT NULL,
	"holes" "int8multirange" DEFAULT '{}' NOT NULL,
	"detail" text DEFAULT '' NOT NULL,
	"requests" integer DEFAULT 0 NOT NULL,
	"ms" integer NOT NULL,
	"verified_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "verifications_dataset_id_index" ON "etl"."verifications" USING btree ("dataset","id");