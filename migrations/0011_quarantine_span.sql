ALTER TABLE "etl"."quarantine" ADD COLUMN "span" "int8range";
--> statement-breakpoint
-- A record whose time cannot be read has the digest of its text for a name: it may lie anywhere near its neighbour.
UPDATE "etl"."quarantine" SET "span" = int8range(
  extract(epoch from "utime")::int8 - r.reach, extract(epoch from "utime")::int8 + r.reach + 1)
FROM (SELECT "id", CASE WHEN "record_id" = encode(sha256(convert_to("raw", 'UTF8')), 'base64') THEN 86400 ELSE 0 END AS reach
  FROM "etl"."quarantine") r WHERE r."id" = "etl"."quarantine"."id";
--> statement-breakpoint
ALTER TABLE "etl"."quarantine" ALTER COLUMN "span" SET NOT NULL;
