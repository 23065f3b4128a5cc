import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { randomToken } from '@svault/shared';
import { parseRegistrationLink } from '../src/binding/registration-link.ts';
import type { WebhookToTest } from '../src/target.ts';
import { freePort } from './free-port.ts';

/** The reference webhook as anyone runs it: a process, reached over HTTP alone. */
export interface ReferenceWebhook {
  /** Not bound yet. */
  readonly toTest: WebhookToTest;
  /** Prints a link by which an approver is enrolled. */
  approverLink(): Promise<string>;
  /** Kills it, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../webhook/src/main.ts', import.meta.url));
/** The suite plays this service; nobody listens there. */
const SERVICE_URL = 'http://127.0.0.1:9';

/** Starts the reference webhook in a temporary folder; the suite is the service that it may be bound to. */
export async function startReferenceWebhook(): Promise<ReferenceWebhook> {
  const dir = await mkdtemp(join(tmpdir(), 'svault-reference-'));
  const port = await freePort();
  // A passkey needs a host name, and no address.
  const url = `http://localhost:${port}`;
  const env = {
    ...process.env,
    SV_WEBHOOK_URL: url,
    SV_WEBHOOK_LISTEN: `127.0.0.1:${port}`,
    SV_WEBHOOK_DATA_DIR: dir,
    SV_WEBHOOK_MASTER_KEY: randomToken(32),
    SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
    SV_WEBHOOK_SERVICE_URL: SERVICE_URL,
    SV_EGRESS_ALLOW: '127.0.0.0/8',
  };
  const start = (): ChildProcess =>
    spawn(process.execPath, [MAIN, 'serve'], { env, cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  let child = start();
  const restart = async (): Promise<void> => {
    await ended(child, 'SIGKILL');
    child = start();
    await ready(child, url);
  };
  const stop = async (): Promise<void> => {
    await ended(child);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await ready(child, url);
    const linkOf = async (command: string): Promise<string> => {
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, command], { env, cwd: dir });
      return stdout.split('\n', 1)[0] ?? '';
    };
    const toTest = parseRegistrationLink(await linkOf('bind-link'), { timeoutMs: 10_000 });
    return { toTest, restart, stop, approverLink: () => linkOf('approver-link') };
  } catch (error) {
    await stop();
    throw error;
  }
}

const READY_POLL_MS = 20;

async function ready(child: ChildProcess, url: string): Promise<void> {
  while (child.exitCode === null) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await delay(READY_POLL_MS);
  }
  throw new Error(`the reference webhook ended with ${child.exitCode}`);
}

async function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
