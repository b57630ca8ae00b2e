import { proveSetUps } from './support/prove.js';
import { GROUPS } from './support/set-ups.js';

proveSetUps('NestJS 11, watched', GROUPS['NestJS 11: watched']);
proveSetUps('NestJS 12, watched', GROUPS['NestJS 12: watched']);
