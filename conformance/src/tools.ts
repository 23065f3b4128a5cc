import { randomToken, utf8, type HeaderPairs } from '@svault/shared';
import { CheckSkipped } from './check-outcome.ts';
import { expectOk } from './expect.ts';
import { forgeSignature, type SignatureDeviation } from './forge/signature.ts';
import { forgeTicket, type TicketDeviation } from './forge/ticket.ts';
import type { Answer, Client } from './http/client.ts';
import type { Target } from './target.ts';

/** What a check works with: the wire, and the service's hand on it. */
export interface Tools {
  readonly target: Target;
  readonly send: Client['send'];
  /** Sends a request that the service signed, rightly or with a deviation. A body that is an object goes as JSON. */
  signed(
    request: { method: string; path: string; body?: object | string },
    deviation?: SignatureDeviation,
  ): Promise<Answer>;
  /** The headers of such a request, to be tampered with before they are sent. */
  sign(request: { method: string; path: string; body?: string }, deviation?: SignatureDeviation): HeaderPairs;
  ticket(op: 'credential' | 'store', serviceName: string, deviation?: TicketDeviation): string;
  /** GET /v1/credential with a ticket in the query, as an agent comes from the 307. */
  fetchCredential(ticket: string, headers?: HeaderPairs): Promise<Answer>;
  /** A service name that nothing is stored under yet; removed after the run. */
  freshName(): string;
  /** Stores a text under a name and returns it. @throws CheckFailed where that does not work */
  storeText(serviceName: string): Promise<string>;
  /** @throws CheckSkipped unless the webhook claims the capability */
  need(capability: string): Promise<void>;
}

/** Tools for one run, and what clears up after it. */
export interface Toolbox {
  readonly tools: Tools;
  /** Deletes every record that the run may have stored. */
  clearUp(): Promise<void>;
}

const NAME_PREFIX = 'svault-conformance-';

export function createTools(target: Target, client: Client): Toolbox {
  const names: string[] = [];
  let capabilities: Promise<readonly unknown[]> | undefined;

  const sign: Tools['sign'] = ({ method, path, body = '' }, deviation) =>
    forgeSignature(target, { method, path, body: utf8(body) }, deviation);
  const signed: Tools['signed'] = ({ method, path, body }, deviation) => {
    const text = typeof body === 'object' ? JSON.stringify(body) : (body ?? '');
    return client.send({ method, path, headers: sign({ method, path, body: text }, deviation), body: text });
  };
  const askCapabilities = async (): Promise<readonly unknown[]> => {
    const health = expectOk(await signed({ method: 'POST', path: '/v1/health' }));
    const claimed = health['capabilities'];
    return Array.isArray(claimed) ? (claimed as readonly unknown[]) : [];
  };
  const ticket: Tools['ticket'] = (op, serviceName, deviation) =>
    forgeTicket(target, op, serviceName, deviation);

  const tools: Tools = {
    target,
    send: client.send,
    sign,
    signed,
    ticket,
    fetchCredential: (token, headers = []) =>
      client.send({ method: 'GET', path: `/v1/credential?ticket=${token}`, headers }),
    freshName: () => {
      const name = NAME_PREFIX + randomToken(8);
      names.push(name);
      return name;
    },
    storeText: async (serviceName) => {
      const value = `canary-${randomToken()}`;
      const answer = await client.send({
        method: 'POST',
        path: '/v1/store',
        headers: [
          ['authorization', `Bearer ${ticket('store', serviceName)}`],
          ['content-type', 'application/json'],
        ],
        body: JSON.stringify({ tokenType: 'PlainText', value }),
      });
      expectOk(answer);
      return value;
    },
    need: async (capability) => {
      capabilities ??= askCapabilities();
      if (!(await capabilities).includes(capability))
        throw new CheckSkipped(`the webhook does not claim ${capability}`);
    },
  };
  return {
    tools,
    clearUp: async () => {
      for (const serviceName of names)
        await signed({ method: 'POST', path: '/v1/storage', body: { op: 'tokens.delete', serviceName } });
    },
  };
}
