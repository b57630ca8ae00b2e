/** How the page looks. Fonts of the system, colours of one table, light and dark by the wish of the viewer. */
export const STYLE = /* css */ `:root {
  color-scheme: light dark;
  --ground: #f5f6f8; --card: #fff; --text: #171c24; --faint: #586273; --edge: #e1e5eb; --mark: #edf0f4; --link: #0b57a4;
  --bad: #b8241c; --bad-soft: #fdeceb; --good: #1f6e3e; --good-soft: #e8f4ec; --going: #0b57a4; --going-soft: #e5effa;
  --doubt: #7d5200; --doubt-soft: #fbf1dc; --bar: #6fb58a; --run: #2f7fd3; --wrong: #d5382f; --grey: #8a94a3; --deploy: #6a4bc0; --soon: #7c8aa0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1318; --card: #171c23; --text: #e6eaf0; --faint: #9aa5b5; --edge: #29313b; --mark: #212831; --link: #82b9f3;
    --bad: #ff8f86; --bad-soft: #3a1c1b; --good: #7fd69c; --good-soft: #142c1d; --going: #82b9f3; --going-soft: #14283e;
    --doubt: #efbf5c; --doubt-soft: #31260f; --bar: #3f8a5c; --run: #4b97e6; --wrong: #f0564c; --grey: #7b8696; --deploy: #b09bf2; --soon: #8592a6;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
a { color: var(--link); text-underline-offset: 2px; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
h1, h2, p, ul, dl, dd, figure { margin: 0; padding: 0; }
h1 { font-size: 13px; font-weight: 600; letter-spacing: .01em; }
h1 a { color: var(--faint); text-decoration: none; }
h1 a:hover { color: var(--link); }
h2 { font-size: 15px; font-weight: 650; overflow-wrap: anywhere; }
ul { list-style: none; }
time, .count { font-variant-numeric: tabular-nums; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 16px; top: 8px; background: var(--card); padding: 4px 8px; z-index: 2; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.top, main, footer, .notice { max-width: 1280px; margin: 0 auto; padding: 0 24px; }
.top { padding-top: 16px; }
main { display: grid; gap: 16px; padding-top: 4px; padding-bottom: 16px; grid-template-columns: minmax(0, 1fr); }
footer { padding-bottom: 32px; }
.note, .faint { color: var(--faint); }
.note { font-size: 13px; }
.notice { margin-top: 12px; font-weight: 600; color: var(--doubt); }
.verdict { padding: 4px 0; }
.headline { font-size: 26px; font-weight: 650; line-height: 1.25; letter-spacing: -.01em; margin-bottom: 4px; overflow-wrap: anywhere; }
.headline::before { content: ''; display: inline-block; width: 12px; height: 12px; margin-right: 10px; border-radius: 50%; background: var(--doubt); vertical-align: 3px; }
.verdict.good .headline::before { background: var(--good); }
.verdict.bad .headline::before { background: var(--wrong); }
.verdict.away { background: var(--bad-soft); border-radius: 10px; padding: 16px 20px; }
.verdict.away .headline { color: var(--bad); }
.problem { color: var(--doubt); font-weight: 600; }
.away .problem, .away .verdict .note { color: var(--bad); }
.region { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 16px 20px; }
.region > header { display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; margin-bottom: 10px; }
.held { position: relative; }
.held::after { content: 'held still while you are here'; position: absolute; right: 20px; top: -9px; padding: 0 6px; font-size: 12px; color: var(--faint); background: var(--card); border-radius: 4px; }
summary { cursor: pointer; color: var(--faint); }
.folded { padding: 10px 20px; font-size: 13px; }
.folded .wide { margin-top: 10px; }
.status { display: inline-block; white-space: nowrap; font-size: 13px; font-weight: 600; padding: 1px 8px; border-radius: 999px; background: var(--mark); color: var(--faint); }
.status.bad { color: var(--bad); background: var(--bad-soft); }
.status.good { color: var(--good); background: none; padding-left: 0; }
.status.going { color: var(--going); background: var(--going-soft); }
.status.doubt { color: var(--doubt); background: var(--doubt-soft); }
.cases li { display: grid; grid-template-columns: 150px minmax(0, 1fr); gap: 2px 16px; align-items: start; padding: 10px 0; border-top: 1px solid var(--mark); }
.cases li > .status { justify-self: start; }
.cases li:first-child { border-top: 0; padding-top: 0; }
.cases li:last-child { padding-bottom: 0; }
.sentence { max-width: 90ch; overflow-wrap: anywhere; }
.names { display: flex; flex-wrap: wrap; gap: 0 14px; margin-top: 2px; }
.windows { margin-left: auto; }
.names a, a.job { font-weight: 600; overflow-wrap: anywhere; }
.cases summary { font-size: 13px; }
.bar { display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: center; margin-bottom: -6px; }
.tabs { display: flex; flex: 1; flex-wrap: wrap; gap: 8px 24px; justify-content: space-between; }
.tabs nav, .windows { display: flex; flex-wrap: wrap; gap: 2px; }
.tabs a, .windows a { padding: 4px 10px; border-radius: 7px; color: var(--faint); text-decoration: none; }
.tabs a:hover, .windows a:hover { background: var(--mark); color: var(--text); }
.tabs a[aria-current], .windows a[aria-current] { background: var(--card); color: var(--text); font-weight: 600; box-shadow: 0 0 0 1px var(--edge); }
.tabs .to-attention .count { color: var(--bad); font-weight: 600; }
.find { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.live .bar .find button { display: none; }
input, select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--grey); border-radius: 7px; padding: 4px 10px; }
input::placeholder { color: var(--faint); opacity: 1; }
button { cursor: pointer; font-weight: 600; }
button.main { background: var(--link); border-color: var(--link); color: var(--card); }
button.quiet { font-weight: 400; }
button:disabled { opacity: .5; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 7px 16px 7px 0; border-top: 1px solid var(--mark); }
thead th { border-top: 0; font-weight: 500; font-size: 13px; color: var(--faint); white-space: nowrap; }
tbody th { font-weight: 600; overflow-wrap: anywhere; }
td time { white-space: nowrap; }
.wide { overflow-x: auto; margin: 0 -20px; padding: 0 20px; }
.picture table { table-layout: fixed; }
.picture th, .picture td { vertical-align: middle; height: 48px; padding-top: 4px; padding-bottom: 4px; }
.picture thead th { height: 46px; padding: 0; vertical-align: bottom; }
.picture thead th:first-child { width: 240px; }
.picture thead th:nth-child(2) { width: 150px; }
.picture thead th:last-child { width: 124px; padding-left: 16px; }
.picture .over { position: relative; padding: 0; height: 48px; }
.picture td.date { padding: 4px 0 4px 16px; }
.picture td .faint, .schedule { display: block; font-size: 12.5px; font-weight: 400; }
.schedule { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.picture tr:last-child td, .picture tr:last-child th { border-bottom: 1px solid var(--mark); }
.alone { margin: 12px 0; }
.alone .over { border: solid var(--mark); border-width: 1px 0; }
svg { display: block; overflow: visible; }
.strip { position: absolute; inset: 0; width: 100%; height: 100%; }
.axis { font-size: 11px; font-variant-numeric: tabular-nums; }
.axis text { fill: var(--faint); text-anchor: middle; }
.axis .begin { text-anchor: start; }
.axis .end { text-anchor: end; }
.axis .here text { fill: var(--text); font-weight: 600; }
.axis .deployed text { fill: var(--deploy); font-weight: 600; }
.ahead { fill: var(--mark); opacity: .55; }
.mark { stroke: var(--edge); }
.now { stroke: var(--text); stroke-width: 1.5; }
.outage { fill: var(--grey); opacity: .32; stroke: var(--grey); stroke-width: 1; }
.deploy { stroke: var(--deploy); stroke-dasharray: 3 3; }
.change { fill: var(--deploy); }
.ground { stroke: var(--edge); }
.unread { stroke: var(--grey); stroke-dasharray: 1 5; }
.catch { fill: transparent; }
.run { fill: var(--bar); stroke: var(--bar); stroke-width: 1.5; }
.run.running { fill: var(--run); stroke: var(--run); }
.run.failed, .run.hung { fill: var(--wrong); stroke: var(--wrong); }
.run.interrupted { fill: var(--card); stroke: var(--wrong); stroke-width: 2; }
.strip a:hover .run, .strip a:focus .run, .strip a:hover .missed { stroke: var(--text); }
.missed { fill: var(--card); stroke: var(--wrong); stroke-width: 2.5; }
.row { fill: var(--wrong); }
.hatch { fill: var(--doubt); }
.pause { stroke: var(--doubt); opacity: .55; }
.next { fill: var(--soon); }
.often { fill: var(--soon); opacity: .5; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin-top: 12px; color: var(--faint); font-size: 12.5px; }
.legend li { display: flex; gap: 6px; align-items: center; }
.choices { margin-top: 10px; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 12px 24px; margin: 14px 0; }
dt { color: var(--faint); font-size: 12.5px; }
dd { overflow-wrap: anywhere; }
.error { color: var(--bad); overflow-wrap: anywhere; }
.durations { margin: 14px 0; max-width: 420px; }
.durations polyline { fill: none; stroke: var(--run); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.acts li { padding: 3px 0; overflow-wrap: anywhere; }
#done { position: sticky; top: 8px; z-index: 1; width: calc(100% - 48px); padding: 10px 16px; color: var(--text); background: var(--going-soft); border: 1px solid var(--going); border-radius: 8px; }
.switches { display: grid; gap: 12px; }
.switches form { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
@media (max-width: 760px) {
  .top, main, footer, .notice { padding-left: 14px; padding-right: 14px; }
  .region { padding: 12px 14px; }
  .headline { font-size: 21px; }
  .tabs { flex-basis: 100%; }
  .cases li { grid-template-columns: minmax(0, 1fr); }
  .picture table, .picture thead, .picture tbody, .picture tr, .picture th, .picture td { display: block; }
  .picture tbody tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 12px; padding-top: 8px; border-top: 1px solid var(--mark); }
  .picture thead th:not(.over) { display: none; }
  .picture tbody th, .picture tbody td { height: auto; border: 0; padding: 0; }
  .picture tbody td:nth-child(2) { text-align: right; }
  .picture tbody td.over { grid-column: 1 / -1; height: 40px; }
  .picture td.date, .axis .odd { display: none; }
  .wide { margin: 0 -14px; padding: 0 14px; }
}
`;
