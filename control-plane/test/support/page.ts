import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@svault/compose/free-port';

/** Settings of a service whose public address is where it listens. */
export async function atItsAddress() {
  const port = await freePort();
  return { SV_BASE_URL: `http://127.0.0.1:${port}`, SV_LISTEN: `127.0.0.1:${port}` };
}

/** A client that listens on this computer. */
export interface RedirectTarget {
  readonly server: Server;
  readonly redirectUri: string;
  /** Requests of `/callback`. */
  readonly arrivals: URL[];
}

/** @param title what its page says */
export async function startRedirectTarget(title: string): Promise<RedirectTarget> {
  const arrivals: URL[] = [];
  const server = createServer(({ url }, res) => {
    const address = new URL(url ?? '', 'http://127.0.0.1');
    if (address.pathname === '/callback') arrivals.push(address);
    res.setHeader('content-type', 'text/html').end(`<title>done</title><h1>${title}</h1>`);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    server,
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    arrivals,
  };
}
