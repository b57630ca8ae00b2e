import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { SampleLogger } from './sample-logger.js';

const app = await NestFactory.create(AppModule, { logger: new SampleLogger() });

// At SIGTERM and Ctrl-C leases are given back, so that the next instance need not wait until they expire.
app.enableShutdownHooks();

await app.listen(process.env['PORT'] ?? 3000, '127.0.0.1');
new Logger('SampleApp').log(`To run a job by hand: curl -X POST ${await app.getUrl()}/jobs/report`);
