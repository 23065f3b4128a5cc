import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactEncrypt, importJWK } from 'jose';
import { expect, it } from 'vitest';
import { type SealingKey, createSealingKey } from '@svault/shared/sealed';
import { fetchSealed, makeKey } from './readme-sealed.ts';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const ENVELOPE = {
  token: {
    accessToken: 'the-credential',
    serviceName: 'github',
    tokenType: 'PlainText',
    createdAt: '2026-11-20T12:00:00.000Z',
  },
};

it('shows the code that opens a sealed credential, which this test runs', async () => {
  const example = readFileSync(new URL('readme-sealed.ts', import.meta.url), 'utf8');
  expect(README).toContain(`\`\`\`ts\n${example}\`\`\``);

  const kept: string[] = [];
  const recipient = makeKey((text) => kept.push(text));
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/v1/credential') === true) {
      void sealTo(recipient).then((jwe) =>
        res.writeHead(200, { 'content-type': 'application/jose' }).end(jwe),
      );
      return;
    }
    expect(req.headers.authorization).toBe('Bearer svagent_x');
    res.writeHead(307, { location: '/v1/credential?ticket=t' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await fetchSealed(`http://127.0.0.1:${port}`, 'svagent_x', kept.join(''))).toBe('the-credential');
  server.close();
});

async function sealTo({
  publicJwk,
  thumbprint,
}: Pick<SealingKey, 'publicJwk' | 'thumbprint'>): Promise<string> {
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(ENVELOPE)))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: thumbprint, cty: 'json' })
    .encrypt(await importJWK({ ...publicJwk }, 'ECDH-ES'));
}

it('names every entry of the package', () => {
  const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, string>;
  };
  for (const entry of Object.keys(exports)) expect(README).toContain(`\`@svault/shared${entry.slice(1)}\``);
  expect(createSealingKey().thumbprint).toMatch(/^[\w-]{43}$/);
});
