import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parseRegistrationLink } from '../src/binding/registration-link.ts';
import type { WebhookToTest } from '../src/target.ts';
import { freePort } from './free-port.ts';

/** A program and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/** A webhook of `examples/`, as its readers start it. */
export interface Example {
  readonly name: string;
  /** Works where the language is installed. */
  readonly installed: Command;
  /** Where the commands run. */
  readonly folder: string;
  /** Absent: it runs as it is. @param into a folder of its own for what is built */
  readonly build?: (into: string) => Command;
  /** @param built the folder of `build`; `settings` are flags that every example knows */
  readonly serve: (built: string, settings: readonly string[]) => Command;
  /** Prints the link that a service is connected by. */
  readonly bindLink: (built: string, settings: readonly string[]) => Command;
  /** Prints a link by which an approver is enrolled. Absent: it claims no `approvals`. */
  readonly approverLink?: (built: string, settings: readonly string[]) => Command;
}

export interface RunningExample {
  /** Not bound yet. */
  readonly toTest: WebhookToTest;
  /** @throws Error where the example makes none */
  approverLink(): Promise<string>;
  stop(): Promise<void>;
}

/** The suite plays this service; nobody listens there. */
const SERVICE_URL = 'http://127.0.0.1:9';
const READY_POLL_MS = 20;
/** Compiled code beside the sources would be in everybody's way. */
const ENV = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };

export function isInstalled([program, ...args]: Command): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Builds an example and starts it on a free port in a temporary folder. @throws Error with its log where it ends */
export async function startExample(example: Example): Promise<RunningExample> {
  const built = await mkdtemp(join(tmpdir(), `svault-example-${example.name}-`));
  const log = join(built, 'log');
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (child !== undefined) await ended(child);
    await rm(built, { recursive: true, force: true });
  };
  const run = async ([program, ...args]: Command): Promise<string> =>
    (await promisify(execFile)(program, args, { cwd: example.folder, env: ENV })).stdout;
  try {
    if (example.build !== undefined) await run(example.build(built));
    const port = await freePort();
    const listen = `127.0.0.1:${port}`;
    const settings = [
      // A passkey needs a host name, and no address.
      ...['--listen', listen, '--url', `http://localhost:${port}`, '--service-url', SERVICE_URL],
      ...['--data', join(built, 'data'), '--allow', '127.0.0.0/8'],
    ];
    const [program, ...args] = example.serve(built, settings);
    const file = openSync(log, 'w');
    child = spawn(program, args, { cwd: example.folder, env: ENV, stdio: ['ignore', file, file] });
    closeSync(file);
    await ready(child, `http://${listen}`, log);
    const link = await run(example.bindLink(built, settings));
    const approverLink = async (): Promise<string> => {
      if (example.approverLink === undefined)
        throw new Error(`${example.name} makes no link for an approver`);
      return (await run(example.approverLink(built, settings))).trim();
    };
    return { toTest: parseRegistrationLink(link, { timeoutMs: 10_000 }), approverLink, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function ready(child: ChildProcess, url: string, log: string): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const answer = await fetch(`${url}/v1/health`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await delay(READY_POLL_MS);
  }
  throw new Error(`the example ended with ${child.exitCode}: ${await readFile(log, 'utf8')}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
