import type { Cast } from './cast.js';
import { type Fact, type Run, runsOf } from './history.js';
import { paint } from './paint.js';
import { machineTime, type Report } from './reports.js';
import type { Summary } from './summary.js';
import type { Timeline } from './timeline.js';

export const say = (line = ''): void => void process.stdout.write(`${line}\n`);

/** A play that a demo shows. */
export interface Play {
  readonly cast: Cast;
  /** Sets the exit code: 0 if all went well. */
  play(store: string): Promise<void>;
}

/** What is known so far, and shown. */
export class Record {
  readonly #facts: Fact[] = [];
  timeline: Timeline | undefined;

  get runs(): Run[] {
    return runsOf(this.#facts);
  }

  note(fact: Fact): void {
    this.#facts.push(fact);
    this.timeline?.fact(fact);
  }

  /** Takes note of what a job tells. */
  hear(instance: string, report: Report): void {
    if (report.type === 'run-started' || report.type === 'run-ended') this.note({ ...report, instance });
  }

  /** Kills an instance. Returns when. */
  async kill(cast: Cast, instance: string, how: string): Promise<number> {
    const killedAt = machineTime();
    const pid = await cast.kill(instance);
    this.timeline?.banner(killedAt, `kill -9 ${pid}: ${instance} dies ${how}`, 'red');
    this.note({ type: 'instance-ended', instance, at: machineTime() });
    return killedAt;
  }
}

/** Tells what a play has shown. @param moral if all went well */
export function conclude({ lines, faults }: Summary, moral: string): void {
  say();
  for (const line of lines) say(`  ${line}`.trimEnd());
  say();
  for (const fault of faults) say(paint(`FAILED: ${fault}`, 'red', 'bold'));
  if (faults.length === 0) say(paint(moral, 'green'));
  else process.exitCode = 1;
}
