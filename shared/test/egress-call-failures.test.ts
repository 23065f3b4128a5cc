import { EgressFailed, callFailureOf } from '@svault/shared/egress';
import type { EgressStream } from '@svault/shared/egress';
import { setDefaultCACertificates } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { countingServer } from './counting-server.ts';
import { rawUpstream } from './raw-upstream.ts';
import { Opened, callTo, taken } from './stream-calls.ts';
import { testCertificate } from './test-certificate.ts';

const opened = new Opened();
afterEach(() => opened.close());

/** The word for why a call got no answer. */
async function whyNot(call: Partial<EgressStream>, addresses: readonly string[] = []): Promise<string> {
  const egress = opened.egress({ resolve: () => Promise.resolve(addresses) });
  const error: unknown = await taken(egress, { ...callTo(1), ...call }).catch((thrown: unknown) => thrown);
  return error instanceof EgressFailed ? callFailureOf(error) : `no failure: ${JSON.stringify(error)}`;
}

it('a name that does not resolve is dns', async () => {
  expect(await whyNot({ url: 'https://name.test/' })).toBe('dns');
});

it('a port that nothing listens on is refused', async () => {
  const { port, close } = await rawUpstream(() => undefined);
  await close();
  expect(await whyNot({ url: `http://127.0.0.1:${port}/` })).toBe('refused');
  expect(await whyNot({ url: `http://name.test:${port}/` }, ['127.0.0.1', '::1'])).toBe('refused');
});

it('a certificate that is not trusted, or of another name, is certificate, and a port without TLS is tls', async () => {
  const certificate = await testCertificate();
  const server = opened.of(await countingServer((_req, res) => res.end(), { tls: certificate }));
  const plain = opened.of(await countingServer((_req, res) => res.end()));
  const call = (host: string, port: number) => whyNot({ url: `https://${host}:${port}/` }, ['127.0.0.1']);
  expect(await call('hook.test', server.port)).toBe('certificate');
  setDefaultCACertificates([certificate.cert]);
  expect(await call('other.test', server.port)).toBe('certificate');
  expect(await call('hook.test', plain.port)).toBe('tls');
});

it('a connection that breaks is cut, an answer of another protocol no_http, and none at all timeout', async () => {
  const answers = ['', 'SSH-2.0-OpenSSH_9.6\r\n', undefined];
  const upstream = opened.of(
    await rawUpstream(({ socket }) => {
      const answer = answers.shift();
      if (answer !== undefined) socket.end(answer);
    }),
  );
  const said: string[] = [];
  for (const headTimeoutMs of [20_000, 20_000, 60])
    said.push(await whyNot({ url: `http://127.0.0.1:${upstream.port}/`, headTimeoutMs }));
  expect(said).toEqual(['cut', 'no_http', 'timeout']);
});
