/** The whole style of both programs' pages. It stands in each page itself, and its hash in the page's policy. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #16202b; --dim: #5a6775; --line: #d5dce3; --paper: #fff; --ground: #f2f5f8;
  --accent: #1556b8; --on-accent: #fff; --warn: #a4231a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8edf2; --dim: #9fadba; --line: #35414d; --paper: #1b232c; --ground: #11171d; --accent: #7db1ff;
    --on-accent: #0b1a30; --warn: #ff9c93; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
main { width: 100%; max-width: 34rem; padding: 2rem; background: var(--paper); border: 1px solid var(--line);
  border-radius: .75rem; }
h1 { margin: 0 0 .75rem; font-size: 1.45rem; line-height: 1.25; }
p { margin: 0 0 1rem; }
main > :last-child { margin-bottom: 0; }
form + .dim { margin: .9rem 0 0; }
.dim { color: var(--dim); font-size: .925rem; }
.alert { padding: .6rem .8rem; border: 1px solid var(--warn); border-radius: .4rem; color: var(--warn); }
label, dt { display: block; font-weight: 600; margin: 0 0 .3rem; }
dl { margin: 0 0 1.25rem; }
dd { margin: 0 0 1rem; }
code { font: .95em ui-monospace, monospace; overflow-wrap: anywhere; }
.value { font: 1.05rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); }
.fingerprint { font-size: 1.5rem; letter-spacing: .04em; word-spacing: .15em; }
input { width: 100%; padding: .65rem .75rem; margin: 0 0 1rem; font: 1rem ui-monospace, monospace; color: inherit;
  background: var(--ground); border: 1px solid var(--dim); border-radius: .4rem; }
button, .button { display: inline-block; padding: .7rem 1.4rem; font: 600 1rem/1.2 system-ui, sans-serif;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: .4rem;
  text-decoration: none; cursor: pointer; }
button + button { margin-left: .6rem; }
button.quiet { color: var(--ink); background: transparent; border-color: var(--dim); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;
