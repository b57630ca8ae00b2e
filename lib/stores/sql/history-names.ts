import type { TableNames } from './table-name.js';

/** Why there can be no tables of histories: their names are too long. */
export function historyProblem(names: TableNames): string | undefined {
  if (names.problemOf('_instances') === undefined) return undefined;
  const [runs, instances] = [`${names.table}_runs`, `${names.table}_instances`];
  return `Histories are kept in the tables ${runs} and ${instances}, whose names are too long, so none are kept. Give a shorter name (table).`;
}
