import { readFileSync } from 'node:fs';
import { type ChainedEvent, eventHash, eventText, followChain } from '@svault/shared/audit-chain';
import { VECTORS } from '@svault/shared/vectors';
import { describe, expect, it } from 'vitest';

interface Vector extends Pick<ChainedEvent, 'hash'> {
  readonly name: string;
  readonly previousHash: string;
  readonly event: Omit<ChainedEvent, 'hash'>;
  readonly text: string;
}

const { vectors } = JSON.parse(readFileSync(new URL('audit-chain.json', VECTORS), 'utf8')) as {
  readonly vectors: readonly Vector[];
};

describe('events of a log, hashed with Python’s hashlib', () => {
  it.each(vectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
    const { event, previousHash, text, hash } = vector;
    expect(eventText(event)).toBe(text);
    expect(eventHash(previousHash, event)).toBe(hash);
  });

  it('are one chain, in which a changed member shows', () => {
    const events = vectors.map(({ event, hash }) => ({ ...event, hash }));
    const [first] = vectors;
    const start = { seq: 0, hash: first!.previousHash };
    expect(followChain(start, events)).toEqual({ seq: vectors.length, hash: vectors.at(-1)?.hash });
    const changed = events.map((event) => (event.seq === 3 ? { ...event, outcome: 'denied' } : event));
    expect(followChain(start, changed)).toEqual({ seq: 3, problem: 'changed' });
  });
});
