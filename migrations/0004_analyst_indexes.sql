CREATE INDEX "actions_minted" ON "ton"."actions" USING btree ("asset","utime") WHERE type in ('jetton_mint', 'nft_mint');--> statement-breakpoint
CREATE INDEX "actions_minted_for" ON "ton"."actions" USING btree ("destination","utime") WHERE type = 'jetton_mint';--> statement-breakpoint
CREATE INDEX "jetton_burns_owner" ON "ton"."jetton_burns" USING btree ("owner","utime");