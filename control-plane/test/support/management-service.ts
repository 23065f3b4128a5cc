import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock, newKey, randomToken } from '@svault/shared';
import { ON_BUSY_MACHINE } from '@svault/test-kit/busy-machine';
import { makeTestDatabase } from '@svault/test-kit/test-database';
import { eventsOf } from './event-stream.ts';
import { type StoredState, storedState } from './stored-state.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { type RunningControlPlane, type ServeOptions, startControlPlane } from '../../src/serve.ts';

export const BASE_URL = 'http://127.0.0.1:8080';

/** A response; the request's id, which no two share, is apart from what tests compare. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined for an upstream's response. */
  readonly requestId: string | undefined;
  /** The body as text, for comparisons byte by byte. */
  readonly text: string;
  /** The body as JSON; undefined where it is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
  readonly json: any;
}

export interface CallOptions {
  readonly body?: unknown;
  /** Sent as it is. */
  readonly rawBody?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

/** A client that sends these headers with every call. */
export function clientOf(url: string, standing: Readonly<Record<string, string>> = {}): Call {
  return async (method, path, { body, rawBody, headers } = {}) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const request: RequestInit = {
      method,
      redirect: 'manual',
      headers: { ...standing, ...type, ...headers },
    };
    request.body = body === undefined ? (rawBody ?? null) : JSON.stringify(body);
    const response = await fetch(url + path, request);
    const { status } = response;
    return { status, ...withoutRequestId(status, response.headers, await textOf(response)) };
  };
}

/** Of an event stream, which has no end: what there was when it was opened. */
async function textOf(response: Response): Promise<string> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream || response.body === null) return response.text();
  const stream = eventsOf(response);
  await stream.live();
  await stream.close();
  return stream.text();
}

/** @throws Error for the JSON body of an error that has not the id of its header */
function withoutRequestId(status: number, received: Headers, body: string): Omit<Answer, 'status'> {
  const headers = new Headers(received);
  const requestId = headers.get('x-request-id') ?? undefined;
  headers.delete('x-request-id');
  const member = `"requestId":"${requestId}"`;
  const text = body.replace(`,"data":{${member}}`, '').replace(`,${member}`, '');
  if (headers.get('content-length') === String(Buffer.byteLength(body)))
    headers.set('content-length', String(Buffer.byteLength(text)));
  const isError = status >= 400 && headers.get('content-type')?.startsWith('application/json') === true;
  // PROTOCOL.md SIG-58 and TIX-31: the same bytes for every refusal.
  const isUniform = /"(TICKET|SIGNATURE)_INVALID"/.test(body);
  if (isError && !isUniform && requestId !== undefined && body !== '' && text === body)
    throw new Error(`an error has not the id of its request, ${requestId}: ${body}`);
  return { headers, requestId, text, json: tryJson(text) };
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A place for one database, its settings, and what is to be cleaned up. */
export interface Place {
  readonly folder: string;
  /** Of the SQLite file, in the project that has one. */
  readonly databasePath: string;
  readonly state: StoredState;
  readonly env: Readonly<Record<string, string>>;
  readonly adminKey: string;
  remove(): Promise<void>;
}

/** @param options.empty without the schema, as before the very first start; in PostgreSQL it is always there */
export async function makePlace(
  more: Readonly<Record<string, string>> = {},
  options: { readonly empty?: boolean } = {},
): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'svault-management-'));
  const databasePath = join(folder, 'control-plane.db');
  const made = await makeTestDatabase(folder, options);
  const adminKey = newKey('svadmin');
  const env = {
    SV_BASE_URL: BASE_URL,
    SV_LISTEN: '127.0.0.1:0',
    ...made.env,
    SV_MASTER_KEY: randomToken(32),
    SV_BOOTSTRAP_EMAIL: 'owner@example.org',
    SV_BOOTSTRAP_ADMIN_KEY: adminKey,
    ...more,
  };
  const remove = async (): Promise<void> => {
    await made.remove();
    await rm(folder, { recursive: true, force: true });
  };
  return { folder, databasePath, state: storedState(env.SV_DATABASE_URL), env, adminKey, remove };
}

export interface ManagementService {
  readonly place: Place;
  readonly clock: ManualClock;
  readonly running: RunningControlPlane;
  /** Signed in by the admin key. */
  readonly admin: Call;
  /** Without credentials. */
  readonly anyone: Call;
  /** Stops the service and removes its place. */
  stop(): Promise<void>;
}

/** Serves on a place; the clock stands still until a test moves it. */
export async function serveOn(
  place: Place,
  clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z')),
  more: Pick<
    ServeOptions,
    'waitToRetry' | 'startJob' | 'timeouts' | 'drain' | 'consoleFolder' | 'migrations'
  > = {},
) {
  const config = controlPlaneConfig(place.env);
  const running = await startControlPlane(config, {
    clock,
    logger: silentLogger,
    timeouts: ON_BUSY_MACHINE,
    ...more,
  });
  return {
    place,
    clock,
    running,
    admin: clientOf(running.url, { authorization: `Bearer ${place.adminKey}` }),
    anyone: clientOf(running.url),
    stop: async () => {
      await running.close();
      await place.remove();
    },
  } satisfies ManagementService;
}

export const startService = async (more?: Readonly<Record<string, string>>): Promise<ManagementService> =>
  serveOn(await makePlace(more));

/** Signs in by a link and gives a client that holds the session's cookie and says where its page comes from. */
export async function signInBy(service: ManagementService, link: string): Promise<Call> {
  const token = new URL(link).searchParams.get('token');
  const answer = await service.anyone('POST', '/api/login/link', { body: { token } });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  return clientOf(service.running.url, { cookie, origin: BASE_URL });
}
