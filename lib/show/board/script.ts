/**
 * The only script of the page. Without a script, the page shows everything as of the time when it was loaded.
 *
 * 1. The script fetches the page again while the page is visible, and replaces the parts that have changed.
 * 2. It leaves the part under the pointer, and the part with the focus: nothing moves away from there.
 * 3. It says how old the page is. It filters the table as one types, and follows a run that a person has started to its end.
 */
export const SCRIPT = /* js */ `(() => {
  'use strict';
  const EVERY = 5000, OLD = 15000, LIMIT = 20000, TYPED = 250, FOLLOW = 2000;
  const byId = (id) => document.getElementById(id);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const shownZone = () => new URL(location.href).searchParams.get('zone') ?? zone;
  let said = '', busy = false, again = false, answeredAt = performance.now(), age = ageOf(document), problem = '', isAway = document.body.classList.contains('away');

  function ageOf(page) { return Number(page.getElementById('verdict')?.dataset.age ?? 0); }

  /** The address of the page, with the zone of the viewer, unless the viewer has asked for another zone. */
  function address(more = {}) {
    const url = new URL(location.href);
    url.hash = '';
    if (!url.searchParams.has('zone') && zone) url.searchParams.set('zone', zone);
    for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
    return url;
  }

  async function pageAt(url) {
    const response = await fetch(url, { headers: { accept: 'text/html' }, signal: AbortSignal.timeout(LIMIT) });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (!page.getElementById('verdict') || response.redirected) throw new Error('the application answered ' + response.status);
    return { page, older: Number(response.headers.get('age') ?? 0) * 1000 };
  }

  async function refresh(isAsked = false) {
    if (busy) again ||= isAsked;
    if (busy || document.visibilityState !== 'visible') return;
    busy = true;
    try {
      const { page, older } = await pageAt(address());
      replace(page, isAsked);
      answeredAt = performance.now();
      age = ageOf(page) + older;
      isAway = page.body.classList.contains('away');
      problem = '';
    } catch (error) {
      problem = error.message || String(error);
    } finally {
      busy = false;
      tell();
      if (again) { again = false; refresh(true); }
    }
  }

  function replace(page, isAsked) {
    document.title = page.title;
    const icon = document.querySelector('link[rel=icon]'), next = page.querySelector('link[rel=icon]');
    if (icon.href !== next.href) icon.href = next.href;
    say(page.querySelector('.headline')?.textContent);
    const ids = (from) => [...from.querySelectorAll('#main > [id]')].map((part) => part.id).join();
    if (ids(page) !== ids(document) && !isHeld(byId('main'))) return byId('main').replaceChildren(...document.importNode(page.getElementById('main'), true).childNodes);
    for (const part of document.querySelectorAll('[data-live]')) {
      const next = page.getElementById(part.id);
      if (!next) continue;
      const held = part.dataset.live !== 'always' && !isAsked && isHeld(part);
      part.classList.toggle('held', held);
      if (held) continue;
      for (const details of part.querySelectorAll('details[id]')) next.querySelector('#' + details.id)?.toggleAttribute('open', details.open);
      if (part.outerHTML === next.outerHTML) continue;
      part.replaceWith(document.importNode(next, true));
    }
  }

  function isHeld(part) {
    const selected = getSelection();
    return part.matches(':hover') || part.contains(document.activeElement) ||
      (selected !== null && !selected.isCollapsed && part.contains(selected.anchorNode));
  }

  /** Tells users of a screen reader, and only what is new. */
  function say(text) {
    if (said && text && text !== said) byId('said').textContent = text;
    said = text || said;
  }

  function tell() {
    const now = age + performance.now() - answeredAt;
    const seconds = Math.round(now / 1000);
    for (const place of document.querySelectorAll('[data-since]')) place.textContent = seconds + ' s old';
    const isOld = now > OLD;
    document.body.classList.toggle('away', isOld || isAway);
    const notice = byId('notice');
    const text = isOld && !isAway ? 'What you see is ' + seconds + ' s old: no newer answer' + (problem ? ' (' + problem + ')' : '') + '.' : '';
    if (notice.textContent !== text) notice.textContent = text;
    notice.hidden = text === '';
  }

  let typed;
  document.addEventListener('input', ({ target }) => {
    const form = target.form;
    if (form?.getAttribute('role') !== 'search') return;
    clearTimeout(typed);
    typed = setTimeout(() => {
      const url = new URL(location.href);
      for (const [name, value] of new FormData(form)) value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
      url.searchParams.delete('skip');
      history.replaceState(null, '', url);
      refresh(true);
    }, TYPED);
  });

  /** Says how a run has ended, when two answers agree: right at its end its record may not be there yet. */
  async function follow(job, token, output) {
    const said = output.textContent;
    for (let last; ;) {
      await new Promise((resolve) => setTimeout(resolve, FOLLOW));
      const { page } = await pageAt(address({ job, at: Math.floor(token / 1000) })).catch(() => ({}));
      const answer = page?.getElementById('answer');
      if (output.textContent !== said) return;
      if (answer?.dataset.ended !== String(token)) continue;
      const sentence = answer.querySelector('.sentence').textContent;
      if (sentence === last) {
        output.textContent = sentence;
        return refresh();
      }
      last = sentence;
    }
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
      const fields = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''));
      if (fields.throughPause) fields.throughPause = true;
      if (fields.fencingToken) fields.fencingToken = Number(fields.fencingToken);
      const response = await fetch(location.pathname.replace(/\\/?$/, '/') + form.dataset.action, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-scheduler-lock-zone': shownZone() },
        body: JSON.stringify(fields),
      });
      const answer = await response.json().catch(() => ({}));
      output.textContent = answer.sentence ?? answer.error ?? answer.message ?? 'The application answered ' + response.status;
      if (answer.result === 'started' && !answer.outcome) follow(fields.job, answer.fencingToken, output);
    } catch (error) {
      output.textContent = 'No answer: ' + error.message;
    } finally {
      button.disabled = false;
      refresh();
    }
  });

  say(document.querySelector('.headline')?.textContent);
  document.documentElement.classList.add('live');
  document.addEventListener('visibilitychange', () => refresh());
  setInterval(() => refresh(), EVERY);
  setInterval(tell, 1000);
  if (zone && zone !== document.body.dataset.zone) refresh();
})();
`;
