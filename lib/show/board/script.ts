/**
 * The only script of the page. Without a script, the page shows everything as of the time when it was loaded.
 *
 * 1. The script fetches the page again while the page is visible, and replaces the parts that have changed.
 * 2. It leaves the part under the pointer, and the part with the focus: nothing moves away from there.
 * 3. It says how old the page is, and greys the page if there is no newer one.
 */
export const SCRIPT = /* js */ `(() => {
  'use strict';
  const EVERY = 5000, OLD = 15000, LIMIT = 20000;
  const byId = (id) => document.getElementById(id);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  let busy = false, answeredAt = performance.now(), age = ageOf(document), problem = '', isStale = document.body.classList.contains('stale');

  function ageOf(page) { return Number(page.getElementById('verdict')?.dataset.age ?? 0); }

  /** The address of the page, with the zone of the viewer, unless the viewer has asked for another zone. */
  function address() {
    const url = new URL(location.href);
    url.hash = '';
    if (!url.searchParams.has('zone') && zone) url.searchParams.set('zone', zone);
    return url;
  }

  async function refresh() {
    if (busy || document.visibilityState !== 'visible') return;
    busy = true;
    try {
      const response = await fetch(address(), { headers: { accept: 'text/html' }, signal: AbortSignal.timeout(LIMIT) });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      if (!page.getElementById('verdict') || response.redirected) throw new Error('the application answered ' + response.status);
      replace(page);
      answeredAt = performance.now();
      age = ageOf(page);
      isStale = page.body.classList.contains('stale');
      problem = '';
    } catch (error) {
      problem = error.message || String(error);
    } finally {
      busy = false;
      tell();
    }
  }

  function replace(page) {
    say(page.querySelector('.headline')?.textContent);
    const ids = (from) => [...from.querySelectorAll('#main > [id]')].map((part) => part.id).join();
    if (ids(page) !== ids(document) && !isHeld(byId('main'))) return byId('main').replaceChildren(...document.importNode(page.getElementById('main'), true).childNodes);
    for (const part of document.querySelectorAll('[data-live]')) {
      const next = page.getElementById(part.id);
      if (!next) continue;
      const held = part.dataset.live !== 'always' && isHeld(part);
      part.classList.toggle('held', held);
      if (held) continue;
      for (const details of part.querySelectorAll('details[id][open]')) next.querySelector('#' + details.id)?.setAttribute('open', '');
      if (part.outerHTML === next.outerHTML) continue;
      const moved = [...part.querySelectorAll('.wide')].map((table) => table.scrollLeft);
      const fresh = document.importNode(next, true);
      part.replaceWith(fresh);
      fresh.querySelectorAll('.wide').forEach((table, n) => { table.scrollLeft = moved[n] ?? 0; });
    }
  }

  function isHeld(part) {
    const selected = getSelection();
    return part.matches(':hover') || part.contains(document.activeElement) ||
      (selected !== null && !selected.isCollapsed && part.contains(selected.anchorNode));
  }

  /** Tells users of a screen reader, and only what is new. */
  function say(text) {
    if (text && byId('said').dataset.last !== text) {
      if (byId('said').dataset.last) byId('said').textContent = text;
      byId('said').dataset.last = text;
    }
  }

  function tell() {
    const now = age + performance.now() - answeredAt;
    const seconds = Math.round(now / 1000);
    for (const place of document.querySelectorAll('[data-since]')) place.textContent = seconds + ' s old';
    const isOld = now > OLD;
    document.body.classList.toggle('stale', isOld || isStale);
    const notice = byId('notice');
    const text = isOld ? 'What you see is ' + seconds + ' s old: no newer answer' + (problem ? ' (' + problem + ')' : '') + '.' : '';
    if (notice.textContent !== text) notice.textContent = text;
    notice.hidden = text === '';
  }

  document.addEventListener('submit', async (event) => {
    const form = event.target;
    if (!form.dataset.action) return;
    event.preventDefault();
    const output = byId('done');
    output.hidden = false;
    const button = event.submitter ?? form.querySelector('button');
    button.disabled = true;
    output.textContent = '…';
    try {
      const token = /(?:^|; )scheduler-lock-board=([^;]*)/.exec(document.cookie)?.[1] ?? '';
      const response = await fetch(location.pathname.replace(/\\/?$/, '/') + form.dataset.action, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-scheduler-lock-board': token },
        body: JSON.stringify(Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''))),
      });
      const answer = await response.json().catch(() => ({}));
      output.textContent = answer.sentence ?? answer.error ?? answer.message ?? 'The application answered ' + response.status;
    } catch (error) {
      output.textContent = 'No answer: ' + error.message;
    } finally {
      button.disabled = false;
      refresh();
    }
  });

  say(document.querySelector('.headline')?.textContent);
  document.documentElement.classList.add('live');
  document.addEventListener('visibilitychange', refresh);
  setInterval(refresh, EVERY);
  setInterval(tell, 1000);
  if (zone && zone !== document.body.dataset.zone) refresh();
})();
`;
