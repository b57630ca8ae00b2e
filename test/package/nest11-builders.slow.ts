import { proveSetUps } from './support/prove.js';
import { GROUPS } from './support/set-ups.js';

proveSetUps('NestJS 11: builders', GROUPS['NestJS 11: builders']);
