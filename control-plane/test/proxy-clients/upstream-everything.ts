import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { freePort } from '@svault/compose/free-port';
import { tempDir } from '@svault/test-kit/temp-dir';
import { startChild } from '../mcp-clients/child.ts';
import { type McpUpstream, startBehindGate } from './gate.ts';

const PROGRAM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

/** Somebody else’s server as a program of its own; it asks for no credential, so what stands before it does. */
export async function startUpstreamEverything(credential: string): Promise<McpUpstream> {
  const port = await freePort();
  const home = tempDir();
  const child = startChild(home.path, PROGRAM, ['streamableHttp'], { PORT: String(port) });
  await child.says(/listening on port/);
  return startBehindGate(
    credential,
    (req, res) => {
      const { authorization: _, ...headers } = req.headers;
      const { method = 'GET', url: path = '/' } = req;
      // The server closes idle connections at its own time: none is used twice.
      const onward = request({ port, host: '127.0.0.1', path, method, headers, agent: false }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        res.flushHeaders();
        answer.pipe(res);
        answer.on('error', () => res.destroy());
      });
      onward.on('error', () => res.destroy());
      res.on('close', () => onward.destroy());
      req.pipe(onward);
    },
    async () => {
      await child.stop();
      home.remove();
    },
  );
}
