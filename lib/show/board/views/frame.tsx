import { lasting, linkTo, type Question } from '../data/question.js';
import { h, renderToString } from './templates.js';

/** What surrounds the parts of a page. */
interface Frame {
  /** Of the tab. */
  readonly title: string;
  readonly tone: 'good' | 'bad' | 'doubt';
  readonly question: Question;
  /** Names the assets of this build. */
  readonly build: string;
  /** Parts, as HTML that templates have made. */
  readonly parts: readonly string[];
  readonly isAway: boolean;
}

/** Marks that change the direction of the text behind them: who writes an error could make it read as another one. */
const MARKS = /(value="[^"]*")|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The whole page. Marks of direction are shown, not obeyed; what a form sends stays as it is. */
export function pageOf(frame: Frame): string {
  return `<!doctype html>${renderToString(<Page {...frame} />)}`.replace(
    MARKS,
    (mark, value: string | undefined) =>
      value ?? `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

const COLOURS = { good: '%23217a45', bad: '%23c62f26', doubt: '%23a36b00' } as const;

/** The policy of the page lets a browser load these files only. */
function Page({ title, tone, build, question, parts, isAway }: Frame): h.JSX.Element {
  const icon = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='${COLOURS[tone]}'/></svg>`;
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{title}</title>
        <link rel="icon" href={icon} />
        <link rel="stylesheet" href={`?asset=board.css&v=${build}`} />
        <script src={`?asset=board.js&v=${build}`} defer />
        <noscript>
          <meta http-equiv="refresh" content="30" />
        </noscript>
      </head>
      <body class={isAway ? 'away' : ''} data-zone={question.zone}>
        <a class="skip" href="#main">
          To the jobs
        </a>
        <header class="top">
          <h1>
            <a href={linkTo(lasting(question))}>Scheduled jobs</a>
          </h1>
        </header>
        <p id="said" class="sr" role="status" />
        <p id="done" class="notice" role="status" hidden />
        <p id="notice" class="notice" role="alert" hidden />
        <main id="main" dangerouslySetInnerHTML={{ __html: parts.join('') }} />
        <footer id="clock" data-live>
          <p class="note">Times are those of the store's clock, in {question.zone}.</p>
        </footer>
      </body>
    </html>
  );
}

/** Stands for a part that could not be made. The page shows the others. */
export const BrokenPart = ({ id, problem }: { id: string; problem: string }): h.JSX.Element => (
  <section id={id} class="region" data-live>
    <p class="problem">This part cannot be shown: {problem}</p>
  </section>
);

/** Nothing is known of the store yet. */
export const NothingKnown = ({ store, failure }: { store: string; failure: string }): h.JSX.Element => (
  <section id="verdict" class="verdict bad away" data-live="always" aria-label="Verdict">
    <p class="headline">Nothing is known: {store} has not answered</p>
    <p class="problem">{failure}</p>
  </section>
);
