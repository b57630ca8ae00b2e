import { ConsoleLogger } from '@nestjs/common';

/**
 * Nest's logger: each line begins with the instance and the time to the millisecond. At the level `debug`, which Nest
 * shows unless told otherwise, the library tells of every acquisition, renewal, release and skip.
 */
export class SampleLogger extends ConsoleLogger {
  constructor() {
    super({
      prefix: process.env['INSTANCE_ID'] ?? 'sample-app',
      colors: process.stdout.isTTY === true && !process.env['NO_COLOR'],
    });
  }

  protected override getTimestamp(): string {
    const now = new Date();
    return `${now.toLocaleTimeString('en-GB')}.${String(now.getMilliseconds()).padStart(3, '0')}`;
  }
}
