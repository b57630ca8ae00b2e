/** How the page looks. Fonts of the system, colours of one table, light and dark by the wish of the viewer. */
export const STYLE = /* css */ `:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --text: #1b2330; --faint: #596475; --edge: #dde2e9; --mark: #e8ebf0; --link: #0b5cad;
  --bad: #b3261e; --bad-soft: #fdecea; --good: #1e6b3a; --good-soft: #e7f5ec; --going: #0b5cad; --going-soft: #e6f0fb;
  --doubt: #7a5200; --doubt-soft: #fdf3dc; --gap: #c3cad4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #10141a; --card: #181e26; --text: #e4e9f0; --faint: #9aa7b8; --edge: #2b3440; --mark: #242c37; --link: #7db8f5;
    --bad: #ff8a80; --bad-soft: #3a1d1c; --good: #7bd69a; --good-soft: #15301f; --going: #7db8f5; --going-soft: #152a41;
    --doubt: #f2c057; --doubt-soft: #33280f; --gap: #46515f;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.5 system-ui, sans-serif; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
h1, h2, p, ul, dl, figure { margin: 0; padding: 0; }
h1 { font-size: 1.05rem; }
h1 a { color: inherit; text-decoration: none; }
h2 { font-size: 1rem; overflow-wrap: anywhere; }
time, .number { font-variant-numeric: tabular-nums; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .25rem .5rem; z-index: 2; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.top { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline; padding: .7rem max(1rem, calc(50vw - 584px)); background: var(--card); border-bottom: 1px solid var(--edge); }
.top nav { display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
.top nav a { color: var(--faint); text-decoration: none; }
.top nav a:hover { color: var(--link); text-decoration: underline; }
main, footer, .notice { max-width: 1200px; margin: 0 auto; padding: 0 1rem; }
main { display: grid; gap: 1rem; padding-top: 1rem; padding-bottom: 1rem; grid-template-columns: minmax(0, 1fr); }
footer { padding-bottom: 2rem; }
.notice { margin-top: 1rem; font-weight: 600; color: var(--doubt); }
.note, .faint { color: var(--faint); }
.nothing { color: var(--faint); }
.region, .verdict { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 1rem 1.25rem; }
.region > header { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; margin-bottom: .6rem; }
.region.held > header::after { content: 'held still while you are here'; margin-left: auto; color: var(--faint); }
.region details { margin-top: .75rem; }
summary { cursor: pointer; color: var(--faint); }
.verdict { border-left: 6px solid var(--edge); }
.headline { font-size: 1.5rem; font-weight: 650; line-height: 1.3; }
.verdict.good { border-left-color: var(--good); }
.verdict.bad { border-left-color: var(--bad); }
.verdict.doubt { border-left-color: var(--doubt); }
.waiter { display: block; }
.problem { color: var(--doubt); font-weight: 600; margin-top: .25rem; }
.status { white-space: nowrap; font-weight: 600; padding: .05rem .45rem; border-radius: 999px; background: var(--mark); color: var(--faint); }
.status.bad { color: var(--bad); background: var(--bad-soft); }
.status.good { color: var(--good); background: var(--good-soft); }
.status.going { color: var(--going); background: var(--going-soft); }
.status.doubt { color: var(--doubt); background: var(--doubt-soft); }
.cases { list-style: none; display: grid; gap: .9rem; }
.cases li { border-left: 3px solid var(--bad); padding-left: .9rem; overflow-wrap: anywhere; }
.cases .name { font-weight: 650; }
.cost { color: var(--faint); }
.sentence { font-size: 1.05rem; max-width: 80ch; overflow-wrap: anywhere; margin: .4rem 0; }
.error { color: var(--bad); overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: .6rem 1.5rem; margin: .8rem 0; }
dt { color: var(--faint); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 0 -1.25rem; padding: 0 1.25rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .38rem 1rem .38rem 0; border-top: 1px solid var(--mark); vertical-align: top; }
thead th { border-top: 0; font-weight: 500; color: var(--faint); font-size: .85rem; white-space: nowrap; }
tbody th { font-weight: 600; }
td.name, th.name, .lane-name { overflow-wrap: anywhere; }
td.name, th.name { min-width: 6rem; }
td.text { min-width: 14rem; max-width: 28rem; overflow-wrap: anywhere; }
td.strip { min-width: 220px; width: 35%; }
td time { white-space: nowrap; }
.choices { margin: .2rem 0 .6rem; }
.choices a { padding: .1rem .35rem; }
.choices a[aria-current] { font-weight: 700; color: var(--text); text-decoration: none; background: var(--mark); border-radius: 5px; }
.find { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-bottom: .6rem; }
input, select, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--faint); border-radius: 6px; padding: .25rem .6rem; }
button { cursor: pointer; font-weight: 600; }
button:disabled { opacity: .5; }
.lanes { display: grid; grid-template-columns: minmax(6rem, 13rem) minmax(0, 1fr); gap: 2px .75rem; align-items: center; }
.lane-name { font-size: .85rem; max-height: 2.6em; overflow: hidden; }
svg { display: block; overflow: visible; }
.legend svg { display: inline-block; vertical-align: middle; }
.line { background: var(--ground); border-radius: 4px; }
.axis text { fill: var(--faint); font-size: 11px; text-anchor: middle; }
.axis .begin { text-anchor: start; }
.axis .end { text-anchor: end; }
.mark { stroke: var(--edge); }
.run { fill: var(--good); }
.run.running { fill: var(--going); }
.run.failed, .run.hung { fill: var(--bad); }
.run.interrupted { fill: var(--bad-soft); stroke: var(--bad); stroke-dasharray: 3 2; }
.run.again { stroke: var(--doubt); stroke-width: 2; stroke-dasharray: 2 2; }
.run.overlap { stroke: var(--bad); stroke-width: 2.5; }
.line a:hover .run, .line a:focus .run { stroke: var(--text); stroke-width: 2; }
.gap { fill: var(--gap); opacity: .35; }
.cross { stroke: var(--card); stroke-width: 2; fill: none; }
.miss { fill: var(--card); stroke: var(--bad); stroke-width: 2; }
.version, .schedule, .switch { fill: var(--going); }
.gone { fill: var(--faint); }
.outage { fill: var(--doubt); }
.fire { stroke: var(--going); stroke-width: 2; }
.often { fill: var(--going); opacity: .5; }
.dst { fill: var(--doubt); }
.track { fill: var(--mark); }
.usual { stroke: var(--text); stroke-width: 2; }
.durations { border-bottom: 1px solid var(--edge); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .6rem 0; color: var(--faint); font-size: .85rem; }
#done { position: sticky; top: 3.2rem; z-index: 1; color: var(--text); background: var(--going-soft); border: 1px solid var(--going); border-radius: 8px; padding: .5rem 1rem; width: min(1168px, calc(100vw - 2rem)); }
.switches { display: grid; gap: .75rem; }
.switches form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.stale main { filter: grayscale(1); opacity: .75; }
@media (max-width: 640px) { .region, .verdict { padding: .8rem; } .lanes { grid-template-columns: 5rem minmax(0, 1fr); } .wide { margin: 0 -.8rem; padding: 0 .8rem; } }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
`;
