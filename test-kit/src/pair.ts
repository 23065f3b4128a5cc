import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type AdminClient, createAdminClient } from '@svault/compose/admin-client';
import { bind, parseRegistrationLink } from '@svault/compose/binding';
import { controlPlaneConfig } from '@svault/control-plane/config';
import { type RunningControlPlane, type ServeOptions, startControlPlane } from '@svault/control-plane/serve';
import { type LogLevel, createLogger, silentLogger } from '@svault/server-kit/logger';
import { ManualClock, newKey, randomToken } from '@svault/shared';
import { webhookConfig } from '@svault/webhook/config';
import { openContext } from '@svault/webhook/context';
import { type RunningWebhook, startWebhook } from '@svault/webhook/serve';
import { registrationLinkByPage } from './bind-by-page.ts';
import { ON_BUSY_MACHINE } from './busy-machine.ts';
import { LogSink } from './log-sink.ts';
import { tempDir } from './temp-dir.ts';
import { makeTestDatabase } from './test-database.ts';

export type ProgramName = 'control-plane' | 'webhook';

/** Public address of the service. Nothing listens there: clients of a test call `controlPlaneUrl`. */
const BASE_URL = 'http://127.0.0.1:1';
const START = Date.UTC(2026, 10, 20, 12);

export interface PairOptions {
  /** Further settings, for both programs. */
  readonly env?: Readonly<Record<string, string>>;
  readonly logLevel?: LogLevel;
  /** False leaves the two unbound. */
  readonly bound?: boolean;
  /** Where the clock starts, in milliseconds since 1970. */
  readonly startMs?: number;
  /** The webhook has a clock of its own, which stands still: `clock` moves the control plane's alone. */
  readonly ownClocks?: true;
  /** How the control plane's background jobs run; by timers unless said otherwise. */
  readonly startJob?: ServeOptions['startJob'];
}

/** Both programs in this process on one manual clock, bound to each other over a wiretap. */
export interface TestPair {
  readonly clock: ManualClock;
  readonly dir: string;
  /** `SV_DATABASE_URL` of the control plane. */
  readonly databaseUrl: string;
  readonly adminKey: string;
  readonly masterKeys: Readonly<Record<ProgramName, string>>;
  readonly setupToken: string;
  /** Where the control plane listens now; another port after a restart. */
  readonly controlPlaneUrl: () => string;
  /** Where a program shows its metrics now; undefined without `SV_METRICS_LISTEN`. */
  readonly metricsUrl: (program: ProgramName) => string | undefined;
  /** The webhook's public address: the wiretap. What only the control plane sends there is what gets recorded. */
  readonly webhookUrl: string;
  /** The management routes with the owner's admin key. */
  readonly admin: AdminClient;
  /** The same request to the webhook without passing the wiretap, as an agent in another network would. */
  readonly bypassingRecorder: (url: string) => string;
  /** All bytes between control plane and webhook so far. */
  readonly recorded: () => Buffer;
  /** All that one of the two logged so far, across restarts. */
  readonly logOf: (program: ProgramName) => string;
  readonly bind: () => Promise<void>;
  /** The link that `webhook approver-link` prints. */
  readonly approverLink: () => Promise<string>;
  readonly stop: (program: ProgramName) => Promise<void>;
  /** @param changes settings of this start alone */
  readonly start: (program: ProgramName, changes?: Readonly<Record<string, string>>) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startPair(options: PairOptions = {}): Promise<TestPair> {
  const clock = new ManualClock(options.startMs ?? START);
  const dir = tempDir();
  const database = await makeTestDatabase(dir.path);
  const adminKey = newKey('svadmin');
  const setupToken = randomToken(32);
  const masterKeys = { 'control-plane': randomToken(32), webhook: randomToken(32) };
  const logs = { 'control-plane': new LogSink(), webhook: new LogSink() };
  const running: { 'control-plane'?: RunningControlPlane; webhook?: RunningWebhook } = {};
  const listening = (program: ProgramName): string => {
    const url = running[program]?.url;
    if (url === undefined) throw new Error(`the ${program} is stopped`);
    return url;
  };
  const webhookClock = (): ManualClock =>
    options.ownClocks === undefined ? clock : new ManualClock(clock.now());
  const tap = await startWiretap(() => running.webhook?.url);
  const env = {
    SV_EGRESS_ALLOW: '127.0.0.0/8',
    SV_BASE_URL: BASE_URL,
    SV_LISTEN: '127.0.0.1:0',
    ...database.env,
    SV_MASTER_KEY: masterKeys['control-plane'],
    SV_BOOTSTRAP_EMAIL: 'owner@example.org',
    SV_BOOTSTRAP_ADMIN_KEY: adminKey,
    SV_WEBHOOK_URL: tap.url,
    SV_WEBHOOK_LISTEN: '127.0.0.1:0',
    SV_WEBHOOK_DATA_DIR: join(dir.path, 'webhook'),
    SV_WEBHOOK_MASTER_KEY: masterKeys.webhook,
    SV_WEBHOOK_SERVICE_URL: BASE_URL,
    SV_WEBHOOK_SETUP_TOKEN: setupToken,
    ...options.env,
  };
  const level = options.logLevel ?? 'debug';
  const loggerOf = (name: ProgramName) =>
    createLogger({ name, level, format: 'json', destination: logs[name] });
  const start: TestPair['start'] = async (program, changes) => {
    const settings = { ...env, ...changes };
    const surroundings = { clock, logger: loggerOf(program) };
    if (program === 'webhook')
      running.webhook = await startWebhook(webhookConfig(settings), {
        ...surroundings,
        clock: webhookClock(),
      });
    else
      running['control-plane'] = await startControlPlane(controlPlaneConfig(settings), {
        ...surroundings,
        timeouts: ON_BUSY_MACHINE,
        startJob: options.startJob,
      });
  };
  const stop = async (program: ProgramName): Promise<void> => {
    const { [program]: stopped } = running;
    delete running[program];
    await stopped?.close();
  };
  const admin: AdminClient = {
    call: (method, path, body) =>
      createAdminClient(listening('control-plane'), adminKey).call(method, path, body),
  };
  const bindPair = async (): Promise<void> =>
    bind(admin, parseRegistrationLink(await registrationLinkByPage(listening('webhook'), setupToken)));
  const close = async (): Promise<void> => {
    await stop('control-plane');
    await stop('webhook');
    await tap.close();
    await database.remove();
    dir.remove();
  };
  try {
    await start('webhook');
    await start('control-plane');
    if (options.bound !== false) await bindPair();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    clock,
    dir: dir.path,
    databaseUrl: env.SV_DATABASE_URL,
    adminKey,
    masterKeys,
    setupToken,
    controlPlaneUrl: () => listening('control-plane'),
    metricsUrl: (program) => running[program]?.metricsUrl,
    webhookUrl: tap.url,
    admin,
    bypassingRecorder: (url) => url.replace(tap.url, listening('webhook')),
    recorded: tap.recorded,
    logOf: (program) => logs[program].text,
    bind: bindPair,
    approverLink: async () => {
      const context = await openContext(webhookConfig(env), { clock: webhookClock(), logger: silentLogger });
      try {
        return (await context.approvers.makeLink(undefined)).link;
      } finally {
        context.close();
      }
    },
    stop,
    start,
    close,
  };
}

/**
 * Forwards TCP to another address on this machine and keeps a copy of all that passes.
 *
 * @param target asked at each connection, so that the other side may move; undefined while there is none
 */
async function startWiretap(target: () => string | undefined) {
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const url = target();
    if (url === undefined) return void client.destroy();
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => void chunks.push(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** Every byte that passed in either direction, connection after connection. */
    recorded: () => Buffer.concat(chunks),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
