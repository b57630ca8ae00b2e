import { formatDuration } from '../base/duration.js';
import { logWarning } from './log/log.js';
import type { Shown } from '../insight/beats.js';
import type { Renamed } from '../insight/renamed.js';
import type { Stranger } from '../insight/strangers.js';
import { names } from './start-line.js';

function twinOf(instance: string, startedAt: number): string {
  return (
    `instanceId: another live process is called "${instance}" too (started ${new Date(startedAt).toISOString()} by its clock). ` +
    'Locks keep the two apart, but people cannot: status, histories and logs take them for one. ' +
    'Give each process an instanceId of its own, such as the name of its pod, or leave it out.'
  );
}

export function strangerOf(application: string, { application: other, instance, jobs }: Stranger): string {
  return (
    `The application "${other}" (instance ${instance}) has jobs of the same names in this store as "${application}": ${names(jobs)}. ` +
    'Each of their ticks runs in one of the two applications, not in both. ' +
    'Give each application a place of its own: keyPrefix on Redis, schema or table in a database. ' +
    'If they shall share these jobs, give both the same insight.application.'
  );
}

export const warnings = (instance: string): Pick<Shown, 'skewed' | 'twin'> => ({
  skewed: (offset) => logWarning(() => skewedBy(offset)),
  twin: (startedAt) => logWarning(() => twinOf(instance, startedAt)),
});

/** @param renamed of a job of this instance */
export const renamedAs = ({ job, other, instance }: Renamed): string =>
  `Was ${other} renamed? The live instance ${instance} has it, and this one has ${job} with the same schedule: each tick runs under ` +
  `both names. Give the method a fixed job: '${other}', or have the bundler keep the names of classes.`;

function skewedBy(offset: number): string {
  const differs = `${formatDuration(Math.abs(offset))} ${offset < 0 ? 'ahead of' : 'behind'}`;
  const so =
    offset < 0
      ? 'Its first tick is newer than those that come in that time, so no other instance runs these any more.'
      : 'Other instances start each tick before it, so it runs none.';
  return `The clock of this machine is ${differs} that of the store. ${so} Keep the clocks of all machines in step (NTP).`;
}
