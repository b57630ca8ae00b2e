const FATES = ['killed', 'timeout', 'survived', 'unclear', 'not compiled'];

/**
 * Prints a table, and what is left to do.
 *
 * @returns whether nothing is
 */
export function printReport({ files, all, judged, stale, tried }) {
  const rows = files.map((file) =>
    rowOf(
      file,
      [all, tried].map((list) => list.filter((one) => one.file === file)),
      judged,
    ),
  );
  const total = rowOf('all', [all, tried], judged);
  console.log();
  for (const line of table([...rows.filter((row) => row.tried > 0), total])) console.log(line);
  const survived = tried.filter(({ fate }) => fate === 'survived' || fate === 'unclear');
  if (survived.length > 0)
    console.log(
      `\n${survived.length} survived, or the tests fail without them: write a test, or judge them:`,
    );
  for (const { file, original, mutated } of survived)
    console.log(`${JSON.stringify({ file, original, mutated, why: '' })},`);
  for (const { file, original, mutated } of stale)
    console.log(`\nJudged, but there is no such mutant any more: ${file}\n  - ${original}\n  + ${mutated}`);
  return survived.length === 0 && stale.length === 0;
}

function rowOf(name, [all, tried], judged) {
  const row = { name, mutants: all.length, tried: tried.length };
  for (const fate of FATES) row[fate] = tried.filter((mutant) => mutant.fate === fate).length;
  row.judged = judged.filter(({ file }) => name === 'all' || file === name).length;
  const noticed = row.killed + row.timeout;
  row.score =
    noticed + row.survived === 0 ? '-' : `${((100 * noticed) / (noticed + row.survived)).toFixed(1)} %`;
  return row;
}

function table(rows) {
  const columns = ['name', 'mutants', 'tried', ...FATES, 'judged', 'score'];
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index].length)));
  return cells.map((row) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[index])))
      .join('  '),
  );
}
