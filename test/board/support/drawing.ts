/*
 * The page as a drawing: an SVG of some kilobytes, where a picture takes a hundred. It travels with the documents in the package.
 */

/**
 * Runs in the browser: boxes, shapes and lines of text of what is to be seen without scrolling, where the browser has put them.
 *
 * Text has the length that it has in the browser, so another font at the reader's does not move it. Ages are zero: else each drawing differs.
 */
export const DRAW = /* js */ `(() => {
  const [width, height] = [innerWidth, innerHeight];
  // What all strips have behind them stands once in the page.
  const behind = document.getElementById('behind');
  for (const use of document.querySelectorAll('use')) use.replaceWith(behind.cloneNode(true));
  const round = (number) => Math.round(number);
  const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const hex = (color) => {
    if (color.startsWith('url')) return undefined;
    const [red, green, blue, alpha = 1] = (color.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    return alpha === 0 || color === 'none' ? undefined : '#' + [red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('');
  };
  const out = [];
  const rect = (left, top, wide, high, fill, more = '') =>
    out.push('<rect x="' + round(left) + '" y="' + round(top) + '" width="' + Math.max(1, round(wide)) + '" height="' + Math.max(1, round(high)) + '" fill="' + fill + '"' + more + '/>');
  const box = (element, style, { left, top, width: wide, height: high }) => {
    const edge = style.borderTopWidth !== '0px' ? hex(style.borderTopColor) : undefined;
    const fill = hex(style.backgroundColor);
    const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, high / 2);
    if (fill || edge) rect(left, top, wide, high, fill ?? 'none', (radius ? ' rx="' + round(radius) + '"' : '') + (edge ? ' stroke="' + edge + '"' : ''));
    const side = parseFloat(style.borderLeftWidth);
    if (side > 2) rect(left, top, side, high, hex(style.borderLeftColor));
  };
  const shape = (element, style, { left, top, width: wide, height: high }) => {
    const fill = hex(style.fill) ?? 'none';
    const stroke = hex(style.stroke);
    const clear = Number(style.fillOpacity) * Number(style.opacity);
    const more = (stroke ? ' stroke="' + stroke + '"' : '') + (clear < 1 ? ' fill-opacity="' + clear + '"' : '');
    if (element.tagName === 'svg') box(element, style, { left, top, width: wide, height: high });
    if (element.tagName === 'rect') rect(left, top, wide, high, fill, more);
    if (element.tagName === 'line') rect(left, top, wide, high, stroke ?? fill);
    const at = element.getScreenCTM();
    if (element.tagName === 'path') out.push('<path transform="translate(' + round(at.e) + ' ' + round(at.f) + ')" d="' + element.getAttribute('d') + '" fill="' + fill + '"' + more + '/>');
  };
  const line = (text, { left, top, width: wide, height: high }, style) => {
    const bold = Number(style.fontWeight) > 500 ? ' font-weight="700"' : '';
    const linked = style.textDecorationLine === 'underline' ? ' text-decoration="underline"' : '';
    out.push('<text x="' + round(left) + '" y="' + round(top + high * 0.79) + '" textLength="' + round(wide) + '" font-size="' + parseFloat(style.fontSize) + '" fill="' + hex(style.fill !== 'rgb(0, 0, 0)' ? style.fill : style.color) + '"' + bold + linked + '>' + escaped(text) + '</text>');
  };
  const words = (node, style) => {
    const range = document.createRange();
    const lines = [];
    for (const { index, 0: word } of node.data.matchAll(/[^\\s-]+-?|-/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      for (const at of [...range.getClientRects()].slice(0, 1)) {
        const last = lines.at(-1);
        if (last && Math.abs(last.at.top - at.top) < 3) Object.assign(last, { text: last.text + (/\\s/.test(node.data[index - 1]) ? ' ' : '') + word, at: { ...last.at, width: at.right - last.at.left, left: last.at.left, top: last.at.top, height: at.height } });
        else lines.push({ text: word, at: { left: at.left, top: at.top, width: at.width, height: at.height } });
      }
    }
    for (const { text, at } of lines) if (at.top + at.height <= height) line(text.replace(/\\b\\d+ s old/, '0 s old'), at, style);
  };
  const visit = (element) => {
    const style = getComputedStyle(element);
    const at = element.getBoundingClientRect();
    const details = element.closest('details');
    if (details && !details.open && element !== details && !element.closest('summary')) return;
    if (element.closest('defs')) return;
    if (style.visibility === 'hidden' || style.display === 'none' || style.clipPath !== 'none' || at.right < 0) return;
    if (at.top < height && (at.width > 0 || element.tagName === 'line')) (element instanceof SVGElement ? shape : box)(element, style, at);
    for (const child of element.childNodes) {
      if (child.nodeType === 1) visit(child);
      else if (child.nodeType === 3 && element.tagName !== 'title') words(child, style);
    }
  };
  visit(document.body);
  const title = '<title>' + escaped(document.title) + '</title>';
  return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ' + width + ' ' + height + '" width="' + width + '" height="' + height + '" role="img" font-family="system-ui, sans-serif">\\n' + title + '\\n' + out.join('\\n') + '\\n</svg>\\n';
})()`;
