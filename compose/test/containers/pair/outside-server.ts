import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { startOutside } from '../../../src/demo-outside.ts';

// What lies outside, in a container beside the pair; whoever is in that container tells it what to do.

const outside = await startOutside({ name: 'outside', listen: '0.0.0.0', port: 8080 });
const { url, issued, refreshToken } = outside;

const routes: Readonly<Record<string, (body: string) => Promise<unknown>>> = {
  '/who': async () => ({ url, issued, refreshToken }),
  '/last-call': () => outside.lastCall(),
  '/trust-app': (key) => outside.trustApp(key),
  '/go-on': () => outside.goOn(),
};
createServer((req, res) => {
  void text(req).then(async (body) => {
    const answer = await routes[req.url ?? '']?.(body);
    res.end(JSON.stringify(answer ?? {}));
  });
}).listen(8081, '127.0.0.1');
