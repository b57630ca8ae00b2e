import { proveSetUps } from './support/prove.js';

proveSetUps('what `nest new` of CLI 11 makes', { template: 'nest11', setUps: [{ name: 'untouched' }] });
