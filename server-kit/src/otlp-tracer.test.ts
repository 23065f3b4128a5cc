import { AsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Secret } from '@svault/shared';
import { expect, test } from 'vitest';
import { silentLogger } from './logger.ts';
import { createOtlpTracer } from './otlp-tracer.ts';
import { adoptRequestId } from './request-id.ts';
import { isDrawn } from './trace-context.ts';
import { type Tracer, traceHeaders } from './tracing.ts';

interface Exported {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly unknown[] }[];
  }[];
}

/** A tracer beside a collector that counts. @returns how many spans each batch had, once all are exported */
async function startTracer(ratio: number): Promise<{ tracer: Tracer; close(): Promise<number[]> }> {
  const batches: number[] = [];
  const collector = createServer((req, res) => {
    void buffer(req).then((body) => {
      const { resourceSpans } = JSON.parse(body.toString()) as Exported;
      batches.push(
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)).length,
      );
      res.writeHead(200).end();
    });
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  const tracer = createOtlpTracer(
    { endpoint: `http://127.0.0.1:${port}`, headers: new Secret({}), ratio },
    { program: 'test', logger: silentLogger },
  );
  const close = async (): Promise<number[]> => {
    await tracer.close();
    collector.close();
    return batches;
  };
  return { tracer, close };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

const newExchange = (): [IncomingMessage, ServerResponse] => {
  const req = new IncomingMessage(new Socket());
  return [req, new ServerResponse(req)];
};

test('spans beyond what a collector keeps waiting are dropped', async () => {
  const { tracer, close } = await startTracer(1);
  const listener = tracer.serve(() => undefined);
  // In one turn of the event loop, in which no batch can be sent.
  for (let n = 0; n < 10_000; n++) {
    const [req, res] = newExchange();
    listener(req, res);
    res.emit('close');
  }
  const batches = await close();
  // What waits, and the batch that is on its way.
  expect(sumOf(batches)).toBe(2_048 + 256);
  expect(Math.max(...batches)).toBe(256);
});

test('the id of a traced access does not have 1,000 replays of its ticket traced', async () => {
  const ratio = 0.01;
  const { tracer, close } = await startTracer(ratio);
  const id =
    Array.from({ length: 10_000 }, (_, at) => `req_${at}`).find((each) => isDrawn(each, ratio)) ?? '';
  const listener = tracer.serve((req, res) => {
    adoptRequestId(req, id);
    res.statusCode = 401;
  });
  for (let n = 0; n < 1_000; n++) {
    const [req, res] = newExchange();
    listener(req, res);
    res.emit('close');
  }
  // About ten, by chance.
  expect(sumOf(await close())).toBeLessThan(200);
});

test('what a request leaves running makes no further call of its trace once it has ended', async () => {
  const { tracer, close } = await startTracer(1);
  const [req, res] = newExchange();
  let inRequest: (() => object) | undefined;
  tracer.serve(() => (inRequest = AsyncResource.bind(() => traceHeaders('/v1/health'))))(req, res);
  expect(inRequest?.()).toHaveProperty('traceparent');
  res.emit('close');
  expect(inRequest?.()).toEqual({});
  await close();
});
