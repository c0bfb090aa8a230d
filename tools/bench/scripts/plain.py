"""The script that somebody would write in an afternoon: pages of transactions with requests, COPY with psycopg.

usage: plain.py API DATABASE FROM TO (unix seconds, TO is exclusive)

It knows no budget, resumes nowhere and proves nothing: a mark for speed.
"""

import json
import sys

import psycopg
import requests

API, DATABASE, FROM, TO = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
LIMIT = 1000

TRANSACTION = (
    "hash account now lt block_ref_seqno mc_block_seqno trace_id prev_trans_hash prev_trans_lt orig_status end_status "
    "total_fees emulated description account_state_before account_state_after in_msg_hash"
).split()
MESSAGE = (
    "hash source destination value fwd_fee ihr_fee created_lt created_at opcode ihr_disabled bounce bounced import_fee "
    "message_content init_state"
).split()

TABLES = """
create table plain_transactions (
  hash text primary key, account text, now int8, lt int8, block_ref_seqno int8, mc_block_seqno int8, trace_id text,
  prev_trans_hash text, prev_trans_lt int8, orig_status text, end_status text, total_fees numeric, emulated boolean,
  description jsonb, account_state_before jsonb, account_state_after jsonb, in_msg_hash text);
create index on plain_transactions (now);
create index on plain_transactions (account);
create table plain_messages (
  hash text primary key, source text, destination text, value numeric, fwd_fee numeric, ihr_fee numeric, created_lt int8,
  created_at int8, opcode text, ihr_disabled boolean, bounce boolean, bounced boolean, import_fee numeric,
  message_content jsonb, init_state jsonb);
create index on plain_messages (source);
create index on plain_messages (destination);
"""


def value(given):
    return json.dumps(given) if isinstance(given, (dict, list)) else given


def store(cursor, table, columns, rows):
    """Many rows by COPY; those that are there already stay."""
    cursor.execute(f"create temp table if not exists new_{table} (like {table}) on commit delete rows")
    with cursor.copy(f"copy new_{table} ({', '.join(columns)}) from stdin") as copy:
        for row in rows:
            copy.write_row([value(row.get(column)) for column in columns])
    cursor.execute(f"insert into {table} select * from new_{table} on conflict do nothing")


session = requests.Session()
with psycopg.connect(DATABASE) as database:
    database.execute(TABLES)
    start, offset = FROM, 0
    while True:
        answer = session.get(
            f"{API}/api/v3/transactions",
            params={"start_utime": start, "end_utime": TO - 1, "limit": LIMIT, "offset": offset, "sort": "asc"},
            timeout=60,
        )
        answer.raise_for_status()
        page = answer.json()["transactions"]
        messages = {}
        for row in page:
            row["block_ref_seqno"] = row["block_ref"]["seqno"]
            incoming = row.get("in_msg")
            row["in_msg_hash"] = incoming and incoming["hash"]
            for message in [*([incoming] if incoming else []), *row["out_msgs"]]:
                messages[message["hash"]] = message
        with database.cursor() as cursor:
            store(cursor, "plain_transactions", TRANSACTION, page)
            store(cursor, "plain_messages", MESSAGE, messages.values())
        database.commit()
        if len(page) < LIMIT:
            break
        # The last second may go on: it is asked for again, and what is known of it skipped.
        last = page[-1]["now"]
        known = sum(1 for row in page if row["now"] == last)
        start, offset = (last, known) if last != start else (start, offset + LIMIT)
