/**
 * The library of the templates: https://preactjs.com. Only its types and its rendering to text are used; nothing of
 * it runs in a browser. The build puts the library into this file, so the package needs no further dependency. The library escapes every
 * text and every attribute.
 */
export { type ComponentChild, type ComponentChildren, Fragment, h } from 'preact';
export { renderToString } from 'preact-render-to-string';
