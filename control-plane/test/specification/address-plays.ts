import { randomInt } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { rateOf, type Row } from './row.ts';
import { pipeline } from './pipeline.ts';
import type { Play } from './stage.ts';
import { expectWindowAt } from './windows.ts';

/** The stage lets requests say where they come from, as a trusted reverse proxy does. */
export const BEHIND_A_PROXY = { SV_TRUSTED_PROXIES: '127.0.0.0/8' };

/** Addresses of no other test, so that a counter that all processes share has counted nothing of them. */
const hex = (): string => randomInt(0x1_0000).toString(16);
const someNetwork = (): string => `2001:db8:${hex()}:${hex()}`;
const someAddress = (): string => `198.18.${randomInt(256)}.${randomInt(1, 255)}`;

/** Whatever a body is, it is counted: a guess costs the guesser. */
const perAddress =
  (path: string): Play<Row> =>
  async (stage, row) => {
    const rate = rateOf(row);
    const post = (address: string, body: object): Promise<Answer> =>
      stage.anyone('POST', path, { body, headers: { 'x-forwarded-for': address } });
    const notLimited = ({ status }: Pick<Answer, 'status'>): void =>
      expect([400, 401, 403, 422]).toContain(status);
    /** One guess after the other. */
    const fill = async (count: number, addressOf: (n: number) => string): Promise<void> => {
      const guesses = Array.from({ length: count }, (_, n) => ({
        method: 'POST' as const,
        path,
        headers: { 'x-forwarded-for': addressOf(n) },
        body: { guess: n },
      }));
      for (const status of await pipeline(stage.pair.controlPlaneUrl(), guesses)) notLimited({ status });
    };
    const address = someAddress();
    await expectWindowAt(stage.pair.clock, rate, {
      call: () => post(address, { guess: 1 }),
      passes: notLimited,
      fill: (count) => fill(count, () => address),
    });

    const filled = someAddress();
    await fill(rate.limit, () => filled);
    expect((await post(filled, {})).status).toBe(429);
    expect((await post(`::ffff:${filled}`, {})).status).toBe(429);
    notLimited(await post(someAddress(), {}));

    // IPv6 by /64 (contract.md, "REST"): all of it belongs to one subscriber.
    const network = someNetwork();
    await fill(rate.limit, (n) => `${network}::${n + 1}`);
    expect((await post(`${network}:ffff:ffff:ffff:ffff`, {})).status).toBe(429);
    notLimited(await post(`${someNetwork()}::1`, {}));
  };

export const ADDRESS_PLAYS = {
  cli_login_begin: perAddress('/api/cli/login/begin'),
  cli_login_exchange: perAddress('/api/cli/login/exchange'),
  cli_login_refresh: perAddress('/api/cli/login/refresh'),
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, Play<Row>>>;
