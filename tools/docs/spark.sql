-- What analysts call over a lake: functions of analyst.sql in the words of Spark 4 with Delta Lake. Its views follow.
-- Say first where the lake is: set lake=/data/lake;
create schema if not exists etl;

create schema if not exists ton;

-- Of the first 34 bytes of an address, as hex digits.
create or replace function etl.crc16(digits string) returns int return aggregate(
  transform(sequence(0, 33), place -> cast(conv(substr(digits, 2 * place + 1, 2), 16, 10) as int)), 0,
  (crc, byte) -> transform(transform(array((shiftright(crc, 8) ^ byte) & 255), x -> x ^ shiftright(x, 4)),
    x -> (shiftleft(crc, 8) ^ shiftleft(x, 12) ^ shiftleft(x, 5) ^ x) & 65535)[0]);

-- What is no friendly address is null: Spark decodes before it asks what form this is.
create or replace function etl.hex_of_friendly(word string) returns string return
  if(length(trim(word)) = 48, hex(try_to_binary(translate(trim(word), '-_', '+/'), 'base64')), null);

create or replace function etl.raw_of_hex(digits string) returns string return case
  when lpad(hex(etl.crc16(digits)), 4, '0') <> right(digits, 4) then raise_error('no address: its checksum is wrong')
  else concat(if(substr(digits, 3, 2) = 'FF', '-1', conv(substr(digits, 3, 2), 16, 10)), ':', substr(digits, 5, 64))
end;

create or replace function ton.ton_address(form string) returns string return case
  when form is null then null
  when trim(form) rlike '^-?[0-9]{1,10}:[0-9a-fA-F]{64}$' then concat(cast(split(trim(form), ':')[0] as int), ':', upper(split(form, ':')[1]))
  when trim(form) rlike '^[0-9a-fA-F]{64}$' then concat('0:', upper(trim(form)))
  else etl.raw_of_hex(etl.hex_of_friendly(form))
end;

create or replace function etl.friendly_bytes(raw string, bounceable boolean, testnet boolean) returns string return concat(
  lpad(hex(if(bounceable, 17, 81) + if(testnet, 128, 0)), 2, '0'),
  if(split(raw, ':')[0] = '-1', 'FF', lpad(hex(cast(split(raw, ':')[0] as int)), 2, '0')), split(raw, ':')[1]);

create or replace function etl.friendly_of_bytes(digits string) returns string return
  translate(base64(unhex(concat(digits, lpad(hex(etl.crc16(digits)), 4, '0')))), '+/', '-_');

create or replace function ton.ton_address_friendly(address string, bounceable boolean default true, testnet boolean default false)
returns string return etl.friendly_of_bytes(etl.friendly_bytes(ton.ton_address(address), bounceable, testnet));

create or replace function ton.ton_hash(form string) returns string return case
  when trim(form) rlike '^(0[xX])?[0-9a-fA-F]{64}$' then base64(unhex(right(trim(form), 64)))
  else concat(translate(left(trim(form), 43), '-_', '+/'), '=')
end;

create or replace function ton.hash_hex(hash string) returns string return lower(hex(unbase64(ton.ton_hash(hash))));

create or replace function ton.nano_to_ton(nanotons decimal(28,0)) returns decimal(38,9) return nanotons * 0.000000001BD;
