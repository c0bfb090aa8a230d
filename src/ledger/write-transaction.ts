import type { Database, OpenTransaction, TransactionHow } from '../postgres/database.ts';
import { requireOwnSchema } from '../postgres/own-schema.ts';

/**
 * Runs `work` in one transaction, and commits it only where no newer program has migrated the database. It asks last, so
 * that whichever waits for the other, a commit or a migration of the same rows, sees what that one did.
 * @throws WrongDatabaseError where a newer program has migrated the database: nothing was written
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
