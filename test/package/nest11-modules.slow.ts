import { proveSetUps } from './support/prove.js';
import { GROUPS } from './support/set-ups.js';

proveSetUps('NestJS 11: modules and versions of Node', GROUPS['NestJS 11: modules and versions of Node']);
