import type { SqlDialect, TableLook } from '../../../../../lib/stores/sql/dialect.js';

export const TOKEN = '0f8fad5b-d9cb-469f-a165-70867728950e';
export const request = { name: 'job', token: TOKEN, ttl: 60_000, holder: 'host' };

/** A database in which every lock is free. */
export const free: Pick<SqlDialect<object>, 'read' | 'write'> = {
  read: async () => ({ now: 1_000, documents: [] }),
  write: async (_table, changes) => changes.map(() => true),
};

/** A database that answers as it is told. */
export function scripted(script: Partial<SqlDialect<object>>): SqlDialect<object> {
  const nothing = (): never => {
    throw new Error('nobody told what to answer');
  };
  return {
    kind: 'SQL',
    table: 'shedlock',
    look: async (): Promise<TableLook<object>> => ({ table: {} }),
    attempt: async () => undefined,
    setup: (locks = ['CREATE TABLE shedlock']) => locks.join(';\n'),
    nameProblem: () => undefined,
    migrate: nothing,
    reconnect: () => undefined,
    read: nothing,
    write: nothing,
    renew: nothing,
    entries: {} as SqlDialect<object>['entries'],
    failure: (error) => (Object(error).conflict === true ? 'conflict' : 'refused'),
    ...script,
  };
}
