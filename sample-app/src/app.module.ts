import { Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { ScheduleModule } from '@nestjs/schedule';
import { SchedulerLockModule } from 'nestjs-scheduler-lock';
import { HealthController } from './health.controller.js';
import { JobsModule } from './jobs/jobs.module.js';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true }),
    ScheduleModule.forRoot(),
    SchedulerLockModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        connection: config.get('REDIS_URL', 'redis://127.0.0.1:6379'),
        keyPrefix: config.get('LOCK_PREFIX', 'sample-app'),
        // By default host:pid:short-uuid; a name that people know reads better. Must differ between instances.
        instanceId: config.get<string>('INSTANCE_ID'),
        // How long Ctrl-C waits for a running job. In production leave the default of 25 s.
        shutdownTimeout: '2s',
      }),
    }),
    JobsModule,
  ],
  controllers: [HealthController],
})
export class AppModule {}
