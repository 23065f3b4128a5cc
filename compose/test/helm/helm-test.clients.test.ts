import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Pair, startPair } from '../../src/pair.ts';
import { MINIMAL, podsOf, render } from './charts.ts';

const dir = tempDir();
let pair: Pair;
beforeAll(async () => {
  pair = await startPair({ dir: join(dir.path, 'pair') });
});
afterAll(async () => {
  await pair?.stop();
  dir.remove();
});

describe.each(['control-plane', 'webhook'] as const)('helm test of the %s', (program) => {
  /** Runs the command of the pod, whose Service is at this address. */
  async function ask(address: string) {
    const { manifests } = await render(program, MINIMAL[program], dir.path);
    const container = podsOf(manifests)['Pod']?.spec.containers[0];
    const [node, ...flags] = container?.command ?? [];
    const [script = ''] = container?.args ?? [];
    const service = `http://svault-svault-${program}/`;
    expect([node, script]).toEqual(['node', expect.stringContaining(`'${service}readyz'`)]);
    return run([process.execPath, ...flags, script.replace(service, `${address}/`)]);
  }

  test('succeeds while the program is ready, and shows its answer', async () => {
    const url = program === 'webhook' ? pair.webhookUrl : pair.controlPlaneUrl;
    expect(await ask(url)).toEqual({ code: 0, stdout: expect.stringMatching(/^200 \{.+\}\n$/), stderr: '' });
  });

  test('fails with the reason where the program is not ready, or not there', async () => {
    const server = createServer((_, res) => res.writeHead(503).end('{"error":"stopping"}')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await ask(address)).toMatchObject({ code: 1, stdout: '503 {"error":"stopping"}\n' });
    server.close();
    await once(server, 'close');
    expect(await ask(address)).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') });
  });
});
