-- What analysts call over a lake: functions of analyst.sql in the words of ClickHouse. Its views follow.
-- Replace /data/lake by the place of yours.
set session_timezone = 'UTC';

create database if not exists etl;

create database if not exists ton;

-- Of bytes, as they stand before a friendly address's checksum.
create or replace function etl_crc16_of as (crc, x) -> toUInt16(bitAnd(65535,
  bitXor(bitXor(bitShiftLeft(toUInt32(crc), 8), bitShiftLeft(toUInt32(x), 12)), bitXor(bitShiftLeft(toUInt32(x), 5), toUInt32(x)))));

create or replace function etl_crc16_mix as (x) -> bitXor(x, bitShiftRight(x, 4));

create or replace function etl_crc16 as (bytes) -> arrayFold(
  (crc, place) -> etl_crc16_of(crc, etl_crc16_mix(bitXor(bitShiftRight(crc, 8), toUInt16(ascii(substring(assumeNotNull(bytes), place, 1)))))),
  range(1, 35), toUInt16(0));

create or replace function etl_bytes_of_friendly as (word) -> tryBase64Decode(translate(trim(word), '-_', '+/'));

create or replace function etl_raw_of_bytes as (bytes, isFriendly) -> concat(
  if(throwIf(isFriendly and leftPad(hex(etl_crc16(bytes)), 4, '0') <> hex(substring(bytes, 35, 2)), 'no address: its checksum is wrong') = 0, '', ''),
  toString(reinterpretAsInt8(substring(bytes, 2, 1))), ':', hex(substring(bytes, 3, 32)));

create or replace function ton_address as (form) -> multiIf(
  match(trim(form), '^-?[0-9]{1,10}:[0-9a-fA-F]{64}$'), concat(toString(toInt32OrZero(substringIndex(trim(form), ':', 1))), ':', upper(substringIndex(trim(form), ':', -1))),
  match(trim(form), '^[0-9a-fA-F]{64}$'), concat('0:', upper(trim(form))),
  length(trim(form)) = 48, etl_raw_of_bytes(etl_bytes_of_friendly(form), length(trim(form)) = 48),
  null);

create or replace function etl_friendly_of_bytes as (bytes) ->
  translate(base64Encode(concat(bytes, unhex(leftPad(hex(etl_crc16(bytes)), 4, '0')))), '+/', '-_');

-- The form that can be bounced, of the main network.
create or replace function ton_address_friendly as (address) -> etl_friendly_of_bytes(
  unhex(concat('11', if(startsWith(ton_address(address), '-1:'), 'FF', '00'), right(ton_address(address), 64))));

create or replace function to_timestamp as (seconds) -> toDateTime64(seconds, 6, 'UTC');

create or replace function nano_to_ton as (nanotons) -> nanotons * 0.000000001::Decimal(10, 9);
