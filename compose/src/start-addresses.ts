import { isFree } from './free-port.ts';

/** Where the pair listens: both on 127.0.0.1. */
export interface StartPorts {
  readonly controlPlane: number;
  readonly webhook: number;
}

/** Unless `SVAULT_PORT` or `SVAULT_WEBHOOK_PORT` names another. */
const DEFAULT_PORTS: StartPorts = { controlPlane: 8080, webhook: 8090 };

/** What keeps the pair from starting, in one line for the terminal. */
class CannotStart extends Error {}

/** @throws CannotStart for a text that is no port */
export function startPorts(env: NodeJS.ProcessEnv): StartPorts {
  const port = (name: string, fallback: number): number => {
    const text = env[name] ?? '';
    if (text === '') return fallback;
    const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > 65_535) throw new CannotStart(`${name} must be a port from 1 to 65535`);
    return value;
  };
  return {
    controlPlane: port('SVAULT_PORT', DEFAULT_PORTS.controlPlane),
    webhook: port('SVAULT_WEBHOOK_PORT', DEFAULT_PORTS.webhook),
  };
}

/** @throws CannotStart when another program, or a pair that runs already, has one of the ports */
export async function mustBeFree({ controlPlane, webhook }: StartPorts): Promise<void> {
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
    ? `\na bound pair keeps its addresses: start it with SVAULT_PORT and SVAULT_WEBHOOK_PORT as at its first start, or delete ${dir} to begin anew`
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
