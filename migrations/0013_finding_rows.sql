ALTER TABLE "etl"."findings" ADD COLUMN "row_span" "int8range";
--> statement-breakpoint
-- Traces hold transactions and messages where they end: the row's own second is what another dataset has of the finding.
UPDATE "etl"."findings" f SET "row_span" = coalesce(
  (SELECT o."span" FROM "etl"."findings" o
    WHERE f."dataset" = 'traces' AND f."table_name" IN ('transactions', 'messages') AND o."dataset" <> 'traces'
      AND (o."scope", o."check_name", o."found_in", o."table_name", o."row_key", o."differs")
        = (f."scope", f."check_name", f."found_in", f."table_name", f."row_key", f."differs")
    ORDER BY o."span" LIMIT 1),
  f."span");
--> statement-breakpoint
ALTER TABLE "etl"."findings" ALTER COLUMN "row_span" SET NOT NULL;
--> statement-breakpoint
ALTER TABLE "etl"."findings" DROP CONSTRAINT "findings_pkey";
--> statement-breakpoint
ALTER TABLE "etl"."findings" ADD CONSTRAINT "findings_pkey" PRIMARY KEY("dataset","scope","check_name","found_in","table_name","row_key","row_span","differs","span");
