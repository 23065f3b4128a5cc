import { expect, it } from 'vitest';
import { type EndSignal, Ending } from './ending.ts';

const heard: string[] = [];
const hear = (what: string) => (): void => void heard.push(what);

it.each([
  ['an Ending', () => new Ending()],
  ['an AbortController', () => new AbortController()],
])(
  '%s calls its listeners once, in their order, without those that were removed or came later',
  (_, create) => {
    heard.length = 0;
    const ending = create();
    const signal: EndSignal = 'signal' in ending ? ending.signal : ending;
    const removed = hear('removed');
    for (const listener of [hear('first'), removed, hear('second')])
      signal.addEventListener('abort', listener, { once: true });
    signal.removeEventListener('abort', removed);
    expect([signal.aborted, heard]).toEqual([false, []]);
    ending.abort('why');
    ending.abort('again');
    signal.addEventListener('abort', hear('late'), { once: true });
    expect([signal.aborted, signal.reason, heard]).toEqual([true, 'why', ['first', 'second']]);
  },
);
