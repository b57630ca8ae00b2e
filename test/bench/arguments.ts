export interface BenchArguments {
  /** Rounds of each case; 0: each case's own number. */
  readonly rounds: number;
  /** Only the cases whose name contains this. */
  readonly only: string;
  /** A tenth of the work: shows that everything runs, but proves nothing. */
  readonly quick: boolean;
  /** The folder of another checkout of this project, with its tools built, to measure in the same rounds. '' : none. */
  readonly against: string;
}

/**
 * `--rounds 5 --only refused --quick --against ../before`, in any order, also as `--rounds=5`.
 *
 * @throws for anything else
 */
export function parseArguments(args: readonly string[]): BenchArguments {
  const left = args.flatMap((arg) => (arg.startsWith('--') ? arg.split('=') : [arg]));
  let [rounds, only, quick, against] = [0, '', false, ''];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    if (arg === '--quick') quick = true;
    else if (arg === '--only') only = left.shift() ?? '';
    else if (arg === '--rounds') rounds = Number(left.shift());
    else if (arg === '--against') against = left.shift() ?? '';
    else {
      throw new Error(
        `Unknown argument ${arg}. Known: --rounds <n>, --only <part of a name>, --quick, --against <folder of another checkout>`,
      );
    }
  }
  if (!Number.isSafeInteger(rounds) || rounds < 0) throw new Error('--rounds: give a whole number');
  return { rounds, only, quick, against };
}
