import type pg from 'pg';
import type { BenchStore } from '../store.ts';
import { CANDIDATES } from './candidates.ts';
import { questionsOf, type Question } from './questions.ts';

const ROUNDS = 5;

/** How fast a question was answered. */
export interface Answer {
  readonly question: string;
  /** Null: with the existing indexes. */
  readonly using: string | null;
  readonly rows: number;
  /** Median of warm answers, planning included. */
  readonly milliseconds: number;
}

/** Asks each question with the existing indexes, and with each candidate that might help. */
export async function askAll({ client }: BenchStore): Promise<Answer[]> {
  const questions = await questionsOf(client);
  const answers: Answer[] = [];
  for (const question of questions) answers.push(await ask(client, question, null));
  for (const candidate of CANDIDATES) {
    const { table, using } = candidate;
    const helped = questions.filter(({ helps }) => helps(candidate));
    if (using === null || helped.length === 0) continue;
    await client.query(`create index candidate on ton.${table} using ${using}`);
    for (const question of helped) answers.push(await ask(client, question, using));
    await client.query('drop index ton.candidate');
  }
  return answers;
}

async function ask(client: pg.Client, { name, sql }: Question, using: string | null): Promise<Answer> {
  const { rowCount } = await client.query(sql);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await client.query(sql);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { question: name, using, rows: rowCount ?? 0, milliseconds: times[Math.floor(ROUNDS / 2)] ?? NaN };
}
