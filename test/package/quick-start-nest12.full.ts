import { proveQuickStart } from './support/quick-start.js';

proveQuickStart('nest12');
