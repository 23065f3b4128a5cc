import { setTimeout as sleep } from 'node:timers/promises';
import { baseAddress, safeAddress } from './address.ts';
import { type Credential, type Grant, credentialIn, grantsIn } from './credential.ts';
import { ApiError, SealedError, UnexpectedAnswer, UsageError } from './errors.ts';
import { type Answer, get, jsonObject } from './http.ts';
import { notSvault, refusalOf } from './refusal.ts';
import { type SealedReader, type SealingJwk, sealedReader } from './sealed.ts';

export interface ClientOptions {
  /** Of the control plane; `SVAULT_BASE_URL` if omitted. */
  readonly baseUrl?: string;
  /** The agent's, `svagent_…`; `SVAULT_KEY` if omitted. White space around it is dropped. */
  readonly key?: string;
  /**
   * Credentials come from this webhook alone; `SVAULT_WEBHOOK_URL` if omitted, and without either from the one that the control
   * plane names.
   */
  readonly webhookUrl?: string;
  /** A private JWK, or its JSON, for sealed credentials. */
  readonly sealingKey?: SealingJwk | string;
  /** Refuse a credential that is not sealed. */
  readonly requireSealed?: boolean;
  /** For each request; 60,000. */
  readonly timeoutMs?: number;
  /** What one call may wait on `Retry-After`, all tries together; 65,000. 0: never. */
  readonly maxWaitMs?: number;
  /** Called before each wait on `Retry-After`, for a log. */
  readonly onRetry?: (retry: { readonly error: ApiError; readonly waitMs: number }) => void;
  /** In place of the global one, for a proxy or an authority of your own. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What an MCP client is configured with. The headers hold a key: neither `console.log` nor `JSON.stringify` shows them. */
export class Endpoint {
  readonly url: string;
  readonly #authorization: string;

  constructor(url: string, authorization: string) {
    this.url = url;
    this.#authorization = authorization;
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: this.#authorization };
  }
}

const TRIES = 4;
/** The least pause before another try, if `Retry-After` is 0. */
const MIN_PAUSE_MS = 250;
const MAX_MS = 86_400_000;
const CREDENTIAL_PATH = '/v1/credential';

/** Fetches credentials as one agent. It keeps no connection and no credential. */
export class SvaultClient {
  readonly baseUrl: string;
  readonly #authorization: string;
  readonly #webhookUrl: string | undefined;
  readonly #sealed: SealedReader | undefined;
  readonly #requireSealed: boolean;
  readonly #timeoutMs: number;
  readonly #maxWaitMs: number;
  readonly #onRetry: ClientOptions['onRetry'];
  readonly #fetch: typeof globalThis.fetch;

  /** @throws UsageError for an address that is neither https nor on this machine, and for what is no key */
  constructor(options: ClientOptions = {}) {
    const webhookUrl = given(options.webhookUrl, 'SVAULT_WEBHOOK_URL');
    this.baseUrl = controlPlaneAddress(options.baseUrl);
    this.#authorization = bearer(given(options.key, 'SVAULT_KEY'), 'it, or set SVAULT_KEY');
    this.#webhookUrl = webhookUrl === '' ? undefined : baseAddress(webhookUrl, 'webhookUrl');
    this.#sealed = options.sealingKey === undefined ? undefined : sealedReader(options.sealingKey);
    this.#requireSealed = options.requireSealed ?? false;
    if (this.#requireSealed && this.#sealed === undefined)
      throw new UsageError('requireSealed needs a sealingKey');
    this.#timeoutMs = milliseconds('timeoutMs', options.timeoutMs ?? 60_000, 1);
    this.#maxWaitMs = milliseconds('maxWaitMs', options.maxWaitMs ?? 65_000, 0);
    this.#onRetry = options.onRetry;
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  /**
   * Fetches the credential of a service, and opens it if it is sealed. Each call is an entry of the owner's log and counts
   * towards limits: keep the credential until its `expiryTime`, and one without until its service answers 401.
   *
   * One call takes at most four tries of two requests, and `maxWaitMs`: 545 seconds by default.
   * @throws ApiError a denial, with its code
   * @throws RateLimited `Retry-After` is longer than `maxWaitMs`
   * @throws ConnectionFailed no whole answer in time; whether the access was recorded is not known
   * @throws UnexpectedAnswer not an svault response
   * @throws SealedError a sealed credential that this client cannot open
   * @throws UsageError `service` is empty or no text
   */
  async get(service: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Credential> {
    if (typeof service !== 'string' || service === '')
      throw new UsageError('service has to be the name of a service');
    return this.#withRetries(signal, () => this.#getOnce(service, signal));
  }

  /**
   * The services that the agent may ask for. Throws as {@link get} does. A call counts towards limits as one of `get` does, and
   * is no entry of the owner's log.
   */
  async grants({ signal }: { readonly signal?: AbortSignal } = {}): Promise<readonly Grant[]> {
    const answer = await this.#withRetries(signal, () => this.#ask('', signal));
    return understood(answer, new URL(this.baseUrl), () => grantsIn(jsonObject(answer.text)));
  }

  /** The MCP endpoint of the control plane, for this agent. */
  mcp(): Endpoint {
    return new Endpoint(`${this.baseUrl}/api/agents/mcp`, this.#authorization);
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
    if (!/^application\/jose(?:\s*;|$)/i.test(answer.headers.get('content-type') ?? '')) {
      if (this.#requireSealed) throw new SealedError('not_sealed');
      return understood(answer, from, () => credentialIn(jsonObject(answer.text)));
    }
    if (this.#sealed === undefined) throw new SealedError('no_key');
    const content = await this.#sealed.open(answer.text.trim());
    try {
      return credentialIn(jsonObject(content));
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
        if (!error.isRetryable || tries === TRIES || pauseMs > leftMs) throw error;
        leftMs -= pauseMs;
        this.#onRetry?.({ error, waitMs: pauseMs });
        await sleep(pauseMs, undefined, signal === undefined ? {} : { signal });
      }
    }
  }
}

/**
 * The endpoint of an MCP proxy, for any MCP client.
 * @param options.key the proxy's, `mcp_…`
 * @param options.baseUrl of the control plane; `SVAULT_BASE_URL` if omitted
 * @throws UsageError as {@link SvaultClient} does
 */
export function mcpProxy(options: { readonly key: string; readonly baseUrl?: string }): Endpoint {
  const baseUrl = controlPlaneAddress(options.baseUrl);
  return new Endpoint(`${baseUrl}/api/proxy/mcp`, bearer(options.key, 'the key of the proxy, mcp_…'));
}

/** @returns '' for neither; an empty text counts as omitted */
function given(option: string | undefined, variable: string): string {
  const { [variable]: fromEnvironment = '' } = process.env;
  return option === undefined || option === '' ? fromEnvironment : option;
}

function controlPlaneAddress(option: string | undefined): string {
  const text = given(option, 'SVAULT_BASE_URL');
  if (text === '')
    throw new UsageError('baseUrl is missing: give the address of the control plane, or set SVAULT_BASE_URL');
  return baseAddress(text, 'baseUrl');
}

/** @throws UsageError for what is no key of an agent or a proxy; the message does not repeat it */
function bearer(text: string | undefined, source: string): string {
  // A file that a key was read from often ends with a line break.
  const key = text?.trim() ?? '';
  if (!/^[!-~]{1,200}$/.test(key)) throw new UsageError(`key is missing or malformed: give ${source}`);
  if (key.startsWith('svadmin_'))
    throw new UsageError("key is an admin key (svadmin_…); give the agent's own, svagent_…");
  return `Bearer ${key}`;
}

function milliseconds(name: string, value: number, min: 0 | 1): number {
  if (!Number.isInteger(value) || value < min || value > MAX_MS)
    throw new UsageError(`${name} has to be an integer between ${min} and ${MAX_MS}`);
  return value;
}

function understood<T>({ status }: Answer, from: URL, read: () => T): T {
  try {
    return read();
  } catch {
    throw notSvault(from, status);
  }
}
