import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import express, { type ErrorRequestHandler } from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDirectRoutes } from './direct-routes.ts';
import { type Listener, listen } from './listener.ts';

let listener: Listener;

beforeAll(async () => {
  const app = express().enable('strict routing');
  const direct = createDirectRoutes(app);
  // Express adds `path` to each request that it gets.
  direct.add('/direct', async (req, res) => {
    await Promise.resolve();
    res.end(JSON.stringify({ method: req.method, url: req.url, byExpress: 'path' in req }));
  });
  direct.add('/fails', () => Promise.reject(new Error('it failed')));
  app.use('/other', (_req, res) => void res.end('other'));
  const onError: ErrorRequestHandler = (error: Error, req, res, _next) =>
    void res.writeHead(500).end(`${error.message} ${req.path}`);
  app.use(onError);
  listener = await listen(direct.listener, { host: '127.0.0.1', port: 0 });
});
afterAll(() => listener.close());

async function ask(path: string, method = 'GET'): Promise<{ status: number | undefined; body: string }> {
  const [answer] = (await once(
    request({ port: listener.port, host: '127.0.0.1', path, method }).end(),
    'response',
  )) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}

it.each([
  ['GET', '/direct'],
  ['POST', '/direct?x=/direct'],
  ['OPTIONS', '/direct?'],
])('%s %s is handled without Express', async (method, url) => {
  const { status, body } = await ask(url, method);
  expect([status, JSON.parse(body)]).toEqual([200, { method, url, byExpress: false }]);
});

it('a direct path in absolute form is handled through Express', async () => {
  const { body } = await ask('http://example.test/direct?x=1');
  expect(JSON.parse(body)).toEqual({
    method: 'GET',
    url: 'http://example.test/direct?x=1',
    byExpress: true,
  });
});

it.each(['/direct/', '/direct%3F', '/Direct/x', '/directs'])('%s is no direct path', async (path) => {
  expect((await ask(path)).status).toBe(404);
});

it('the error of a direct handler reaches the error handler of the app, once', async () => {
  expect(await ask('/fails?x=1')).toEqual({ status: 500, body: 'it failed /fails' });
});

it('other paths are left to Express', async () => {
  expect((await ask('/other')).body).toBe('other');
});
