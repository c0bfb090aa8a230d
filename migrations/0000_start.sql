CREATE SCHEMA IF NOT EXISTS "etl";
--> statement-breakpoint
CREATE SCHEMA "ton";
--> statement-breakpoint
CREATE SCHEMA "etl_partitions";
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
	"retry_at" timestamp with time zone NOT NULL,
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
CREATE TABLE "ton"."messages" (
	"utime" timestamp with time zone NOT NULL,
	"hash" text NOT NULL,
	"source" text,
	"destination" text,
	"value" numeric,
	"value_extra_currencies" jsonb,
	"fwd_fee" numeric,
	"ihr_fee" numeric,
	"extra_flags" text,
	"created_lt" bigint,
	"opcode" text,
	"decoded_opcode" text,
	"ihr_disabled" boolean,
	"bounce" boolean,
	"bounced" boolean,
	"import_fee" numeric,
	"content_hash" text,
	"content_body" text,
	"content_decoded" jsonb,
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
	"path" text NOT NULL,
	"reason" text NOT NULL,
	"raw" text NOT NULL,
	"request" text NOT NULL,
	"attempts" integer DEFAULT 1 NOT NULL,
	"first_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "quarantine_record" UNIQUE("dataset","scope","record_id")
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
	"total_fees" numeric NOT NULL,
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
	"storage_fees_collected" numeric,
	"storage_fees_due" numeric,
	"storage_status_change" text,
	"credit_due_fees_collected" numeric,
	"credit" numeric,
	"credit_extra_currencies" jsonb,
	"compute_skipped" boolean,
	"compute_reason" text,
	"compute_success" boolean,
	"compute_msg_state_used" boolean,
	"compute_account_activated" boolean,
	"compute_gas_fees" numeric,
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
	"action_total_fwd_fees" numeric,
	"action_total_action_fees" numeric,
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
	"bounce_req_fwd_fees" numeric,
	"bounce_msg_fees" numeric,
	"bounce_fwd_fees" numeric,
	"split_cur_shard_pfx_len" integer,
	"split_acc_split_depth" integer,
	"split_this_addr" text,
	"split_sibling_addr" text,
	"before_hash" text,
	"before_balance" numeric,
	"before_extra_currencies" jsonb,
	"before_account_status" text,
	"before_frozen_hash" text,
	"before_data_hash" text,
	"before_code_hash" text,
	"after_hash" text,
	"after_balance" numeric,
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
CREATE INDEX "blocks_id" ON "ton"."blocks" USING btree ("workchain","shard","seqno");--> statement-breakpoint
CREATE INDEX "leases_dataset_scope_pass_index" ON "etl"."leases" USING btree ("dataset","scope","pass");--> statement-breakpoint
CREATE INDEX "messages_hash" ON "ton"."messages" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "pages_span_index" ON "etl"."pages" USING gist ("span");--> statement-breakpoint
CREATE INDEX "pages_dataset_id_index" ON "etl"."pages" USING btree ("dataset","id");--> statement-breakpoint
CREATE INDEX "transactions_hash" ON "ton"."transactions" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "transactions_account" ON "ton"."transactions" USING btree ("account","utime","lt");