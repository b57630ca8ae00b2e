/*
 * The library of the templates: https://preactjs.com. Only its types and what makes a text of a template are used, nothing of it runs in
 * a browser. The build puts it into this file, so the package has no dependency more. It escapes every text and every attribute.
 */
export { type ComponentChild, type ComponentChildren, Fragment, h } from 'preact';
export { renderToString } from 'preact-render-to-string';
