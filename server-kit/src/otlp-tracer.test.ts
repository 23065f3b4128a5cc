import { once } from 'node:events';
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Secret } from '@svault/shared';
import { expect, test } from 'vitest';
import { silentLogger } from './logger.ts';
import { createOtlpTracer } from './otlp-tracer.ts';

interface Exported {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly unknown[] }[];
  }[];
}

test('spans beyond what a collector keeps waiting are dropped', async () => {
  const taken: number[] = [];
  const collector = createServer((req, res) => {
    void buffer(req).then((body) => {
      const { resourceSpans } = JSON.parse(body.toString()) as Exported;
      taken.push(resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)).length);
      res.writeHead(200).end();
    });
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  const tracer = createOtlpTracer(
    { endpoint: `http://127.0.0.1:${port}`, headers: new Secret({}), ratio: 1 },
    { program: 'test', logger: silentLogger },
  );
  const listener = tracer.serve(() => undefined);
  // In one turn of the event loop, in which no batch can be sent.
  for (let n = 0; n < 10_000; n++) {
    const req = new IncomingMessage(new Socket());
    const res = new ServerResponse(req);
    listener(req, res);
    res.emit('close');
  }
  await tracer.close();
  collector.close();
  // What waits, and the batch that is on its way.
  expect(taken.reduce((sum, spans) => sum + spans, 0)).toBe(2_048 + 256);
  expect(Math.max(...taken)).toBe(256);
});
