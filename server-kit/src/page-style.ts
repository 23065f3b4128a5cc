/** The whole style of both programs' pages. It stands in each page itself, and its hash in the page's policy. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #16202b; --dim: #566371; --line: #d5dce3; --paper: #fff; --ground: #f2f5f8;
  --accent: #1556b8; --on-accent: #fff; --warn: #a4231a; --good: #17663a; --high: 1.35rem; --wide: 1.75rem; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8edf2; --dim: #9fadba; --line: #35414d; --paper: #1b232c; --ground: #11171d; --accent: #7db1ff;
    --on-accent: #0b1a30; --warn: #ff9c93; --good: #7fd6a4; } }
* { box-sizing: border-box; }
html { scroll-padding: 1rem 0 10rem; }
body { margin: 0 auto; min-height: 100vh; max-width: 40rem; display: flex; flex-direction: column; justify-content: center;
  padding: .75rem 1.5rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .25rem .6rem; align-items: center; margin: 0 0 .75rem; }
header p { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.mark { flex: none; fill: var(--accent); }
.product strong { font-size: 1.1rem; letter-spacing: .01em; }
.instance { margin-left: .25rem; color: var(--dim); font-size: .925rem; }
.account { margin-left: auto; font-size: .925rem; }
footer { margin: .75rem 0 0; color: var(--dim); font-size: .85rem; overflow-wrap: anywhere; }
footer p { margin: 0; }
main { padding: var(--high) var(--wide); background: var(--paper); border: 1px solid var(--line); border-radius: .75rem; }
h1 { margin: 0 0 .75rem; font-size: 1.4rem; line-height: 1.25; }
h2 { margin: 0 0 .3rem; font-size: 1rem; }
p { margin: 0 0 .8rem; }
main > :last-child, .next > :last-child, form > :last-child { margin-bottom: 0; }
.next { margin: 1.25rem 0 0; padding: 1rem 0 0; border-top: 1px solid var(--line); }
.next ul { margin: 0; }
.dim { color: var(--dim); font-size: .925rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.alert { padding: .6rem .8rem; border: 1px solid var(--warn); border-radius: .4rem; color: var(--warn); }
label, dt, legend { display: block; font-weight: 600; margin: 0 0 .3rem; }
dl { margin: 0 0 .8rem; }
dd { margin: 0 0 .75rem; }
ul { margin: 0 0 1rem; padding-left: 1.3rem; }
code { font: .95em ui-monospace, monospace; overflow-wrap: anywhere; }
.value { font: 1.05rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); }
pre { margin: 0 0 1rem; padding: .7rem .9rem; background: var(--ground); border-radius: .4rem; white-space: pre-wrap; }
pre.untrusted { max-height: 14rem; overflow: auto; overflow-wrap: anywhere; border: 1px solid var(--line); font: .9rem/1.45 ui-monospace, monospace; }
.untrusted, .untrusted bdi, bdi { unicode-bidi: isolate; }
.name { overflow-wrap: anywhere; }
.tag { padding: .1rem .5rem; border: 1px solid; border-radius: 1rem; color: var(--dim); font: .8rem/1.4 system-ui, sans-serif;
  white-space: nowrap; }
.tag.good { color: var(--good); }
.note { padding: 0 0 0 .9rem; border-left: 3px solid var(--accent); }
.facts { display: grid; grid-template-columns: auto 1fr; gap: .35rem 1rem; align-items: baseline; padding: .7rem 1rem;
  border: 1px solid var(--line); border-radius: .5rem; }
.facts dt { color: var(--dim); font-size: .875rem; font-weight: 400; margin: 0; }
.facts dd { min-width: 0; margin: 0; overflow-wrap: anywhere; }
.facts pre { max-height: 5.5rem; margin: .2rem 0 0; }
fieldset { min-width: 0; margin: 0 0 .8rem; padding: 0; border: 0; }
legend { padding: 0; margin: 0 0 .4rem; }
.option { display: grid; grid-template-columns: auto 1fr; gap: 0 .75rem; align-items: start; padding: .4rem .8rem;
  margin: 0 0 .4rem; border: 1px solid var(--line); border-radius: .5rem; }
.option:has(input[type=radio]:checked) { border-color: var(--accent); }
.option label { margin: 0; overflow-wrap: anywhere; }
.option label .dim { font-weight: 400; }
.reads { grid-column: 2; color: var(--dim); font-size: .925rem; overflow-wrap: anywhere; }
.reads code { color: var(--ink); }
details { color: var(--dim); font-size: .925rem; }
.reads details { display: inline-block; margin-left: .4rem; font-size: inherit; }
details dl { margin: .4rem 0; }
summary { cursor: pointer; }
.fingerprint { font-size: clamp(1.05rem, 5.6vw, 1.6rem); letter-spacing: .04em; word-spacing: .15em; }
.compare { margin: 0 0 1rem; padding: .7rem 1rem; background: var(--ground); border-radius: .5rem; }
.compare p { margin: 0; }
.copyable { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; margin: 0 0 .9rem; }
.copyable .value { padding: .5rem .75rem; background: var(--ground); border-radius: .4rem; user-select: all; }
input, select { width: 100%; padding: .6rem .75rem; margin: 0 0 .9rem; font: 1rem ui-monospace, monospace; color: inherit;
  background: var(--ground); border: 1px solid var(--dim); border-radius: .4rem; }
select { font: 1rem system-ui, sans-serif; }
::placeholder { color: var(--dim); opacity: 1; }
input[type=radio] { width: 1.1rem; height: 1.1rem; flex: none; margin: .22rem 0 0; accent-color: var(--accent); }
button, .button { display: inline-block; padding: .65rem 1.4rem; font: 600 1rem/1.2 system-ui, sans-serif;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: .4rem;
  text-decoration: none; cursor: pointer; }
button.quiet, button.small { color: var(--ink); background: transparent; border-color: var(--dim); }
button.small { padding: .4rem .8rem; font-size: .925rem; font-weight: 500; }
input + button.small { display: block; margin: -.3rem 0 .9rem; }
[hidden], input + button.small[hidden] { display: none; }
.actions { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0; }
.actions > p { flex: 1 0 100%; margin: 0; }
.actions.stay { position: sticky; bottom: 0; margin: 0 calc(0rem - var(--wide)) calc(0rem - var(--high));
  padding: .75rem var(--wide); background: var(--paper); border-top: 1px solid var(--line); border-radius: 0 0 .75rem .75rem; }
form > .actions.stay:last-child { margin-bottom: calc(0rem - var(--high)); }
@media (max-width: 30rem) { :root { --high: 1.1rem; --wide: 1.1rem; } body { padding: .6rem .75rem; } .facts { gap: .1rem; grid-template-columns: 1fr; }
  .facts dd + dt { margin-top: .4rem; } .actions button { padding-inline: 1rem; } }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;
