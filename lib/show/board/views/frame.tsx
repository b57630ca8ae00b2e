import { h, renderToString } from './templates.js';
import { linkTo, type Question } from '../data/question.js';
import { lasting } from './parts.js';

/** What surrounds the parts of a page. */
interface Frame {
  readonly title: string;
  readonly question: Question;
  /** Names the assets of this build. */
  readonly build: string;
  /** Parts, as HTML that templates have made. */
  readonly parts: readonly string[];
  readonly regions: readonly { readonly id: string; readonly title: string }[];
  readonly stale: boolean;
}

/** The whole page. */
export function pageOf(frame: Frame): string {
  return `<!doctype html>${renderToString(<Page {...frame} />)}`;
}

function Page({ title, build, question, parts, regions, stale }: Frame): h.JSX.Element {
  return (
    <html lang="en">
      <Head title={title} build={build} />
      <body class={stale ? 'stale' : ''} data-zone={question.zone}>
        <a class="skip" href="#main">
          To the jobs
        </a>
        <Top question={question} regions={regions} />
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

/** The policy of the page lets a browser load these files only. */
const Head = ({ title, build }: Pick<Frame, 'title' | 'build'>): h.JSX.Element => (
  <head>
    <meta charSet="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>{title}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href={`?asset=board.css&v=${build}`} />
    <script src={`?asset=board.js&v=${build}`} defer />
    <noscript>
      <meta http-equiv="refresh" content="30" />
    </noscript>
  </head>
);

const Top = ({ question, regions }: Pick<Frame, 'question' | 'regions'>): h.JSX.Element => (
  <header class="top">
    <h1>
      <a href={linkTo(lasting(question))}>Scheduled jobs</a>
    </h1>
    <nav aria-label="Parts of this page">
      {regions.map(({ id, title: name }) => (
        <a key={id} href={`#${id}`}>
          {name}
        </a>
      ))}
    </nav>
  </header>
);

/** Stands for a part that could not be made. The page shows the others. */
export const BrokenPart = ({ id, problem }: { id: string; problem: string }): h.JSX.Element => (
  <section id={id} class="region" data-live>
    <p class="problem">This part cannot be shown: {problem}</p>
  </section>
);

/** Nothing is known of the store yet. */
export const NothingKnown = ({ store, failure }: { store: string; failure: string }): h.JSX.Element => (
  <section id="verdict" class="verdict stale" data-live="always" aria-label="Verdict">
    <p class="headline">Nothing is known</p>
    <p class="problem">
      {store} has not answered: {failure}
    </p>
  </section>
);
