import { type Play, say } from './play.js';
import { TakeOver } from './take-over.js';
import { InLine } from './in-line.js';
import { OnPage } from './on-page.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `--waiting`: calls that wait for a lock. `--page`: all kinds of events, and a page that shows them; with `--once` it ends then. Otherwise jobs, one of whose instances is killed. Sets the exit code. */
export async function main(): Promise<void> {
  // `npm run demo | head`: whoever reads has seen enough. What was started ends with this process.
  process.stdout.on('error', () => process.exit(1));
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of SIGNALS) process.once(signal, () => reject(new Interrupted(signal)));
  });
  const demo = playOf(process.argv);
  try {
    await Promise.race([demo.play(storeArgument(process.argv)), interrupted]);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    say(`\n${error.signal}: stopping what was started.`);
    await demo.cast.cleanUp();
    // The play is still waiting for what will not happen any more.
    process.exit(130);
  } finally {
    await demo.cast.cleanUp();
  }
}

const playOf = (args: readonly string[]): Play =>
  args.includes('--page')
    ? new OnPage(args.includes('--once'))
    : args.includes('--waiting')
      ? new InLine()
      : new TakeOver();

class Interrupted extends Error {
  constructor(readonly signal: string) {
    super(signal);
  }
}

/** `--store postgres`, or `--store=postgres`. */
function storeArgument(args: readonly string[]): string {
  const words = args.flatMap((arg) => arg.split('='));
  const at = words.indexOf('--store');
  return at < 0 ? 'redis' : (words[at + 1] ?? '');
}
