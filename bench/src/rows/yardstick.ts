import { fileURLToPath } from 'node:url';
import { SERVER_CORE } from '../machine.ts';
import { getRequest, inTurn } from '../requests.ts';
import type { Contender } from '../rounds.ts';
import { startServer } from '../server-process.ts';

const BARE_EXPRESS = fileURLToPath(new URL('../bare-express.ts', import.meta.url));

/** Starts a bare Express server to measure against. */
export async function startYardstick(
  name: string,
  port: number,
): Promise<{ contender: Contender; stop: () => Promise<void> }> {
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    args: [BARE_EXPRESS, String(port)],
    readyUrl: `${url}/`,
    core: SERVER_CORE,
  });
  const prepare: Contender['prepare'] = () => inTurn([getRequest(url, '/')]);
  return { contender: { name, url, pid: server.pid, expectedStatus: 200, prepare }, stop: server.stop };
}
