import { proveSetUps } from './support/prove.js';
import { GROUPS } from './support/set-ups.js';

proveSetUps('NestJS 11: Jest 29', GROUPS['NestJS 11: Jest 29']);
