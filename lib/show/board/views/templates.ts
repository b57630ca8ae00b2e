import { Component, type ComponentChildren, Fragment, h, options } from 'preact';
import { renderToString } from 'preact-render-to-string';

/**
 * The library of the templates: https://preactjs.com. Only its types and its rendering to text are used; nothing of
 * it runs in a browser. The build puts the library into this file, so the package needs no further dependency. The library escapes every
 * text and every attribute.
 */

// Lets a component show something else if what is in it cannot be drawn.
(options as { errorBoundaries?: boolean }).errorBoundaries = true;

/** Draws something, or, if that throws, however deep inside, something else. */
export class Guarded extends Component<{ draw: () => h.JSX.Element; broken: h.JSX.Element }> {
  override state = { isBroken: false };

  static override getDerivedStateFromError(): { isBroken: boolean } {
    return { isBroken: true };
  }

  override render(): h.JSX.Element {
    const { draw, broken } = this.props;
    return this.state.isBroken ? broken : h(draw, {});
  }
}

export { type ComponentChildren, Fragment, h, renderToString };
