import { randomBytes, randomUUID } from 'node:crypto';
import { randomToken, utf8, type HmacKey } from '@svault/shared';
import { forgeSignature, type SignatureDeviation } from '../forge/signature.ts';
import { forgeTicket } from '../forge/ticket.ts';
import type { RequestToSend } from '../http/client.ts';
import { text } from '../http/read-answer.ts';
import type { Answer } from '../http/client.ts';
import type { Address, Binding, Invitation } from '../target.ts';
import { formsOf } from './bind-page.ts';

/** The account that the suite says it binds for. No answer of a webhook names it. */
export const VAULT_ID = 'vlt_conformance';
/** A set-up token that is none: nobody but the owner has the right one. */
export const WRONG_SETUP_TOKEN = 'not-the-setup-token-of-this-webhook';

/** What is said in an exchange, where it is not what it should be. */
export interface ExchangeDeviation {
  readonly code?: string;
  readonly body?: object;
  readonly signature?: SignatureDeviation;
}

/** The requests of a binding, right ones and others (protocol section 5.1). */
export interface Handshake {
  exchange(deviation?: ExchangeDeviation): RequestToSend;
  /** Signed under this key. */
  signed(path: string, json: object | undefined, key: HmacKey): RequestToSend;
  /** `GET /v1/credential` with a ticket under this key, for a record that there is not. */
  ticket(binding: Binding): RequestToSend;
  /** The form of the bind page, filled in with a wrong set-up token; undefined where the page has none for it. */
  wrongSetupToken(page: Answer): RequestToSend | undefined;
}

export function createHandshake(address: Address, { code }: Pick<Invitation, 'code'>): Handshake {
  const codeKey: HmacKey = { id: 'bind', secret: utf8(code) };
  const signed = (
    path: string,
    json: object | undefined,
    key: HmacKey,
    deviation: SignatureDeviation = {},
    beside: readonly (readonly [string, string])[] = [],
  ): RequestToSend => {
    const body = utf8(json === undefined ? '' : JSON.stringify(json));
    const request = { method: 'POST', path, headers: beside, body };
    const { headers, base } = forgeSignature({ ...address, webhookId: '', key }, request, deviation);
    return { ...request, headers, signatureBase: base };
  };
  const service = { baseUrl: address.serviceUrl, vaultId: VAULT_ID };
  return {
    exchange: ({ code: said = code, body = { code: said, service }, signature = {} } = {}) =>
      signed('/v1/exchange', body, said === code ? codeKey : { id: 'bind', secret: utf8(said) }, signature),
    signed: (path, json, key) => {
      const proxied = path === '/v1/proxy';
      const claims = { prx: `prx_${randomToken(16)}`, htm: 'POST' };
      const ticket = proxied
        ? [
            [
              'sv-ticket',
              forgeTicket({ ...address, webhookId: '', key }, 'proxy', 'none', { claims }),
            ] as const,
          ]
        : [];
      return signed(path, json, key, {}, ticket);
    },
    ticket: (binding) => {
      const ticket = forgeTicket(
        { ...address, ...binding },
        'credential',
        `svault-conformance-${randomToken(8)}`,
      );
      return { method: 'GET', path: `/v1/credential?ticket=${ticket}` };
    },
    wrongSetupToken: (page) => {
      const form = formsOf(text(page)).find(({ tokenField }) => tokenField !== undefined);
      if (form?.tokenField === undefined || form.method !== 'post') return undefined;
      const bindPage = `${address.webhookUrl}/bind`;
      if (!URL.canParse(form.action ?? '', bindPage)) return undefined;
      const { href, origin } = new URL(form.action ?? '', bindPage);
      if (!href.startsWith(`${address.webhookUrl}/`)) return undefined;
      return {
        method: 'POST',
        path: href.slice(address.webhookUrl.length),
        headers: [
          ['content-type', 'application/x-www-form-urlencoded'],
          ['origin', origin],
        ],
        body: new URLSearchParams([
          ...form.fields.map(([name, value]): [string, string] => [name, value]),
          [form.tokenField, WRONG_SETUP_TOKEN],
        ]).toString(),
      };
    },
  };
}

/** A key that is nobody's. */
export const unknownKey = (): HmacKey => ({ id: `k-${randomToken(8)}`, secret: randomBytes(32) });
/** A code that is nobody's. */
export const unknownCode = (): string => randomUUID();
