import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import type { Send } from '../../../src/admin-client.ts';

/**
 * A `fetch` for hosts whose names only the containers know: each is reached at a port of this machine, as an agent
 * elsewhere would reach it by its address.
 *
 * @param ports by host name
 * @param ca PEM of what they prove themselves with
 */
export function fetchFrom(
  ports: Readonly<Record<string, number>>,
  ca: string,
): { send: Send; close(): Promise<void> } {
  const connect = buildConnector({ ca });
  const dispatcher = new Agent({
    connect: (options, callback) => {
      const port = ports[options.hostname];
      if (port === undefined) return connect(options, callback);
      connect(
        { ...options, hostname: '127.0.0.1', port: String(port), servername: options.hostname },
        callback,
      );
    },
  });
  const send = (input: unknown, init: object = {}): unknown =>
    undiciFetch(input as string, { ...init, dispatcher });
  return { send: send as Send, close: () => dispatcher.destroy() };
}
