import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { isFree } from './free-port.ts';
import type { PairPorts } from './pair.ts';

/** What keeps the pair from starting, in one line for the terminal. */
class CannotStart extends Error {}

/** A bound pair keeps its addresses, so its ports are kept with its files. The form is that of a .env file. */
const PORTS_FILE = 'ports.env';

/** Keeps the ports of a pair that is bound. */
export function keepPorts(dir: string, { controlPlane, webhook }: PairPorts): void {
  const text = `SVAULT_PORT=${controlPlane}\nSVAULT_WEBHOOK_PORT=${webhook}\n`;
  writeFileSync(join(dir, PORTS_FILE), text, { mode: 0o600 });
}

/** The ports that a pair is bound at; none before its first start. */
export function keptPorts(dir: string): NodeJS.ProcessEnv {
  try {
    return parseEnv(readFileSync(join(dir, PORTS_FILE), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}

/**
 * The ports of the environment, else those that the pair is bound at, else 8080 and 8090.
 * @throws CannotStart for a text that is no port
 */
export function startPorts(env: NodeJS.ProcessEnv, kept: NodeJS.ProcessEnv = {}): PairPorts {
  const port = (name: string, fallback: number): number => {
    const text = env[name] || kept[name] || String(fallback);
    const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > 65_535) throw new CannotStart(`${name} must be a port from 1 to 65535`);
    return value;
  };
  return { controlPlane: port('SVAULT_PORT', 8080), webhook: port('SVAULT_WEBHOOK_PORT', 8090) };
}

/** @throws CannotStart when another program, or a pair that runs already, has one of the ports */
export async function mustBeFree({ controlPlane, webhook }: PairPorts): Promise<void> {
  if (await isTaken(controlPlane)) {
    const url = `http://127.0.0.1:${controlPlane}`;
    throw new CannotStart(
      (await isControlPlane(url))
        ? `svault runs already at ${url}: use it, or stop it with Ctrl-C where it was started`
        : takenBy('SVAULT_PORT', controlPlane),
    );
  }
  if (await isTaken(webhook)) throw new CannotStart(takenBy('SVAULT_WEBHOOK_PORT', webhook));
}

/** What to do where one of the pair says that it is bound to another address than it was started on. */
export const adviceOn = (problem: string, dir: string): string =>
  /is bound to https?:/.test(problem)
    ? `\na bound pair keeps its addresses: start it without SVAULT_PORT and SVAULT_WEBHOOK_PORT, or delete ${dir} to begin anew`
    : '';

const takenBy = (setting: string, port: number): string =>
  `port ${port} of 127.0.0.1 is taken by another program: stop that, or choose a port with ${setting}=…`;

const isTaken = async (port: number): Promise<boolean> =>
  !(await isFree(port).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CannotStart(`cannot listen on 127.0.0.1:${port}: ${reason}`, { cause: error });
  }));

/** Asked without a key, since it may be anybody's program. */
async function isControlPlane(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/api/openapi.json`, { signal: AbortSignal.timeout(2_000) });
    const { info } = (await answer.json()) as { info?: { title?: string } };
    return info?.title === 'svault control plane';
  } catch {
    return false;
  }
}
