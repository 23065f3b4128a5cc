import { setTimeout as sleep } from 'node:timers/promises';
import { baseAddress, safeAddress } from './address.ts';
import { Credential, type Grant, grantsIn } from './credential.ts';
import { ApiError, SealedError, UnexpectedAnswer } from './errors.ts';
import { type Answer, get, jsonObject } from './http.ts';
import { notSvault, refusalOf } from './refusal.ts';
import { type SealedReader, type SealingJwk, sealedReader } from './sealed.ts';

export interface ClientOptions {
  /** Of the control plane; `SVAULT_BASE_URL` where it is not given. */
  readonly baseUrl?: string;
  /** The agent's, `svagent_…`; `SVAULT_KEY` where it is not given. */
  readonly key?: string;
  /**
   * Credentials come from this webhook alone; `SVAULT_WEBHOOK_URL` where it is not given, and without either from the one that
   * the control plane names.
   */
  readonly webhookUrl?: string;
  /** A private JWK, or its JSON, for sealed credentials. */
  readonly sealingKey?: SealingJwk | string;
  /** For each request; 60,000. */
  readonly timeoutMs?: number;
  /** What one call may wait on `Retry-After`, all tries together; 65,000. 0: never. */
  readonly maxWaitMs?: number;
  /** In place of the global one, for a proxy or an authority of your own. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What an MCP client is configured with. The headers hold a key. */
export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const TRIES = 4;
/** An answer that wants to be asked again at once gets that much rest. */
const MIN_PAUSE_MS = 250;
/** What the same request may be answered otherwise a little later, where `Retry-After` says so. */
const TEMPORARY = [409, 429, 502, 503, 504];
const CREDENTIAL_PATH = '/v1/credential';

/** Fetches credentials as one agent. It keeps no connection and no credential. */
export class SvaultClient {
  readonly baseUrl: string;
  readonly #authorization: string;
  readonly #webhookUrl: string | undefined;
  readonly #sealed: SealedReader | undefined;
  readonly #timeoutMs: number;
  readonly #maxWaitMs: number;
  readonly #fetch: typeof globalThis.fetch;

  /** @throws TypeError for an address that is neither https nor on this machine, and for what is no key */
  constructor(options: ClientOptions = {}) {
    const webhookUrl = options.webhookUrl ?? process.env['SVAULT_WEBHOOK_URL'];
    this.baseUrl = baseAddress(options.baseUrl ?? process.env['SVAULT_BASE_URL'], 'baseUrl');
    this.#authorization = bearer(options.key ?? process.env['SVAULT_KEY'] ?? '');
    this.#webhookUrl = webhookUrl === undefined ? undefined : baseAddress(webhookUrl, 'webhookUrl');
    this.#sealed = options.sealingKey === undefined ? undefined : sealedReader(options.sealingKey);
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#maxWaitMs = options.maxWaitMs ?? 65_000;
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  /**
   * Fetches the credential of a service, opened where it is sealed. Each use is an entry of the owner's log: keep what you got
   * while its `expiryTime` allows.
   * @throws ApiError a denial, with its code
   * @throws RateLimited where `Retry-After` is longer than `maxWaitMs`
   * @throws ConnectionFailed no whole answer in time; whether the access was recorded is not known
   * @throws UnexpectedAnswer an answer that is none of svault's
   * @throws SealedError a sealed credential that this client cannot open
   */
  get(service: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Credential> {
    return this.#withRetries(signal, () => this.#getOnce(service, signal));
  }

  /** The services that the agent may ask for. Throws as {@link get} does. */
  async grants({ signal }: { readonly signal?: AbortSignal } = {}): Promise<readonly Grant[]> {
    const answer = await this.#withRetries(signal, () => this.#ask('', signal));
    return understood(answer, new URL(this.baseUrl), () => grantsIn(jsonObject(answer.text)));
  }

  /** The MCP endpoint of the control plane, for this agent. */
  mcp(): Endpoint {
    return { url: `${this.baseUrl}/api/agents/mcp`, headers: { authorization: this.#authorization } };
  }

  async #getOnce(service: string, signal: AbortSignal | undefined): Promise<Credential> {
    // A ticket works once, so a new try takes both steps.
    const asked = await this.#ask(`?service=${encodeURIComponent(service)}&redirect=false`, signal);
    const { url } = jsonObject(asked.text);
    if (typeof url !== 'string') throw notSvault(new URL(this.baseUrl), asked.status);
    const from = this.#webhookAddress(url);
    // Without the key: it is of the control plane alone.
    const delivered = await this.#get(from, { accept: 'application/json, application/jose' }, signal);
    if (delivered.status !== 200) throw refusalOf(delivered, from);
    const credential = await this.#opened(delivered, from);
    if (credential.serviceName !== service)
      throw new UnexpectedAnswer(`${from.host} delivered the credential of another service`);
    return credential;
  }

  async #ask(query: string, signal: AbortSignal | undefined): Promise<Answer> {
    const url = new URL(`${this.baseUrl}/api/agents/credentials${query}`);
    const headers = { accept: 'application/json', authorization: this.#authorization };
    const answer = await this.#get(url, headers, signal);
    if (answer.status !== 200) throw refusalOf(answer, url);
    return answer;
  }

  #get(url: URL, headers: Record<string, string>, signal: AbortSignal | undefined): Promise<Answer> {
    return get(url, { headers, signal, timeoutMs: this.#timeoutMs, fetch: this.#fetch });
  }

  #webhookAddress(text: string): URL {
    const { host } = new URL(this.baseUrl);
    const url = safeAddress(text);
    if (url === undefined)
      throw new UnexpectedAnswer(
        `${host} leads to an address that is not https, and not http on this machine; it is not opened`,
      );
    const pinned = this.#webhookUrl;
    if (pinned !== undefined && url.origin + url.pathname !== pinned + CREDENTIAL_PATH)
      throw new UnexpectedAnswer(
        `${host} leads to ${url.host} instead of ${new URL(pinned).host}; it is not opened`,
      );
    return url;
  }

  async #opened(answer: Answer, from: URL): Promise<Credential> {
    if (!/^application\/jose(?:\s*;|$)/i.test(answer.headers.get('content-type') ?? ''))
      return understood(answer, from, () => new Credential(jsonObject(answer.text)));
    if (this.#sealed === undefined)
      throw new SealedError('no_key', 'the credential is sealed: create the client with sealingKey');
    const content = await this.#sealed.open(answer.text.trim());
    try {
      return new Credential(jsonObject(content));
    } catch {
      throw new SealedError('not_a_credential');
    }
  }

  async #withRetries<T>(signal: AbortSignal | undefined, once: () => Promise<T>): Promise<T> {
    let leftMs = this.#maxWaitMs;
    for (let tries = 1; ; tries += 1) {
      try {
        return await once();
      } catch (error) {
        if (!(error instanceof ApiError) || error.retryAfter === undefined) throw error;
        const pauseMs = Math.max(error.retryAfter * 1_000, MIN_PAUSE_MS);
        if (!TEMPORARY.includes(error.status) || tries === TRIES || pauseMs > leftMs) throw error;
        leftMs -= pauseMs;
        await sleep(pauseMs, undefined, signal === undefined ? {} : { signal });
      }
    }
  }
}

/**
 * The endpoint of an MCP proxy, for any MCP client.
 * @param options.key the proxy's, `mcp_…`
 * @param options.baseUrl of the control plane; `SVAULT_BASE_URL` where it is not given
 * @throws TypeError as {@link SvaultClient} does
 */
export function mcpProxy(options: { readonly key: string; readonly baseUrl?: string }): Endpoint {
  const baseUrl = baseAddress(options.baseUrl ?? process.env['SVAULT_BASE_URL'], 'baseUrl');
  return { url: `${baseUrl}/api/proxy/mcp`, headers: { authorization: bearer(options.key) } };
}

/** @throws TypeError for what is no key of an agent or a proxy; the message does not repeat it */
function bearer(key: string): string {
  if (!/^[!-~]{1,200}$/.test(key))
    throw new TypeError('key is missing or malformed: give it, or set SVAULT_KEY');
  if (key.startsWith('svadmin_')) throw new TypeError('key is an admin key; an agent has its own, svagent_…');
  return `Bearer ${key}`;
}

function understood<T>({ status }: Answer, from: URL, read: () => T): T {
  try {
    return read();
  } catch {
    throw notSvault(from, status);
  }
}
