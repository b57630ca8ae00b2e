import { createHash } from 'node:crypto';
import { SCRIPT } from './script.js';
import { STYLE } from './style.js';

/** Names what the assets are, so that a browser keeps them until they change. */
export const BUILD: string = createHash('sha256')
  .update(SCRIPT)
  .update(STYLE)
  .digest('base64url')
  .slice(0, 10);

export { SCRIPT, STYLE };
