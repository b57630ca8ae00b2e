import { proveSetUps } from './support/prove.js';

proveSetUps('what `nest new` of CLI 12 makes', { template: 'nest12', setUps: [{ name: 'untouched' }] });
