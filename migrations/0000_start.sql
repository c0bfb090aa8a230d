CREATE SCHEMA IF NOT EXISTS "etl";
--> statement-breakpoint
CREATE SCHEMA "ton";
--> statement-breakpoint
CREATE SCHEMA "etl_partitions";
--> statement-breakpoint
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
	"probe_at" double precision DEFAULT 0 NOT NULL,
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
CREATE TABLE "etl"."closed_days" (
	"relation" text NOT NULL,
	"day" date NOT NULL,
	"definition" text NOT NULL,
	"begun_at" timestamp with time zone DEFAULT now() NOT NULL,
	"closed_at" timestamp with time zone,
	CONSTRAINT "closed_days_relation_day_pk" PRIMARY KEY("relation","day")
);
--> statement-breakpoint
CREATE TABLE "etl"."coverage" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"pass" smallint DEFAULT 0 NOT NULL,
	"covered" "int8multirange" DEFAULT '{}' NOT NULL,
	"verified" "int8multirange" DEFAULT '{}' NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "coverage_dataset_scope_pass_pk" PRIMARY KEY("dataset","scope","pass")
);
--> statement-breakpoint
CREATE TABLE "etl"."leases" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "etl"."leases_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"pass" smallint DEFAULT 0 NOT NULL,
	"span" "int8range" NOT NULL,
	"owner" text NOT NULL,
	"priority" text NOT NULL,
	"taken_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."refused" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"pass" smallint DEFAULT 0 NOT NULL,
	"span" "int8range" NOT NULL,
	"reason" text NOT NULL,
	"detail" text DEFAULT '' NOT NULL,
	"attempts" integer DEFAULT 1 NOT NULL,
	"first_at" timestamp with time zone DEFAULT now() NOT NULL,
	"retry_at" timestamp with time zone,
	CONSTRAINT "refused_dataset_scope_pass_span_pk" PRIMARY KEY("dataset","scope","pass","span")
);
--> statement-breakpoint
CREATE TABLE "etl"."wanted" (
	"dataset" text PRIMARY KEY NOT NULL,
	"since" bigint NOT NULL,
	"chosen" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."cursors" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"cursor" jsonb,
	"owner" text,
	"expires_at" timestamp with time zone,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cursors_dataset_scope_pk" PRIMARY KEY("dataset","scope")
);
--> statement-breakpoint
CREATE TABLE "etl"."lookups" (
	"dataset" text NOT NULL,
	"walk" text NOT NULL,
	"subject" text NOT NULL,
	"fields" jsonb,
	"seen_lt" bigint,
	"known_lt" bigint,
	"found" boolean,
	"asked_at" timestamp with time zone,
	"again_at" timestamp with time zone,
	CONSTRAINT "lookups_dataset_walk_subject_pk" PRIMARY KEY("dataset","walk","subject")
);
--> statement-breakpoint
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
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	"rows_real" double precision,
	"requests_real" double precision,
	"settled_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "etl"."findings" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"span" "int8range" NOT NULL,
	"table_name" text NOT NULL,
	"row_key" text NOT NULL,
	"row_span" "int8range" NOT NULL,
	"differs" text NOT NULL,
	"check_name" text NOT NULL,
	"found_in" text NOT NULL,
	"found_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "findings_pkey" PRIMARY KEY("dataset","scope","check_name","found_in","table_name","row_key","row_span","differs","span")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_active_wallets" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"wallets" bigint,
	"messages" bigint,
	CONSTRAINT "kept_active_wallets_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_daily_activity" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"transactions" bigint,
	"aborted" bigint,
	"accounts" bigint,
	"messages" bigint,
	"value" numeric(38,0),
	"fees" numeric(38,0),
	"traces" bigint,
	"blocks" bigint,
	"bounced" bigint,
	CONSTRAINT "kept_daily_activity_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_daily_changes" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"account" text,
	"jetton_wallet" text,
	"asset" text,
	"changes" bigint,
	"change_raw" numeric(38,0),
	"balance_raw" numeric(38,0),
	CONSTRAINT "kept_daily_changes_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_daily_legs" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"utime" timestamp with time zone,
	"dex" text,
	"pool" text,
	"router" text,
	"trader" text,
	"sold" text,
	"sold_raw" numeric(38,0),
	"bought" text,
	"bought_raw" numeric(38,0),
	"volume_ton" numeric(38, 9),
	"volume_usd" numeric(38, 6),
	"leg" integer,
	"legs" integer,
	"referral" text,
	"query_id" numeric(38,0),
	"trace_id" text,
	"action_id" text,
	"start_utime" timestamp with time zone,
	"transaction_hash" text,
	"start_lt" bigint,
	CONSTRAINT "kept_daily_legs_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_daily_pools" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"dex" text,
	"version" text,
	"pool" text,
	"asset_1" text,
	"asset_2" text,
	"pairs" bigint,
	"trades" bigint,
	"traders" bigint,
	"volume_ton" numeric(38, 9),
	"volume_usd" numeric(38, 6),
	"gained_1_raw" numeric(38,0),
	"gained_2_raw" numeric(38,0),
	"later_1_raw" numeric(38,0),
	"later_2_raw" numeric(38,0),
	"withdrawn_1_raw" numeric(38,0),
	"withdrawn_2_raw" numeric(38,0),
	"burned_raw" numeric(38,0),
	"held_1_raw" numeric(38,0),
	"held_2_raw" numeric(38,0),
	"lp_supply_raw" numeric(38,0),
	CONSTRAINT "kept_daily_pools_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_daily_trades" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"asset" text,
	"trades" bigint,
	"traders" bigint,
	"ton" numeric(38,0),
	"ton_amount" numeric(38,0),
	"usd" numeric(38, 6),
	"usd_amount" numeric(38,0),
	"ton_usd" numeric(38, 24),
	CONSTRAINT "kept_daily_trades_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_dex_volume" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"dex" text,
	"pool" text,
	"jetton_master" text,
	"swaps" bigint,
	"accounts" bigint,
	"bought" numeric(38,0),
	"sold" numeric(38,0),
	"volume" numeric(38,0),
	"jettons" numeric(38,0),
	CONSTRAINT "kept_dex_volume_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_failed_transactions" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"phase" text,
	"reason" text,
	"code" integer,
	"transactions" bigint,
	"accounts" bigint,
	"fees" numeric(38,0),
	"bounced" bigint,
	CONSTRAINT "kept_failed_transactions_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_fees_by_part" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"storage" numeric(38,0),
	"gas" numeric(38,0),
	"action" numeric(38,0),
	"bounce" numeric(38,0),
	"import" numeric(38,0),
	"total" numeric(38,0),
	"forward" numeric(38,0),
	CONSTRAINT "kept_fees_by_part_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_gas_by_contract" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"account" text,
	"code_hash" text,
	"runs" bigint,
	"failed" bigint,
	"gas_used" numeric(38,0),
	"gas_fees" numeric(38,0),
	CONSTRAINT "kept_gas_by_contract_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_hourly_activity" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"hour" timestamp with time zone,
	"transactions" bigint,
	"aborted" bigint,
	"accounts" bigint,
	"fees" numeric(38,0),
	CONSTRAINT "kept_hourly_activity_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_hourly_trades" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"hour" timestamp with time zone,
	"asset" text,
	"trades" bigint,
	"traders" bigint,
	"ton" numeric(38,0),
	"ton_amount" numeric(38,0),
	"usd" numeric(38, 6),
	"usd_amount" numeric(38,0),
	"ton_usd" numeric(38, 24),
	CONSTRAINT "kept_hourly_trades_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_jetton_flows" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"jetton_master" text,
	"transfers" bigint,
	"senders" bigint,
	"receivers" bigint,
	"amount" numeric(38,0),
	"minted" numeric(38,0),
	"burned" numeric(38,0),
	CONSTRAINT "kept_jetton_flows_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."kept_message_delays" (
	"day" date NOT NULL,
	"position" integer NOT NULL,
	"from_workchain" integer,
	"from_shard" text,
	"to_workchain" integer,
	"to_shard" text,
	"messages" bigint,
	"mean_seconds" numeric(38, 6),
	"median_seconds" numeric(38, 6),
	"longest_seconds" numeric(38, 6),
	CONSTRAINT "kept_message_delays_day_position_pk" PRIMARY KEY("day","position")
);
--> statement-breakpoint
CREATE TABLE "etl"."failures" (
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"code" text NOT NULL,
	"message" text NOT NULL,
	"hint" text,
	"times" integer DEFAULT 1 NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "failures_dataset_scope_pk" PRIMARY KEY("dataset","scope")
);
--> statement-breakpoint
CREATE TABLE "etl"."pages" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "etl"."pages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"pass" smallint DEFAULT 0 NOT NULL,
	"span" "int8range" NOT NULL,
	"completed" "int8range",
	"request" text NOT NULL,
	"rows" integer NOT NULL,
	"bytes" integer NOT NULL,
	"ms" integer NOT NULL,
	"worker" text NOT NULL,
	"api_version" text,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."partitions" (
	"parent" text NOT NULL,
	"span" "int8range" NOT NULL,
	"name" text NOT NULL,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "partitions_parent_span_pk" PRIMARY KEY("parent","span")
);
--> statement-breakpoint
CREATE TABLE "etl"."settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."quarantine" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "etl"."quarantine_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"dataset" text NOT NULL,
	"scope" text DEFAULT '' NOT NULL,
	"record_id" text NOT NULL,
	"utime" timestamp with time zone NOT NULL,
	"span" "int8range" NOT NULL,
	"path" text NOT NULL,
	"reason" text NOT NULL,
	"raw" text NOT NULL,
	"request" text NOT NULL,
	"attempts" integer DEFAULT 1 NOT NULL,
	"first_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "quarantine_record" UNIQUE("dataset","scope","record_id","span")
);
--> statement-breakpoint
CREATE TABLE "etl"."schema_drift" (
	"dataset" text NOT NULL,
	"path" text NOT NULL,
	"type" text NOT NULL,
	"example" jsonb,
	"times" bigint DEFAULT 1 NOT NULL,
	"first_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "schema_drift_dataset_path_type_pk" PRIMARY KEY("dataset","path","type")
);
--> statement-breakpoint
CREATE TABLE "etl"."labels" (
	"address" text PRIMARY KEY NOT NULL,
	"label" text NOT NULL,
	"category" text,
	"organization" text,
	"imported_from" text NOT NULL,
	"imported_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."stable_jettons" (
	"address" text PRIMARY KEY NOT NULL,
	"symbol" text NOT NULL,
	"decimals" integer NOT NULL
);
--> statement-breakpoint
INSERT INTO "etl"."stable_jettons" VALUES ('0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE', 'USDT', 6);
--> statement-breakpoint
CREATE TABLE "etl"."grades" (
	"dataset" text PRIMARY KEY NOT NULL,
	"grade" text NOT NULL,
	"proves" text NOT NULL,
	"blind_to" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."sealed" (
	"table_name" text PRIMARY KEY NOT NULL,
	"seconds" "int8multirange" DEFAULT '{}' NOT NULL,
	"counted" "int8multirange" DEFAULT '{}' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."seals" (
	"table_name" text NOT NULL,
	"second" bigint NOT NULL,
	"rows" integer NOT NULL,
	"keys" numeric NOT NULL,
	CONSTRAINT "seals_table_name_second_pk" PRIMARY KEY("table_name","second")
);
--> statement-breakpoint
CREATE TABLE "etl"."ton_proxies" (
	"address" text PRIMARY KEY NOT NULL,
	"dex" text,
	"note" text
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
CREATE TABLE "etl"."watch" (
	"address" text PRIMARY KEY NOT NULL,
	"note" text DEFAULT '' NOT NULL,
	"added_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "etl"."writes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "etl"."writes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"table_name" text NOT NULL,
	"seconds" "int8multirange" NOT NULL,
	"written_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."account_state_changes" (
	"address" text NOT NULL,
	"last_transaction_lt" bigint NOT NULL,
	"account_state_hash" text,
	"balance" numeric(38,0),
	"extra_currencies" jsonb,
	"status" text,
	"frozen_hash" text,
	"last_transaction_hash" text,
	"data_hash" text,
	"code_hash" text,
	"data_boc" text,
	"code_boc" text,
	"contract_methods" bigint[],
	"interfaces" text[],
	"suspended" boolean,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	"first_seen" timestamp with time zone NOT NULL,
	CONSTRAINT "account_state_changes_address_last_transaction_lt_pk" PRIMARY KEY("address","last_transaction_lt")
);
--> statement-breakpoint
CREATE TABLE "ton"."account_states" (
	"address" text PRIMARY KEY NOT NULL,
	"last_transaction_lt" bigint NOT NULL,
	"account_state_hash" text,
	"balance" numeric(38,0),
	"extra_currencies" jsonb,
	"status" text,
	"frozen_hash" text,
	"last_transaction_hash" text,
	"data_hash" text,
	"code_hash" text,
	"data_boc" text,
	"code_boc" text,
	"contract_methods" bigint[],
	"interfaces" text[],
	"suspended" boolean,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."account_messages" (
	"account" text NOT NULL,
	"lt" bigint NOT NULL,
	"position" integer NOT NULL,
	"hash" text NOT NULL,
	"source" text,
	"destination" text,
	"value" numeric(38,0),
	"extra_currencies" jsonb,
	"fwd_fee" numeric(38,0),
	"ihr_fee" numeric(38,0),
	"created_lt" bigint NOT NULL,
	"body_hash" text,
	"message" text,
	"message_decode_error" text,
	"data_type" text NOT NULL,
	"body" text,
	"init_state" text,
	"text" text,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_messages_account_lt_position_pk" PRIMARY KEY("account","lt","position")
);
--> statement-breakpoint
CREATE TABLE "ton"."account_transactions" (
	"account" text NOT NULL,
	"lt" bigint NOT NULL,
	"hash" text NOT NULL,
	"utime" timestamp with time zone NOT NULL,
	"fee" numeric(38,0),
	"storage_fee" numeric(38,0),
	"other_fee" numeric(38,0),
	"data" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_transactions_account_lt_pk" PRIMARY KEY("account","lt")
);
--> statement-breakpoint
CREATE TABLE "ton"."message_locations" (
	"hash" text PRIMARY KEY NOT NULL,
	"account" text NOT NULL,
	"lt" bigint NOT NULL,
	"tx_hash" text NOT NULL,
	"utime" timestamp with time zone NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
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
	"amount" numeric(38,0),
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
CREATE TABLE "ton"."address_book" (
	"address" text PRIMARY KEY NOT NULL,
	"user_friendly" text,
	"domain" text,
	"interfaces" text[],
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."jetton_descriptions" (
	"address" text NOT NULL,
	"source" text NOT NULL,
	"symbol" text,
	"decimals" integer,
	"mintable" boolean,
	"admin_address" text,
	"jetton_wallet_code_hash" text,
	"code_hash" text,
	"name" text,
	"description" text,
	"image" text,
	"uri" text,
	"content" jsonb,
	"is_indexed" boolean,
	"is_nsfw" boolean,
	"is_scam" boolean,
	"last_transaction_lt" bigint NOT NULL,
	"first_seen" timestamp with time zone NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "jetton_descriptions_address_source_first_seen_pk" PRIMARY KEY("address","source","first_seen")
);
--> statement-breakpoint
CREATE TABLE "ton"."nft_descriptions" (
	"address" text NOT NULL,
	"type" text NOT NULL,
	"source" text NOT NULL,
	"name" text,
	"description" text,
	"image" text,
	"uri" text,
	"content" jsonb,
	"is_indexed" boolean,
	"is_nsfw" boolean,
	"is_scam" boolean,
	"last_transaction_lt" bigint NOT NULL,
	"first_seen" timestamp with time zone NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nft_descriptions_address_type_source_first_seen_pk" PRIMARY KEY("address","type","source","first_seen")
);
--> statement-breakpoint
CREATE TABLE "ton"."token_metadata" (
	"address" text PRIMARY KEY NOT NULL,
	"is_indexed" boolean NOT NULL,
	"type" text,
	"name" text,
	"symbol" text,
	"decimals" integer,
	"description" text,
	"image" text,
	"nft_index" text,
	"valid" boolean,
	"is_nsfw" boolean,
	"is_scam" boolean,
	"token_info" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."block_parents" (
	"utime" timestamp with time zone NOT NULL,
	"workchain" integer NOT NULL,
	"shard" text NOT NULL,
	"seqno" integer NOT NULL,
	"position" integer NOT NULL,
	"parent_workchain" integer NOT NULL,
	"parent_shard" text NOT NULL,
	"parent_seqno" integer NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "block_parents_utime_workchain_shard_seqno_position_pk" PRIMARY KEY("utime","workchain","shard","seqno","position")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."blocks" (
	"utime" timestamp with time zone NOT NULL,
	"workchain" integer NOT NULL,
	"shard" text NOT NULL,
	"seqno" integer NOT NULL,
	"root_hash" text NOT NULL,
	"file_hash" text NOT NULL,
	"global_id" integer,
	"version" bigint,
	"after_merge" boolean,
	"before_split" boolean,
	"after_split" boolean,
	"want_merge" boolean,
	"want_split" boolean,
	"key_block" boolean,
	"vert_seqno_incr" boolean,
	"flags" integer,
	"start_lt" bigint NOT NULL,
	"end_lt" bigint NOT NULL,
	"validator_list_hash_short" integer,
	"gen_catchain_seqno" integer,
	"min_ref_mc_seqno" integer,
	"prev_key_block_seqno" integer,
	"vert_seqno" integer,
	"master_ref_seqno" integer,
	"rand_seed" text,
	"created_by" text,
	"tx_count" integer NOT NULL,
	"masterchain_block_ref_workchain" integer,
	"masterchain_block_ref_shard" text,
	"masterchain_block_ref_seqno" integer,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "blocks_utime_workchain_shard_seqno_pk" PRIMARY KEY("utime","workchain","shard","seqno")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."dns_auctions" (
	"nft_item_address" text PRIMARY KEY NOT NULL,
	"domain" text NOT NULL,
	"max_bid_address" text,
	"max_bid_amount" numeric(38,0),
	"auction_end_time" timestamp with time zone,
	"last_fill_up_time" timestamp with time zone,
	"finished" boolean,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."dns_records" (
	"nft_item_address" text PRIMARY KEY NOT NULL,
	"nft_item_owner" text,
	"domain" text NOT NULL,
	"dns_next_resolver" text,
	"dns_wallet" text,
	"dns_site_adnl" text,
	"dns_storage_bag_id" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."extended_account_states" (
	"address" text NOT NULL,
	"mc_seqno" integer,
	"sync_utime" timestamp with time zone NOT NULL,
	"balance" numeric(38,0),
	"extra_currencies" jsonb,
	"last_transaction_lt" bigint NOT NULL,
	"last_transaction_hash" text NOT NULL,
	"kind" text NOT NULL,
	"wallet_id" bigint,
	"seqno" integer,
	"public_key" text,
	"account_state" jsonb NOT NULL,
	"revision" integer,
	"block_root_hash" text NOT NULL,
	"block_file_hash" text NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "extended_account_states_address_block_root_hash_pk" PRIMARY KEY("address","block_root_hash")
);
--> statement-breakpoint
CREATE TABLE "ton"."jetton_burns" (
	"utime" timestamp with time zone NOT NULL,
	"transaction_lt" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"transaction_aborted" boolean,
	"trace_id" text,
	"query_id" numeric(38,0),
	"owner" text,
	"jetton_wallet" text,
	"jetton_master" text,
	"amount" numeric(38,0),
	"response_destination" text,
	"custom_payload" text,
	"decoded_custom_payload" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "jetton_burns_utime_transaction_lt_transaction_hash_pk" PRIMARY KEY("utime","transaction_lt","transaction_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."jetton_masters" (
	"address" text PRIMARY KEY NOT NULL,
	"total_supply" numeric(38,0),
	"mintable" boolean,
	"admin_address" text,
	"name" text,
	"symbol" text,
	"decimals" integer,
	"jetton_content" jsonb,
	"jetton_wallet_code_hash" text,
	"code_hash" text,
	"data_hash" text,
	"last_transaction_lt" bigint NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."jetton_transfers" (
	"utime" timestamp with time zone NOT NULL,
	"transaction_lt" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"transaction_aborted" boolean,
	"trace_id" text,
	"query_id" numeric(38,0),
	"source" text,
	"destination" text,
	"amount" numeric(38,0),
	"source_wallet" text,
	"jetton_master" text,
	"response_destination" text,
	"forward_ton_amount" numeric(38,0),
	"custom_payload" text,
	"decoded_custom_payload" jsonb,
	"forward_payload" text,
	"decoded_forward_payload" jsonb,
	"comment" text GENERATED ALWAYS AS (case when jsonb_typeof(decoded_forward_payload -> 'comment') = 'string' then decoded_forward_payload ->> 'comment' end) STORED,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "jetton_transfers_utime_transaction_lt_transaction_hash_pk" PRIMARY KEY("utime","transaction_lt","transaction_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."jetton_wallets" (
	"address" text PRIMARY KEY NOT NULL,
	"balance" numeric(38,0),
	"owner" text,
	"jetton" text,
	"last_transaction_lt" bigint NOT NULL,
	"code_hash" text,
	"data_hash" text,
	"mintless_amount" numeric(38,0),
	"mintless_start_from" bigint,
	"mintless_expire_at" bigint,
	"mintless_custom_payload_api_uri" text[],
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."masterchain_heads" (
	"taken_at" timestamp with time zone NOT NULL,
	"source" text NOT NULL,
	"seqno" integer NOT NULL,
	"root_hash" text NOT NULL,
	"file_hash" text NOT NULL,
	"head_utime" timestamp with time zone,
	"state_root_hash" text,
	"init_seqno" integer,
	"init_root_hash" text,
	"init_file_hash" text,
	"first_seqno" integer,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "masterchain_heads_taken_at_source_pk" PRIMARY KEY("taken_at","source")
);
--> statement-breakpoint
CREATE TABLE "ton"."messages" (
	"utime" timestamp with time zone NOT NULL,
	"hash" text NOT NULL,
	"source" text,
	"destination" text,
	"value" numeric(38,0),
	"value_extra_currencies" jsonb,
	"fwd_fee" numeric(38,0),
	"ihr_fee" numeric(38,0),
	"extra_flags" text,
	"created_lt" bigint,
	"opcode" text,
	"decoded_opcode" text,
	"ihr_disabled" boolean,
	"bounce" boolean,
	"bounced" boolean,
	"import_fee" numeric(38,0),
	"content_hash" text,
	"content_body" text,
	"content_decoded" jsonb,
	"comment" text GENERATED ALWAYS AS (case when jsonb_typeof(content_decoded -> 'comment') = 'string' then content_decoded ->> 'comment' end) STORED,
	"init_state_hash" text,
	"init_state_body" text,
	"init_state_decoded" jsonb,
	"hash_norm" text,
	"out_msg_tx_hash" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "messages_utime_hash_pk" PRIMARY KEY("utime","hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."multisig_order_actions" (
	"order_address" text NOT NULL,
	"position" integer NOT NULL,
	"destination" text,
	"value" numeric(38,0),
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
CREATE TABLE "ton"."multisig_orders" (
	"address" text PRIMARY KEY NOT NULL,
	"multisig_address" text NOT NULL,
	"order_seqno" numeric,
	"order_seqno_text" text GENERATED ALWAYS AS ("order_seqno"::text) STORED,
	"threshold" integer,
	"sent_for_execution" boolean,
	"approvals_mask" numeric,
	"approvals_mask_text" text GENERATED ALWAYS AS ("approvals_mask"::text) STORED,
	"approvals_num" integer,
	"expiration_date" numeric(38,0),
	"order_boc" text,
	"signers" text[],
	"action_count" integer,
	"last_transaction_lt" bigint NOT NULL,
	"code_hash" text,
	"data_hash" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."multisig_wallets" (
	"address" text PRIMARY KEY NOT NULL,
	"next_order_seqno" numeric,
	"next_order_seqno_text" text GENERATED ALWAYS AS ("next_order_seqno"::text) STORED,
	"threshold" integer,
	"signers" text[],
	"proposers" text[],
	"last_transaction_lt" bigint NOT NULL,
	"code_hash" text,
	"data_hash" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."nft_collections" (
	"address" text PRIMARY KEY NOT NULL,
	"owner_address" text,
	"next_item_index" numeric,
	"next_item_index_text" text GENERATED ALWAYS AS ("next_item_index"::text) STORED,
	"name" text,
	"collection_content" jsonb,
	"code_hash" text,
	"data_hash" text,
	"last_transaction_lt" bigint NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."nft_items" (
	"address" text PRIMARY KEY NOT NULL,
	"init" boolean,
	"index" numeric,
	"index_text" text GENERATED ALWAYS AS ("index"::text) STORED,
	"collection_address" text,
	"owner_address" text,
	"real_owner" text,
	"on_sale" boolean,
	"sale_contract_address" text,
	"auction_contract_address" text,
	"content" jsonb,
	"code_hash" text,
	"data_hash" text,
	"last_transaction_lt" bigint NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."nft_sales" (
	"address" text PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"nft_address" text,
	"nft_owner_address" text,
	"marketplace_address" text,
	"created_at" timestamp with time zone,
	"last_transaction_lt" bigint,
	"code_hash" text,
	"data_hash" text,
	"details" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."nft_transfers" (
	"utime" timestamp with time zone NOT NULL,
	"transaction_lt" bigint NOT NULL,
	"transaction_hash" text NOT NULL,
	"transaction_aborted" boolean,
	"trace_id" text,
	"query_id" numeric(38,0),
	"nft_address" text,
	"nft_collection" text,
	"old_owner" text,
	"new_owner" text,
	"response_destination" text,
	"forward_amount" numeric(38,0),
	"custom_payload" text,
	"decoded_custom_payload" jsonb,
	"forward_payload" text,
	"decoded_forward_payload" jsonb,
	"comment" text GENERATED ALWAYS AS (case when jsonb_typeof(decoded_forward_payload -> 'comment') = 'string' then decoded_forward_payload ->> 'comment' end) STORED,
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
	"amount" numeric(38,0),
	"balance_delta" numeric(38,0),
	"balance_before" numeric(38,0),
	"balance_after" numeric(38,0),
	"query_id" numeric(38,0),
	"cycle_start" timestamp with time zone,
	"validator_reward_share" bigint,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nominator_pool_events_utime_tx_lt_tx_hash_pk" PRIMARY KEY("utime","tx_lt","tx_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."nominator_events" (
	"utime" timestamp with time zone NOT NULL,
	"tx_lt" bigint NOT NULL,
	"tx_hash" text NOT NULL,
	"nominator_address" text NOT NULL,
	"type" text NOT NULL,
	"pool_address" text NOT NULL,
	"amount" numeric(38,0),
	"balance_delta" numeric(38,0),
	"pending_balance_delta" numeric(38,0),
	"balance_before" numeric(38,0),
	"balance_after" numeric(38,0),
	"pending_balance_before" numeric(38,0),
	"pending_balance_after" numeric(38,0),
	"withdraw_request_before" boolean,
	"withdraw_request_after" boolean,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nominator_events_utime_tx_lt_tx_hash_nominator_address_type_pk" PRIMARY KEY("utime","tx_lt","tx_hash","nominator_address","type")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."nominator_pools" (
	"address" text PRIMARY KEY NOT NULL,
	"validator_address" text,
	"validator_amount" numeric(38,0),
	"validator_reward_share" bigint,
	"stake_amount_sent" numeric(38,0),
	"state" bigint,
	"nominators_count" bigint,
	"max_nominators_count" bigint,
	"min_validator_stake" numeric(38,0),
	"min_nominator_stake" numeric(38,0),
	"active_nominators" jsonb,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."shard_block_proofs" (
	"workchain" integer NOT NULL,
	"shard" text NOT NULL,
	"seqno" integer NOT NULL,
	"from_seqno" integer NOT NULL,
	"from_root_hash" text NOT NULL,
	"from_file_hash" text NOT NULL,
	"mc_seqno" integer NOT NULL,
	"mc_root_hash" text NOT NULL,
	"mc_file_hash" text NOT NULL,
	"links" jsonb NOT NULL,
	"mc_proof" jsonb NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "shard_block_proofs_workchain_shard_seqno_pk" PRIMARY KEY("workchain","shard","seqno")
);
--> statement-breakpoint
CREATE TABLE "ton"."shard_states" (
	"utime" timestamp with time zone NOT NULL,
	"mc_seqno" integer NOT NULL,
	"workchain" integer NOT NULL,
	"shard" text NOT NULL,
	"seqno" integer NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "shard_states_utime_mc_seqno_workchain_shard_pk" PRIMARY KEY("utime","mc_seqno","workchain","shard")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."top_accounts" (
	"taken_at" timestamp with time zone NOT NULL,
	"rank" integer NOT NULL,
	"account" text NOT NULL,
	"balance" numeric(38,0) NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "top_accounts_taken_at_rank_pk" PRIMARY KEY("taken_at","rank")
);
--> statement-breakpoint
CREATE TABLE "ton"."trace_nodes" (
	"utime" timestamp with time zone NOT NULL,
	"trace_id" text NOT NULL,
	"tx_hash" text NOT NULL,
	"parent_tx_hash" text,
	"in_msg_hash" text,
	"position" integer NOT NULL,
	"children" integer,
	"end_lt" bigint NOT NULL,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "trace_nodes_utime_trace_id_tx_hash_pk" PRIMARY KEY("utime","trace_id","tx_hash")
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
CREATE TABLE "ton"."transactions" (
	"utime" timestamp with time zone NOT NULL,
	"lt" bigint NOT NULL,
	"account" text NOT NULL,
	"hash" text NOT NULL,
	"block_workchain" integer NOT NULL,
	"block_shard" text,
	"block_seqno" integer NOT NULL,
	"mc_block_seqno" integer,
	"trace_id" text,
	"trace_external_hash" text,
	"prev_trans_hash" text,
	"prev_trans_lt" bigint NOT NULL,
	"orig_status" text NOT NULL,
	"end_status" text NOT NULL,
	"total_fees" numeric(38,0) NOT NULL,
	"total_fees_extra_currencies" jsonb,
	"in_msg_hash" text,
	"in_msg_utime" timestamp with time zone,
	"out_msg_count" integer,
	"description_type" text NOT NULL,
	"aborted" boolean,
	"destroyed" boolean,
	"credit_first" boolean,
	"is_tock" boolean,
	"installed" boolean,
	"storage_fees_collected" numeric(38,0),
	"storage_fees_due" numeric(38,0),
	"storage_status_change" text,
	"credit_due_fees_collected" numeric(38,0),
	"credit" numeric(38,0),
	"credit_extra_currencies" jsonb,
	"compute_skipped" boolean,
	"compute_reason" text,
	"compute_success" boolean,
	"compute_msg_state_used" boolean,
	"compute_account_activated" boolean,
	"compute_gas_fees" numeric(38,0),
	"compute_gas_used" bigint,
	"compute_gas_limit" bigint,
	"compute_gas_credit" bigint,
	"compute_mode" integer,
	"compute_exit_code" integer,
	"compute_exit_arg" integer,
	"compute_vm_steps" bigint,
	"compute_vm_init_state_hash" text,
	"compute_vm_final_state_hash" text,
	"action_success" boolean,
	"action_valid" boolean,
	"action_no_funds" boolean,
	"action_status_change" text,
	"action_total_fwd_fees" numeric(38,0),
	"action_total_action_fees" numeric(38,0),
	"action_result_code" integer,
	"action_result_arg" integer,
	"action_tot_actions" integer,
	"action_spec_actions" integer,
	"action_skipped_actions" integer,
	"action_msgs_created" integer,
	"action_list_hash" text,
	"action_tot_msg_size_cells" bigint,
	"action_tot_msg_size_bits" bigint,
	"bounce_type" text,
	"bounce_msg_size_cells" bigint,
	"bounce_msg_size_bits" bigint,
	"bounce_req_fwd_fees" numeric(38,0),
	"bounce_msg_fees" numeric(38,0),
	"bounce_fwd_fees" numeric(38,0),
	"split_cur_shard_pfx_len" integer,
	"split_acc_split_depth" integer,
	"split_this_addr" text,
	"split_sibling_addr" text,
	"before_hash" text,
	"before_balance" numeric(38,0),
	"before_extra_currencies" jsonb,
	"before_account_status" text,
	"before_frozen_hash" text,
	"before_data_hash" text,
	"before_code_hash" text,
	"after_hash" text,
	"after_balance" numeric(38,0),
	"after_extra_currencies" jsonb,
	"after_account_status" text,
	"after_frozen_hash" text,
	"after_data_hash" text,
	"after_code_hash" text,
	"emulated" boolean,
	"finality" text,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "transactions_utime_lt_account_pk" PRIMARY KEY("utime","lt","account")
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
	"weight" numeric(38,0),
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
	"paid" numeric(38,0),
	"suggested_fine" numeric(38,0),
	"suggested_fine_part" bigint,
	"vset_id" text,
	"weight_remaining" numeric(38,0),
	"approved_percent" double precision,
	"is_passed" boolean,
	"vote_count" integer,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "validator_complaints_utime_election_id_complaint_hash_pk" PRIMARY KEY("utime","election_id","complaint_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."cycle_validators" (
	"utime" timestamp with time zone NOT NULL,
	"cycle_start" bigint NOT NULL,
	"position" integer NOT NULL,
	"validator_index" integer,
	"validator_pubkey" text,
	"adnl_addr" text,
	"weight" numeric(38,0),
	"stake_holder_address" text,
	"stake" numeric(38,0),
	"max_factor" bigint,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cycle_validators_utime_cycle_start_position_pk" PRIMARY KEY("utime","cycle_start","position")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."validator_cycles" (
	"utime" timestamp with time zone NOT NULL,
	"cycle_start" bigint NOT NULL,
	"election_id" bigint,
	"cycle_end" timestamp with time zone,
	"total" bigint,
	"main" bigint,
	"total_weight" numeric(38,0),
	"total_stake" numeric(38,0),
	"validators_elected_for" bigint,
	"elections_start_before" bigint,
	"elections_end_before" bigint,
	"stake_held_for" bigint,
	"max_validators" bigint,
	"max_main_validators" bigint,
	"min_validators" bigint,
	"min_stake" numeric(38,0),
	"max_stake" numeric(38,0),
	"min_stake_limit" numeric(38,0),
	"max_stake_limit" numeric(38,0),
	"min_total_stake" numeric(38,0),
	"max_stake_factor" bigint,
	"validator_count" integer,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "validator_cycles_utime_cycle_start_pk" PRIMARY KEY("utime","cycle_start")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."election_participants" (
	"utime" timestamp with time zone NOT NULL,
	"election_id" bigint NOT NULL,
	"position" integer NOT NULL,
	"validator_pubkey" text,
	"validator_index" integer,
	"stake" numeric(38,0),
	"max_factor" bigint,
	"stake_holder_address" text,
	"adnl_addr" text,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "election_participants_utime_election_id_position_pk" PRIMARY KEY("utime","election_id","position")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."validator_elections" (
	"utime" timestamp with time zone NOT NULL,
	"election_id" bigint NOT NULL,
	"elect_close" timestamp with time zone,
	"min_stake" numeric(38,0),
	"total_stake" numeric(38,0),
	"total_participants" bigint,
	"failed" boolean,
	"finished" boolean,
	"participant_count" integer,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "validator_elections_utime_election_id_pk" PRIMARY KEY("utime","election_id")
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
	"query_id" numeric(38,0),
	"amount" numeric(38,0),
	"reason" bigint,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "validator_events_utime_tx_lt_tx_hash_pk" PRIMARY KEY("utime","tx_lt","tx_hash")
) PARTITION BY RANGE ("utime");
--> statement-breakpoint
CREATE TABLE "ton"."vesting_contracts" (
	"address" text PRIMARY KEY NOT NULL,
	"start_time" bigint,
	"total_duration" bigint,
	"unlock_period" bigint,
	"cliff_duration" bigint,
	"sender_address" text,
	"owner_address" text,
	"total_amount" numeric(38,0),
	"whitelist" text[],
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
-- How many transactions begin a trace, for `(hash = trace_id) is true`. Partitions get theirs when they are made.
CREATE STATISTICS "ton"."transactions_roots" ON (hash = trace_id) FROM "ton"."transactions";
--> statement-breakpoint
CREATE INDEX "leases_dataset_scope_pass_index" ON "etl"."leases" USING btree ("dataset","scope","pass");--> statement-breakpoint
CREATE INDEX "lookups_due_index" ON "etl"."lookups" USING btree ("dataset","walk","again_at");--> statement-breakpoint
CREATE INDEX "kept_daily_changes_account" ON "etl"."kept_daily_changes" USING btree ("account","day");--> statement-breakpoint
CREATE INDEX "kept_daily_changes_asset" ON "etl"."kept_daily_changes" USING btree ("asset","day");--> statement-breakpoint
CREATE INDEX "kept_daily_legs_utime" ON "etl"."kept_daily_legs" USING btree ("utime","day");--> statement-breakpoint
CREATE INDEX "kept_daily_pools_pool" ON "etl"."kept_daily_pools" USING btree ("pool","day");--> statement-breakpoint
CREATE INDEX "kept_daily_trades_asset" ON "etl"."kept_daily_trades" USING btree ("asset","day");--> statement-breakpoint
CREATE INDEX "kept_hourly_trades_asset" ON "etl"."kept_hourly_trades" USING btree ("asset","day");--> statement-breakpoint
CREATE INDEX "pages_span_index" ON "etl"."pages" USING gist ("span");--> statement-breakpoint
CREATE INDEX "pages_dataset_committed_index" ON "etl"."pages" USING btree ("dataset","committed_at");--> statement-breakpoint
CREATE INDEX "verifications_dataset_id_index" ON "etl"."verifications" USING btree ("dataset","id");--> statement-breakpoint
CREATE INDEX "writes_written_at_index" ON "etl"."writes" USING btree ("written_at");--> statement-breakpoint
CREATE INDEX "account_states_code_index" ON "ton"."account_states" USING btree ("code_hash");--> statement-breakpoint
CREATE INDEX "account_transactions_hash_index" ON "ton"."account_transactions" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "action_accounts_account" ON "ton"."action_accounts" USING btree ("account","utime");--> statement-breakpoint
CREATE INDEX "actions_type" ON "ton"."actions" USING btree ("type","utime");--> statement-breakpoint
CREATE INDEX "actions_owned" ON "ton"."actions" USING btree ("asset","utime") WHERE type in ('nft_mint', 'dns_purchase', 'nft_transfer');--> statement-breakpoint
CREATE INDEX "blocks_id" ON "ton"."blocks" USING btree ("workchain","shard","seqno");--> statement-breakpoint
CREATE INDEX "jetton_burns_jetton_master" ON "ton"."jetton_burns" USING btree ("jetton_master","utime");--> statement-breakpoint
CREATE INDEX "jetton_burns_owner" ON "ton"."jetton_burns" USING btree ("owner","utime");--> statement-breakpoint
CREATE INDEX "jetton_transfers_jetton_master" ON "ton"."jetton_transfers" USING btree ("jetton_master","utime");--> statement-breakpoint
CREATE INDEX "jetton_transfers_source" ON "ton"."jetton_transfers" USING btree ("source","utime");--> statement-breakpoint
CREATE INDEX "jetton_transfers_destination" ON "ton"."jetton_transfers" USING btree ("destination","utime");--> statement-breakpoint
CREATE INDEX "jetton_wallets_owner_index" ON "ton"."jetton_wallets" USING btree ("owner");--> statement-breakpoint
CREATE INDEX "jetton_wallets_jetton_index" ON "ton"."jetton_wallets" USING btree ("jetton");--> statement-breakpoint
CREATE INDEX "messages_bounced" ON "ton"."messages" USING btree ("destination","utime") WHERE bounced;--> statement-breakpoint
CREATE INDEX "messages_hash" ON "ton"."messages" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "messages_hash_norm" ON "ton"."messages" USING btree ("hash_norm") WHERE hash_norm is not null;--> statement-breakpoint
CREATE INDEX "messages_jettons" ON "ton"."messages" USING btree ("source","destination") WHERE opcode = '0x178d4519';--> statement-breakpoint
CREATE INDEX "messages_minted" ON "ton"."messages" USING btree ("utime") WHERE opcode = '0x178d4519';--> statement-breakpoint
CREATE INDEX "nft_items_owner_index" ON "ton"."nft_items" USING btree ("owner_address");--> statement-breakpoint
CREATE INDEX "nft_items_collection_index" ON "ton"."nft_items" USING btree ("collection_address","index");--> statement-breakpoint
CREATE INDEX "nft_items_code_index" ON "ton"."nft_items" USING btree ("code_hash","address");--> statement-breakpoint
CREATE INDEX "nft_sales_item_index" ON "ton"."nft_sales" USING btree ("nft_address");--> statement-breakpoint
CREATE INDEX "nft_transfers_nft_address" ON "ton"."nft_transfers" USING btree ("nft_address","utime");--> statement-breakpoint
CREATE INDEX "nft_transfers_new_owner" ON "ton"."nft_transfers" USING btree ("new_owner","utime");--> statement-breakpoint
CREATE INDEX "nominator_events_pool" ON "ton"."nominator_events" USING btree ("pool_address","utime");--> statement-breakpoint
CREATE INDEX "nominator_pool_events_pool" ON "ton"."nominator_pool_events" USING btree ("pool_address","utime");--> statement-breakpoint
CREATE INDEX "traces_trace_id" ON "ton"."traces" USING btree ("trace_id");--> statement-breakpoint
CREATE INDEX "transactions_hash" ON "ton"."transactions" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "transactions_account" ON "ton"."transactions" USING btree ("account","utime","lt");--> statement-breakpoint
-- This one row is updated many times a second. The room in its page keeps every new version there and out of the index,
-- and lets the next update remove the old ones.
ALTER TABLE "etl"."budget" SET (fillfactor = 10, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 100000);
