CREATE TABLE "ton"."account_state_changes" (
	"address" text NOT NULL,
	"last_transaction_lt" bigint NOT NULL,
	"account_state_hash" text,
	"balance" numeric,
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
	"balance" numeric,
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
	"value" numeric,
	"extra_currencies" jsonb,
	"fwd_fee" numeric,
	"ihr_fee" numeric,
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
	"fee" numeric,
	"storage_fee" numeric,
	"other_fee" numeric,
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
CREATE TABLE "ton"."address_book" (
	"address" text PRIMARY KEY NOT NULL,
	"user_friendly" text,
	"domain" text,
	"interfaces" text[],
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
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
CREATE TABLE "ton"."jetton_masters" (
	"address" text PRIMARY KEY NOT NULL,
	"total_supply" numeric,
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
CREATE TABLE "ton"."jetton_wallets" (
	"address" text PRIMARY KEY NOT NULL,
	"balance" numeric,
	"owner" text,
	"jetton" text,
	"last_transaction_lt" bigint NOT NULL,
	"code_hash" text,
	"data_hash" text,
	"mintless_amount" numeric,
	"mintless_start_from" bigint,
	"mintless_expire_at" bigint,
	"mintless_custom_payload_api_uri" text[],
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
CREATE TABLE "ton"."multisig_orders" (
	"address" text PRIMARY KEY NOT NULL,
	"multisig_address" text NOT NULL,
	"order_seqno" numeric,
	"threshold" integer,
	"sent_for_execution" boolean,
	"approvals_mask" numeric,
	"approvals_num" integer,
	"expiration_date" numeric,
	"order_boc" text,
	"signers" text[],
	"actions" jsonb,
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
CREATE TABLE "ton"."vesting_contracts" (
	"address" text PRIMARY KEY NOT NULL,
	"start_time" bigint,
	"total_duration" bigint,
	"unlock_period" bigint,
	"cliff_duration" bigint,
	"sender_address" text,
	"owner_address" text,
	"total_amount" numeric,
	"whitelist" text[],
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ton"."nft_collections" (
	"address" text PRIMARY KEY NOT NULL,
	"owner_address" text,
	"next_item_index" numeric,
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
CREATE TABLE "ton"."extended_account_states" (
	"address" text NOT NULL,
	"mc_seqno" integer NOT NULL,
	"sync_utime" timestamp with time zone NOT NULL,
	"balance" numeric,
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
	CONSTRAINT "extended_account_states_address_mc_seqno_pk" PRIMARY KEY("address","mc_seqno")
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
CREATE TABLE "ton"."top_accounts" (
	"taken_at" timestamp with time zone NOT NULL,
	"rank" integer NOT NULL,
	"account" text NOT NULL,
	"balance" numeric NOT NULL,
	"extra" jsonb,
	"loaded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "top_accounts_taken_at_rank_pk" PRIMARY KEY("taken_at","rank")
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
CREATE INDEX "account_states_code_index" ON "ton"."account_states" USING btree ("code_hash");--> statement-breakpoint
CREATE INDEX "account_transactions_hash_index" ON "ton"."account_transactions" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "lookups_due_index" ON "etl"."lookups" USING btree ("dataset","walk","again_at");--> statement-breakpoint
CREATE INDEX "jetton_wallets_owner_index" ON "ton"."jetton_wallets" USING btree ("owner");--> statement-breakpoint
CREATE INDEX "jetton_wallets_jetton_index" ON "ton"."jetton_wallets" USING btree ("jetton");--> statement-breakpoint
CREATE INDEX "nft_items_owner_index" ON "ton"."nft_items" USING btree ("owner_address");--> statement-breakpoint
CREATE INDEX "nft_items_collection_index" ON "ton"."nft_items" USING btree ("collection_address","index");--> statement-breakpoint
CREATE INDEX "nft_sales_item_index" ON "ton"."nft_sales" USING btree ("nft_address");