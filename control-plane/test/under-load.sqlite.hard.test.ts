import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startMachineLoad } from '@svault/test-kit/machine-load';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useService } from './support/use-service.ts';

/*
 * Promises that hold however slow the machine is: the tests of each, once more, while the machine has six times as much to
 * do as it can.
 */

let end: () => Promise<void>;
beforeAll(() => {
  end = startMachineLoad(540_000);
});
afterAll(() => end());

describe('many requests at once on a loaded machine', async () => {
  await import('./policies/policy-counts.test.ts');
});
describe('large bodies on a loaded machine', async () => {
  await import('./forwarding/denials.sqlite.test.ts');
});
describe('a stop on a loaded machine', async () => {
  await import('./stop.sqlite.test.ts');
});

describe('clients on a loaded machine', () => {
  const service = useService();

  const AT_ONCE = 100;
  const PIECES = ['GET /healthz HT', 'TP/1.1\r\nHost: 127.', '0.0.1:8080\r\nConnection: close\r\n', '\r\n'];
  const opened = async (): Promise<Socket> => {
    const socket = connect(Number(new URL(service.running.url).port), '127.0.0.1').setEncoding('latin1');
    await once(socket, 'connect');
    return socket;
  };
  const statusOf = async (socket: Socket): Promise<string> =>
    (await socket.toArray()).join('').slice(0, 'HTTP/1.1 200'.length);

  it('are answered where they send in pieces, and get 408 where they stop sending', async () => {
    const slow = async (pieces: readonly string[]): Promise<string> => {
      const socket = await opened();
      for (const piece of pieces) {
        socket.write(piece);
        await delay(100);
      }
      return statusOf(socket);
    };
    const [whole, half] = await Promise.all([
      Promise.all(Array.from({ length: AT_ONCE }, () => slow(PIECES))),
      Promise.all(Array.from({ length: AT_ONCE }, () => slow(PIECES.slice(0, -1)))),
    ]);
    expect(new Set(whole)).toEqual(new Set(['HTTP/1.1 200']));
    expect(new Set(half)).toEqual(new Set(['HTTP/1.1 408']));
  });

  it('that send all of a body that is too large before they read get their refusal', async () => {
    const length = 20_000_000;
    const refused = async (): Promise<string> => {
      const socket = (await opened()).pause();
      socket.write(
        `POST /api/login/link HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
      );
      await new Promise<void>((resolve, reject) =>
        socket.write(Buffer.alloc(length), (error) => (error ? reject(error) : resolve())),
      );
      return statusOf(socket);
    };
    const told = await Promise.all(Array.from({ length: 10 }, refused));
    expect(new Set(told)).toEqual(new Set(['HTTP/1.1 413']));
  });
});
