import type Database from 'better-sqlite3';

/** The one way into a transaction: no other file says BEGIN, SAVEPOINT, COMMIT or ROLLBACK. */
export type Transactions = {
  begin(): void;
  commit(): void;
  /** Does nothing when SQLite has already rolled back by itself, as it does on a full disk and on some I/O errors. */
  rollback(): void;
  /** Runs `work` completely or not at all, as a transaction; errors travel on after the rollback. */
  run<T>(work: () => T): T;
  /** Runs `work` on one state of the file: commits of others during it are not seen. */
  read<T>(work: () => T): T;
  /** Runs `work` completely or not at all, inside an open transaction that goes on either way. */
  unit<T>(work: () => T): T;
};

export const transactionsOf = (db: Database.Database): Transactions => {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const beginReading = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const savepoint = db.prepare('SAVEPOINT unit');
  const release = db.prepare('RELEASE unit');
  const undo = db.prepare('ROLLBACK TO unit');

  const transactions: Transactions = {
    begin: () => {
      begin.run();
    },
    commit: () => {
      commit.run();
    },
    rollback: () => {
      if (db.inTransaction) rollback.run();
    },
    run: (work) => {
      transactions.begin();
      try {
        const value = work();
        transactions.commit();
        return value;
      } catch (error) {
        transactions.rollback();
        throw error;
      }
    },
    read: (work) => {
      beginReading.run();
      try {
        return work();
      } finally {
        transactions.rollback();
      }
    },
    unit: (work) => {
      savepoint.run();
      try {
        const value = work();
        release.run();
        return value;
      } catch (error) {
        if (db.inTransaction) {
          undo.run();
          release.run();
        }
        throw error;
      }
    },
  };
  return transactions;
};
