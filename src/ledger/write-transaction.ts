import type { Database, OpenTransaction, TransactionHow } from '../postgres/database.ts';
import { requireOwnSchema } from '../postgres/own-schema.ts';

/**
 * Runs `work` in one transaction, and commits only if no newer program has migrated the database. It checks that last:
 * if a commit and a migration of the same rows wait for each other, the later one sees the result of the earlier one.
 * @throws WrongDatabaseError if a newer program has migrated the database: nothing was written
 */
export function writeTransaction<T>(
  database: Database,
  work: (session: OpenTransaction) => Promise<T>,
  how?: TransactionHow,
): Promise<T> {
  return database.transaction(async (session) => {
    const result = await work(session);
    await requireOwnSchema(session);
    return result;
  }, how);
}
