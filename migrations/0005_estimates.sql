CREATE TABLE "etl"."estimates" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "etl"."estimates_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"dataset" text NOT NULL,
	"span" "int8range" NOT NULL,
	"missing" bigint NOT NULL,
	"rows_low" double precision NOT NULL,
	"rows_likely" double precision NOT NULL,
	"rows_high" double precision NOT NULL,
	"requests_low" double precision NOT NULL,
	"requests_likely" double precision NOT NULL,
	"requests_high" double precision NOT NULL,
	"disk_likely" double precision NOT NULL,
	"profile" jsonb NOT NULL,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	"rows_real" double precision,
	"requests_real" double precision,
	"settled_at" timestamp with time zone
);
