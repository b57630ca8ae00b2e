import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../test/support/machine.js';
import type { Run } from './history.js';
import type { ShellPlace } from './lock-server.js';
import type { Summary } from './summary.js';

const MAIN = join(projectRoot, 'dist', 'show', 'cli', 'main.js');
const LIMIT = 20_000;
/** All is well, or a job needs attention: mail fails. */
const ANSWERED = [0, 1];

/** What a user asks the shell of the package after an instance has died. */
export interface Question {
  readonly args: readonly string[];
  /** What the answer tells, in a sentence. */
  readonly tells: string;
  /** What has to be in it. */
  readonly expected: readonly RegExp[];
}

/** @param next the run that took over */
export function questionsOf(killed: Run, next: Run): Question[] {
  const job = 'ReportJob.build';
  const tick = new Date(killed.tick ?? NaN).toISOString().replace('.000', '');
  return [
    {
      args: ['status'],
      tells: 'All jobs, those that need attention first: mail always fails.',
      expected: [
        / 1 instance up,/,
        /^MailJob\.send +(failing|running)/m,
        /^ReportJob\.build +(ok|running|overrun)/m,
      ],
    },
    {
      args: ['runs', job],
      tells: `Who ran it, newest first: ${killed.instance} was interrupted, and ${next.instance} took over.`,
      expected: [
        new RegExp(` interrupted .* ${killed.instance}$`, 'm'),
        new RegExp(` completed .* ${next.instance}$`, 'm'),
      ],
    },
    {
      args: ['why', job, '--at', tick],
      tells: `What became of one tick: ${killed.instance} died in the middle of it.`,
      expected: [new RegExp(` ran on ${killed.instance}: .* was interrupted: `)],
    },
  ];
}

/** Asks the built shell, as a process of its own. Returns what it says, also if it cannot answer. */
export function askShell({ url, options }: ShellPlace, { args }: Question): Promise<string> {
  const env = { ...process.env, SCHEDULER_LOCK_URL: url, NO_COLOR: '1' };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...args, ...options],
      // The folder of the application: the shell finds the dates of its crons by what is installed there.
      { env, cwd: projectRoot, timeout: LIMIT },
      (error, stdout, stderr) => {
        const answered = error === null || ANSWERED.includes(Number(error.code));
        resolve(answered ? stdout.trimEnd() : `${stdout}${stderr || error.message}`.trimEnd());
      },
    );
  });
}

/** The answers as a demo shows them, below the commands. */
export function summarizeAnswers(questions: readonly Question[], answers: readonly string[]): Summary {
  const asked = questions.map((question, index) => ({ ...question, answer: answers[index] ?? '' }));
  return {
    lines: asked.flatMap(({ args, tells, answer }) => [
      '',
      `$ npx nestjs-scheduler-lock ${args.join(' ')}`,
      `# ${tells}`,
      ...answer.split('\n'),
    ]),
    faults: asked
      .filter(({ expected, answer }) => !expected.every((pattern) => pattern.test(answer)))
      .map(({ args }) => `\`${args.join(' ')}\` of the shell did not tell what happened`),
  };
}
