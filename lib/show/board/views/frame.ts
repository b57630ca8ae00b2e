import { linkFrom, type Question } from '../data/question.js';
import { type Markup, markup } from './markup.js';

/** What surrounds the parts of a page. */
interface Frame {
  /** Of the tab. */
  readonly title: string;
  readonly tone: 'good' | 'bad' | 'doubt';
  readonly question: Question;
  /** Names the assets of this build. */
  readonly build: string;
  readonly parts: readonly Markup[];
  readonly isAway: boolean;
}

/** Marks that change the direction of the text behind them: who writes an error could make it read as another one. */
const MARKS = /(value="[^"]*")|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const COLOURS = { good: '%23217a45', bad: '%23c62f26', doubt: '%23a36b00' } as const;

/** A text in which marks of direction are shown, not obeyed; what a form sends stays as it is. */
export const visible = (text: string): string =>
  text.replace(
    MARKS,
    (mark, value: string | undefined) =>
      value ?? `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );

/** The whole page. */
export const pageOf = (frame: Frame): string => visible(page(frame).html);

/** The policy of the page lets a browser load these files only. */
const page = ({ title, tone, build, question, parts, isAway }: Frame): Markup => markup`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="robots" content="noindex">
  <title>${title}</title>
  <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='7' fill='${COLOURS[tone]}'/%3E%3C/svg%3E">
  <link rel="stylesheet" href="?asset=board.css&amp;v=${build}">
  <script src="?asset=board.js&amp;v=${build}" defer></script>
  <noscript><meta http-equiv="refresh" content="30"></noscript>
</head>
<body class="${isAway && 'away'}" data-zone="${question.zone}">
  <a class="skip" href="#main">To the jobs</a>
  <header class="top"><h1><a href="${linkFrom(question, {})}">Scheduled jobs</a></h1></header>
  <p id="said" class="sr" role="status"></p>
  <p id="done" class="notice" role="status" hidden></p>
  <p id="notice" class="notice" role="alert" hidden></p>
  <main id="main">${parts}</main>
  <footer id="clock" data-live><p class="note">Times are those of the store's clock, in ${question.zone}.</p></footer>
</body>
</html>`;

/** Stands for a part that could not be made. The page shows the others. */
export const brokenPart = (id: string, problem: string): Markup =>
  markup`<section id="${id}" class="region" data-live><p class="problem">This part cannot be shown: ${problem}</p></section>`;

/** Nothing is known of the store yet. */
export const nothingKnown = (store: string, failure: string): Markup =>
  markup`<section id="verdict" class="verdict bad away" data-live="always" aria-label="Verdict">
    <p class="headline">Nothing is known: ${store} has not answered</p><p class="problem">${failure}</p></section>`;
