import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '../../test/support/machine.js';
import { joinSharedRedis } from './shared-redis.js';

/** Does work while no other process on this machine does any. */
type Exclusively = <T>(work: () => Promise<T>) => Promise<T>;

/** Starts the sample app, as one more instance of those in other terminals. */
export async function main(exclusively: Exclusively): Promise<void> {
  const { env } = process;
  if (env['REDIS_URL']) {
    env['INSTANCE_ID'] ??= `instance-${process.pid}`;
    console.log(`This is ${env['INSTANCE_ID']}, with the Redis that REDIS_URL names.`);
  } else {
    const { url, number } = await exclusively(() => joinSharedRedis(onGone));
    env['REDIS_URL'] = url;
    env['INSTANCE_ID'] ??= `instance-${number}`;
    console.log(`This is ${env['INSTANCE_ID']}. All terminals share the Redis at ${url}.`);
  }
  console.log(
    `Start it in another terminal too. Stop it with Ctrl-C, or the hard way: kill -9 ${process.pid}`,
  );
  console.log();
  // Any free one: several instances run on this machine. The app says which.
  env['PORT'] ??= '0';
  await import(pathToFileURL(join(projectRoot, 'sample-app', 'dist', 'main.js')).href);
}

function onGone(): void {
  console.error('The shared Redis has ended: no instance runs a job any more. Start all of them again.');
}
