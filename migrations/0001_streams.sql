CREATE TABLE "ton"."action_accounts" (
	"utime" timestamp with time zone NOT NULL,
	"trace_id" text NOT NULL,
	"action_id" text NOT NULL,
	"position" integer NOT NULL,
	"account" text NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "action_accounts_utime_trace_id_action_id_position_pk" PRIMARY KEY("utime","trace_id","action_id","position")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."action_transactions" (
	"utime" timestamp with time zone NOT NULL,
	"trace_id" text NOT NULL,
	"action_id" text NOT NULL,
	"position" integer NOT NULL,
	"tx_hash" text NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "action_transactions_utime_trace_id_action_id_position_pk" PRIMARY KEY("utime","trace_id","action_id","position")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."actions" (
	"utime" timestamp with time zone NOT NULL,
	"trace_id" text NOT NULL,
	"action_id" text NOT NULL,
	"type" text NOT NULL,
	"success" boolean,
	"source" text,
	"destination" text,
	"asset" text,
	"amount" numeric,
	"details" jsonb,
	"start_utime" timestamp with time zone NOT NULL,
	"start_lt" bigint NOT NULL,
	"end_utime" timestamp with time zone NOT NULL,
	"end_lt" bigint NOT NULL,
	"trace_end_lt" bigint NOT NULL,
	"trace_mc_seqno_end" integer,
	"trace_external_hash" text,
	"trace_external_hash_norm" text,
	"account_count" integer,
	"transaction_count" integer,
	"finality" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "actions_utime_trace_id_action_id_pk" PRIMARY KEY("utime","trace_id","action_id")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."jetton_burns" (
	"utime" timestamp with time zone NOT NULL,
	"transaction_lt" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"transaction_aborted" boolean,
	"trace_id" text,
	"query_id" numeric,
	"owner" text,
	"jetton_wallet" text,
	"jetton_master" text,
	"amount" numeric,
	"response_destination" text,
	"custom_payload" text,
	"decoded_custom_payload" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "jetton_burns_utime_transaction_lt_transaction_hash_pk" PRIMARY KEY("utime","transaction_lt","transaction_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."jetton_transfers" (
	"utime" timestamp with time zone NOT NULL,
	"transaction_lt" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"transaction_aborted" boolean,
	"trace_id" text,
	"query_id" numeric,
	"source" text,
	"destination" text,
	"amount" numeric,
	"source_wallet" text,
	"jetton_master" text,
	"response_destination" text,
	"forward_ton_amount" numeric,
	"custom_payload" text,
	"decoded_custom_payload" jsonb,
	"forward_payload" text,
	"decoded_forward_payload" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "jetton_transfers_utime_transaction_lt_transaction_hash_pk" PRIMARY KEY("utime","transaction_lt","transaction_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."nft_transfers" (
	"utime" timestamp with time zone NOT NULL,
	"transaction_lt" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"transaction_aborted" boolean,
	"trace_id" text,
	"query_id" numeric,
	"nft_address" text,
	"nft_collection" text,
	"old_owner" text,
	"new_owner" text,
	"response_destination" text,
	"forward_amount" numeric,
	"custom_payload" text,
	"decoded_custom_payload" jsonb,
	"forward_payload" text,
	"decoded_forward_payload" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nft_transfers_utime_transaction_lt_transaction_hash_pk" PRIMARY KEY("utime","transaction_lt","transaction_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."nominator_pool_events" (
	"utime" timestamp with time zone NOT NULL,
	"tx_lt" bigint NOT NULL,
	"tx_hash" text NOT NULL,
	"pool_address" text NOT NULL,
	"validator_address" text,
	"type" text NOT NULL,
	"amount" numeric,
	"balance_delta" numeric,
	"balance_before" numeric,
	"balance_after" numeric,
	"query_id" numeric,
	"cycle_start" timestamp with time zone,
	"validator_reward_share" bigint,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nominator_pool_events_utime_tx_lt_tx_hash_pk" PRIMARY KEY("utime","tx_lt","tx_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."trace_edges" (
	"utime" timestamp with time zone NOT NULL,
	"trace_id" text NOT NULL,
	"tx_hash" text NOT NULL,
	"parent_tx_hash" text,
	"in_msg_hash" text,
	"position" integer NOT NULL,
	"children" integer,
	"end_lt" bigint NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "trace_edges_utime_trace_id_tx_hash_pk" PRIMARY KEY("utime","trace_id","tx_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."traces" (
	"utime" timestamp with time zone NOT NULL,
	"trace_id" text NOT NULL,
	"external_hash" text,
	"mc_seqno_start" integer,
	"mc_seqno_end" integer,
	"start_utime" timestamp with time zone NOT NULL,
	"start_lt" bigint NOT NULL,
	"end_lt" bigint NOT NULL,
	"trace_state" text,
	"messages" bigint,
	"transactions" bigint,
	"pending_messages" bigint,
	"classification_state" text,
	"is_incomplete" boolean,
	"warning" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "traces_utime_trace_id_pk" PRIMARY KEY("utime","trace_id")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."complaint_votes" (
	"utime" timestamp with time zone NOT NULL,
	"election_id" bigint NOT NULL,
	"complaint_hash" text NOT NULL,
	"position" integer NOT NULL,
	"validator_index" integer,
	"validator_pubkey" text,
	"adnl_addr" text,
	"weight" numeric,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "complaint_votes_utime_election_id_complaint_hash_position_pk" PRIMARY KEY("utime","election_id","complaint_hash","position")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."validator_complaints" (
	"utime" timestamp with time zone NOT NULL,
	"election_id" bigint NOT NULL,
	"complaint_hash" text NOT NULL,
	"cycle_start" timestamp with time zone,
	"validator_pubkey" text,
	"adnl_addr" text,
	"stake_holder_address" text,
	"description_boc" text,
	"severity" bigint,
	"reward_address" text,
	"paid" numeric,
	"suggested_fine" numeric,
	"suggested_fine_part" bigint,
	"vset_id" text,
	"weight_remaining" numeric,
	"approved_percent" double precision,
	"is_passed" boolean,
	"vote_count" integer,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "validator_complaints_utime_election_id_complaint_hash_pk" PRIMARY KEY("utime","election_id","complaint_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."validator_events" (
	"utime" timestamp with time zone NOT NULL,
	"tx_lt" bigint NOT NULL,
	"tx_hash" text NOT NULL,
	"type" text NOT NULL,
	"stake_holder_address" text,
	"validator_pubkey" text,
	"adnl_addr" text,
	"election_id" bigint,
	"query_id" numeric,
	"amount" numeric,
	"reason" bigint,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "validator_events_utime_tx_lt_tx_hash_pk" PRIMARY KEY("utime","tx_lt","tx_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "etl"."watch" (
	"address" text PRIMARY KEY NOT NULL,
	"note" text DEFAULT '' NOT NULL,
	"added_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "etl"."pages_dataset_id_index";--> statement-breakpoint
CREATE INDEX "action_accounts_account" ON "ton"."action_accounts" USING btree ("account","utime");--> statement-breakpoint
CREATE INDEX "jetton_burns_jetton_master" ON "ton"."jetton_burns" USING btree ("jetton_master","utime");--> statement-breakpoint
CREATE INDEX "jetton_transfers_jetton_master" ON "ton"."jetton_transfers" USING btree ("jetton_master","utime");--> statement-breakpoint
CREATE INDEX "jetton_transfers_source" ON "ton"."jetton_transfers" USING btree ("source","utime");--> statement-breakpoint
CREATE INDEX "jetton_transfers_destination" ON "ton"."jetton_transfers" USING btree ("destination","utime");--> statement-breakpoint
CREATE INDEX "nft_transfers_nft_address" ON "ton"."nft_transfers" USING btree ("nft_address","utime");--> statement-breakpoint
CREATE INDEX "nft_transfers_new_owner" ON "ton"."nft_transfers" USING btree ("new_owner","utime");--> statement-breakpoint
CREATE INDEX "nominator_pool_events_pool" ON "ton"."nominator_pool_events" USING btree ("pool_address","utime");--> statement-breakpoint
CREATE INDEX "traces_trace_id" ON "ton"."traces" USING btree ("trace_id");--> statement-breakpoint
CREATE INDEX "pages_dataset_committed_index" ON "etl"."pages" USING btree ("dataset","committed_at");