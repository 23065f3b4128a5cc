import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { wantsColor } from './wants-color.ts';

test.each([
  ['a terminal', true, { TERM: 'xterm-256color' }, true],
  ['a terminal that says nothing of itself', true, {}, true],
  ['no terminal', false, { TERM: 'xterm' }, false],
  ['a terminal without any', true, { TERM: 'dumb' }, false],
  ['NO_COLOR', true, { NO_COLOR: '0' }, false],
  ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
])('%s', (_, out, env, wanted) => {
  const terminal = {
    out: () => undefined,
    err: () => undefined,
    stdin: Readable.from([]),
    interactive: { in: true, out, err: true },
    columns: 80,
  };
  expect(wantsColor({ terminal, env })).toBe(wanted);
});
