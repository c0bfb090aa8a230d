CREATE TABLE "ton"."multisig_order_actions" (
	"order_address" text NOT NULL,
	"position" integer NOT NULL,
	"destination" text,
	"value" numeric,
	"send_mode" integer,
	"body_raw" text,
	"parsed" boolean,
	"parsed_body_type" text,
	"parsed_body" jsonb,
	"error" text,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "multisig_order_actions_order_address_position_pk" PRIMARY KEY("order_address","position")
);
--> statement-breakpoint
ALTER TABLE "ton"."multisig_orders" ADD COLUMN "action_count" integer;--> statement-breakpoint
UPDATE "ton"."multisig_orders" SET "action_count" = jsonb_array_length("actions") WHERE jsonb_typeof("actions") = 'array';--> statement-breakpoint
INSERT INTO "ton"."multisig_order_actions"
  ("order_address", "position", "destination", "value", "send_mode", "body_raw", "parsed", "parsed_body_type", "parsed_body", "error")
SELECT o."address", a.place - 1, a.action->>'destination', (a.action->>'value')::numeric, (a.action->>'send_mode')::int,
  a.action->>'body_raw', (a.action->>'parsed')::boolean, a.action->>'parsed_body_type', nullif(a.action->'parsed_body', 'null'), a.action->>'error'
FROM "ton"."multisig_orders" o, jsonb_array_elements(CASE jsonb_typeof(o."actions") WHEN 'array' THEN o."actions" ELSE '[]' END) WITH ORDINALITY AS a (action, place);--> statement-breakpoint
ALTER TABLE "ton"."multisig_orders" DROP COLUMN "actions";
