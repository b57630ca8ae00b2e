export interface BenchArguments {
  /** Rounds of each case; 0: each case's own number. */
  readonly rounds: number;
  /** Only the cases whose name contains this. */
  readonly only: string;
  /** A tenth of the work: shows that everything runs, and proves nothing. */
  readonly quick: boolean;
}

/**
 * `--rounds 5 --only refused --quick`, in any order, also as `--rounds=5`.
 *
 * @throws for anything else
 */
export function parseArguments(args: readonly string[]): BenchArguments {
  const left = args.flatMap((arg) => (arg.startsWith('--') ? arg.split('=') : [arg]));
  let [rounds, only, quick] = [0, '', false];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    if (arg === '--quick') quick = true;
    else if (arg === '--only') only = left.shift() ?? '';
    else if (arg === '--rounds') rounds = Number(left.shift());
    else throw new Error(`Unknown argument ${arg}. Known: --rounds <n>, --only <part of a name>, --quick`);
  }
  if (!Number.isSafeInteger(rounds) || rounds < 0) throw new Error('--rounds: give a whole number');
  return { rounds, only, quick };
}
