/** The page's only style; its hash stands in the page's policy, so not a byte of it may differ. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6575; --line: #d9dee6; --page: #f6f7f9; --card: #fff; --passed: #1f7a4d; --failed: #b3261e; --warned: #8a5a00; --skipped: #5b6575; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #9aa5b5; --line: #323a47; --page: #14181f; --card: #1c222c; --passed: #5cc490; --failed: #ff8a80; --warned: #e8b860; --skipped: #9aa5b5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; color: var(--ink); background: var(--page); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.2rem; }
h2 small { color: var(--soft); font-weight: 400; }
h3 { margin: 0 0 .25rem; font-size: 1rem; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: 0 0 .5rem; padding: .6rem .75rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--page); border: 1px solid var(--line); border-radius: 6px; }
a { color: inherit; }
.verdict { margin: .25rem 0; font-weight: 600; }
.verdict.passed { color: var(--passed); } .verdict.failed { color: var(--failed); }
.bar { display: block; width: 100%; height: .6rem; border-radius: 3px; }
rect.passed { fill: var(--passed); } rect.failed { fill: var(--failed); } rect.warned { fill: var(--warned); } rect.skipped { fill: var(--line); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .35rem 1rem; margin: 1rem 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; } dd p { margin: 0; } dd ul { margin: 0; padding-left: 1.1rem; }
.card { margin: 0 0 1rem; padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--skipped); border-radius: 6px; }
.card.failed { border-left-color: var(--failed); } .card.warned { border-left-color: var(--warned); }
.card p { margin: 0 0 .5rem; }
blockquote { margin: .25rem 0; color: var(--soft); } cite { font-style: normal; opacity: .8; }
.tag { font-size: .8rem; font-weight: 600; white-space: nowrap; }
.tag.passed { color: var(--passed); } .tag.failed { color: var(--failed); } .tag.warned { color: var(--warned); } .tag.skipped { color: var(--skipped); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .4rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } tr:last-child td { border-bottom: 0; } tr:target { background: var(--page); }
.number { text-align: right; white-space: nowrap; } em { color: var(--soft); }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .5rem; } }
`;
