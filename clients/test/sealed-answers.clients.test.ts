/** Both clients and sealed deliveries that a webhook should not send. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '@svault/test-kit/run-program';
import { PACKED_CLIENTS } from './support/packed-clients.ts';
import type { Answering } from './support/rogue-server.ts';
import { GET, useInstalled, useRogues } from './support/rogue-pair.ts';

describe.each(PACKED_CLIENTS)('$name', (client) => {
  const { missing, run, only } = useInstalled(client);
  const { pairOf } = useRogues();

  test.skipIf(missing)('refuses a plain credential if it is to be sealed', async () => {
    const server = await pairOf(['ticket']);
    const [{ privateJwk } = { privateJwk: {} }] = vectors;
    const options = { sealing_key: privateJwk, require_sealed: true };
    const { error } = await only(server.url, { ...GET, options });
    expect([error?.name, error?.reason]).toEqual(['SealedError', 'not_sealed']);
  });

  const { vectors } = JSON.parse(readFileSync(join(ROOT, 'shared/vectors/sealed.json'), 'utf8')) as {
    vectors: readonly {
      name: string;
      expect: 'accept' | 'refuse';
      reason?: string;
      privateJwk: object;
      jwe: string;
    }[];
  };

  test.skipIf(missing)('opens and refuses sealed deliveries as the vectors of the protocol say', async () => {
    const sealed = vectors.map(
      ({ jwe }): Answering =>
        (res) =>
          res.writeHead(200, { 'content-type': 'application/jose; a=b' }).end(jwe),
    );
    const server = await pairOf(['ticket'], sealed);
    const outcomes = await run(
      vectors.map(({ privateJwk }) => ({ ...GET, options: { sealing_key: privateJwk } })),
      { SVAULT_BASE_URL: server.url },
    );
    expect(outcomes.map(({ result, error }) => result?.accessToken ?? error?.reason)).toEqual(
      vectors.map(({ reason = 'the-credential' }) => reason),
    );
  });

  test.skipIf(missing)('refuses what is too large to be sealed, or sealed and no credential', async () => {
    const [{ privateJwk, jwe } = { privateJwk: {}, jwe: '' }] = vectors;
    const [header = '', ...parts] = jwe.split('.');
    const twice = Buffer.from(header, 'base64url').toString().replace('{', '{"alg":"dir",');
    const changed = [
      `${jwe}${'A'.repeat(2_500_000)}`,
      `${header}=.${parts.join('.')}`,
      `${jwe}.`,
      [Buffer.from(twice).toString('base64url'), ...parts].join('.'),
      '',
    ];
    const answers = changed.map(
      (text): Answering =>
        (res) =>
          res.writeHead(200, { 'content-type': 'application/jose' }).end(text),
    );
    const server = await pairOf(['ticket'], answers);
    const outcomes = await run(
      changed.map(() => ({ ...GET, options: { sealing_key: privateJwk } })),
      { SVAULT_BASE_URL: server.url },
    );
    expect(outcomes.map(({ error }) => [error?.name, error?.reason])).toEqual([
      ['SealedError', 'too_large'],
      ['SealedError', 'malformed'],
      ['SealedError', 'malformed'],
      ['SealedError', expect.stringMatching(/^(malformed|not_decryptable)$/)],
      ['SealedError', 'malformed'],
    ]);
  });
});
