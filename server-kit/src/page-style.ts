/** The whole style of both programs' pages. It stands in each page itself, and its hash in the page's policy. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #16202b; --dim: #5a6775; --line: #d5dce3; --paper: #fff; --ground: #f2f5f8;
  --accent: #1556b8; --on-accent: #fff; --warn: #a4231a; --good: #17663a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8edf2; --dim: #9fadba; --line: #35414d; --paper: #1b232c; --ground: #11171d; --accent: #7db1ff;
    --on-accent: #0b1a30; --warn: #ff9c93; --good: #7fd6a4; } }
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
label, dt, legend { display: block; font-weight: 600; margin: 0 0 .3rem; }
dl { margin: 0 0 1.25rem; }
dd { margin: 0 0 1rem; }
ul { margin: 0 0 1rem; padding-left: 1.3rem; }
code { font: .95em ui-monospace, monospace; overflow-wrap: anywhere; }
.value { font: 1.05rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); }
pre { margin: 0 0 1rem; padding: .8rem .9rem; background: var(--ground); border-radius: .4rem; white-space: pre-wrap; }
.name { overflow-wrap: anywhere; }
.tag { padding: .1rem .5rem; border: 1px solid; border-radius: 1rem; color: var(--dim); font: .8rem/1.4 system-ui, sans-serif;
  white-space: nowrap; }
.tag.good { color: var(--good); }
.note { padding: .1rem 0 .1rem .9rem; border-left: 3px solid var(--accent); }
.facts { padding: .9rem 1rem 0; border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.facts dt { color: var(--dim); font-size: .875rem; font-weight: 400; margin: 0; }
.facts .name { font-size: 1.1rem; }
fieldset { min-width: 0; margin: 0 0 1.25rem; padding: 0; border: 0; }
legend { padding: 0; margin: 0 0 .5rem; }
.option { display: grid; grid-template-columns: auto 1fr; gap: .25rem .75rem; align-items: start; padding: .7rem .9rem;
  margin: 0 0 .5rem; border: 1px solid var(--line); border-radius: .5rem; }
.option:has(input[type=radio]:checked) { border-color: var(--accent); }
.option label, .switch label { margin: 0; overflow-wrap: anywhere; }
.option label .dim { display: block; font-weight: 400; }
.option .switch { grid-column: 2; }
.option:not(:has(input[type=radio]:checked)) .switch { display: none; }
.switch { display: flex; gap: .6rem; align-items: start; margin: .3rem 0 0; }
.switch label { font-weight: 400; }
select + .switch, input + .switch { margin: 0 0 1.25rem; }
.fingerprint { font-size: 1.5rem; letter-spacing: .04em; word-spacing: .15em; }
input, select { width: 100%; padding: .65rem .75rem; margin: 0 0 1rem; font: 1rem ui-monospace, monospace; color: inherit;
  background: var(--ground); border: 1px solid var(--dim); border-radius: .4rem; }
select { font: 1rem system-ui, sans-serif; }
::placeholder { color: var(--dim); opacity: 1; }
input[type=radio], input[type=checkbox] { width: 1.1rem; height: 1.1rem; flex: none; margin: .22rem 0 0;
  accent-color: var(--accent); }
button, .button { display: inline-block; padding: .7rem 1.4rem; font: 600 1rem/1.2 system-ui, sans-serif;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: .4rem;
  text-decoration: none; cursor: pointer; }
button + button { margin-left: .6rem; }
button.quiet { color: var(--ink); background: transparent; border-color: var(--dim); }
@media (max-width: 26rem) { body { padding: .75rem; } main { padding: 1.25rem; } }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;
