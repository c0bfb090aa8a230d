CREATE TABLE "etl"."findings" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"span" "int8range" NOT NULL,
	"table_name" text NOT NULL,
	"row_key" text NOT NULL,
	"differs" text NOT NULL,
	"check_name" text NOT NULL,
	"found_in" text NOT NULL,
	"found_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "findings_pkey" PRIMARY KEY("dataset","scope","check_name","found_in","table_name","row_key","differs","span")
);
