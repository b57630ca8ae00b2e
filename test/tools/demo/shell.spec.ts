import { describe, expect, it } from '@jest/globals';
import type { Run } from '../../../sample-app/demo/history.js';
import { questionsOf, summarizeAnswers } from '../../../sample-app/demo/shell.js';

const TICK = Date.parse('2026-11-24T22:55:02Z');

const run = (instance: string, tick: number, outcome: Run['outcome']): Run => ({
  job: 'report',
  instance,
  fencingToken: tick,
  tick,
  startedAt: 0,
  endedAt: 1,
  outcome,
});

const questions = questionsOf(run('B', TICK, 'killed'), run('A', TICK + 8_000, 'completed'));

/** As the shell gives them, without what does not matter. */
const ANSWERS = [
  `Redis 127.0.0.1:6379, 1 instance up, 2026-11-24 22:55:20Z

JOB               STATE
MailJob.send      failing ×2
PricesJob.refresh ok
ReportJob.build   ok`,
  `STARTED   JOB              OUTCOME      TOOK  TICK      INSTANCE
22:55:10  ReportJob.build  completed    8 s   22:55:10  A
22:55:02  ReportJob.build  interrupted  8 s   22:55:02  B`,
  'The tick of 2026-11-24 22:55:02Z ran on B: started at 22:55:02Z, and was interrupted: the instance died.',
];

describe('what a demo asks the shell', () => {
  it('is about the tick that was interrupted', () => {
    expect(questions.map(({ args }) => args.join(' '))).toEqual([
      'status',
      'runs ReportJob.build',
      'why ReportJob.build --at 2026-11-24T22:55:02Z',
    ]);
  });

  it('is shown with its command and its answer', () => {
    const { lines, faults } = summarizeAnswers(questions, ANSWERS);
    expect(faults).toEqual([]);
    const text = lines.join('\n');
    for (const { args } of questions)
      expect(text).toContain(`$ npx nestjs-scheduler-lock ${args.join(' ')}\n`);
    for (const answer of ANSWERS) expect(text).toContain(answer);
  });

  it.each([
    ['a fleet without the one that took over', 0, / 1 instance up/, ' no instance up'],
    ['a run that was not interrupted', 1, 'interrupted', 'completed  '],
    ['nobody who took over', 1, / A$/m, ' B'],
    ['a tick that was not interrupted', 2, 'interrupted', 'completed'],
    ['a tick that another one ran', 2, 'on B', 'on A'],
  ])('has a fault for %s', (_what, index, from, to) => {
    const answers = ANSWERS.with(index, (ANSWERS[index] ?? '').replace(from, to));
    expect(summarizeAnswers(questions, answers).faults).toEqual([
      `\`${questions[index]?.args.join(' ')}\` of the shell did not tell what happened`,
    ]);
  });

  it('has a fault for each that was not answered', () => {
    expect(summarizeAnswers(questions, []).faults).toHaveLength(questions.length);
  });
});
