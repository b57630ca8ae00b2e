import { proveSetUps } from './support/prove.js';
import { GROUPS } from './support/set-ups.js';

proveSetUps('NestJS 12', GROUPS['NestJS 12']);
