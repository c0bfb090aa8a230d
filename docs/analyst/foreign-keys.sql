-- Foreign keys that Postgres 18 and newer keep without looking at the rows: the other row may not be stored. Metabase,
-- DBeaver and SQLAlchemy read them. Run it as the owner; it can be run again, and after a new version has migrated.

alter table ton.jetton_burns drop constraint if exists jetton_burns_master,
  add constraint jetton_burns_master foreign key (jetton_master) references ton.jetton_masters (address) not enforced;
alter table ton.jetton_transfers drop constraint if exists jetton_transfers_master,
  add constraint jetton_transfers_master foreign key (jetton_master) references ton.jetton_masters (address) not enforced;
alter table ton.jetton_wallets drop constraint if exists jetton_wallets_master,
  add constraint jetton_wallets_master foreign key (jetton) references ton.jetton_masters (address) not enforced;
alter table ton.multisig_order_actions drop constraint if exists multisig_order_actions_order,
  add constraint multisig_order_actions_order foreign key (order_address) references ton.multisig_orders (address) not enforced;
alter table ton.multisig_orders drop constraint if exists multisig_orders_wallet,
  add constraint multisig_orders_wallet foreign key (multisig_address) references ton.multisig_wallets (address) not enforced;
alter table ton.nft_items drop constraint if exists nft_items_collection,
  add constraint nft_items_collection foreign key (collection_address) references ton.nft_collections (address) not enforced;
alter table ton.nft_items drop constraint if exists nft_items_sale,
  add constraint nft_items_sale foreign key (sale_contract_address) references ton.nft_sales (address) not enforced;
alter table ton.nft_sales drop constraint if exists nft_sales_item,
  add constraint nft_sales_item foreign key (nft_address) references ton.nft_items (address) not enforced;
alter table ton.nft_transfers drop constraint if exists nft_transfers_item,
  add constraint nft_transfers_item foreign key (nft_address) references ton.nft_items (address) not enforced;
alter table ton.nominator_events drop constraint if exists nominator_events_pool,
  add constraint nominator_events_pool foreign key (pool_address) references ton.nominator_pools (address) not enforced;
