import { getContainerRuntimeClient } from 'testcontainers';
import { NODE_IMAGE } from './images.ts';

/** What a command inside a container did. */
export interface Ran {
  readonly exitCode: number;
  /** stdout and stderr. */
  readonly output: string;
}

/** One container of a compose project or of a test, whatever becomes of it. */
export interface Machine {
  readonly id: string;
  inspect(): Promise<Inspected>;
  /** Everything that it has written. */
  logs(): Promise<string>;
  run(...command: string[]): Promise<Ran>;
  /** SIGKILL from outside, as a crash; unlike `docker kill` it lets the restart policy act. */
  crash(): Promise<void>;
  /** SIGTERM, and SIGKILL after the grace time. @returns the exit code */
  stop(graceSeconds?: number): Promise<number>;
  start(): Promise<void>;
  pause(): Promise<void>;
  unpause(): Promise<void>;
  leave(networkName: string): Promise<void>;
  join(networkName: string, aliases?: readonly string[]): Promise<void>;
  /** Port of this machine that leads to one of the container's. */
  port(inside: number): Promise<number>;
  /** Waits until its health check says so, or, where it has none, until it runs. */
  healthy(): Promise<void>;
}

type Inspected = Awaited<
  ReturnType<ReturnType<Awaited<ReturnType<typeof docker>>['getContainer']>['inspect']>
>;

const docker = async () => (await getContainerRuntimeClient()).container.dockerode;

/** How often an engine is asked that does not tell by itself. */
const POLL_MS = 200;
const PATIENCE_MS = 90_000;

/** Asks again and again, with a bound that is an error. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Asks one that has just been started until it answers. */
export const untilAnswered = (what: string, ask: () => Promise<unknown>): Promise<void> =>
  until(`an answer of ${what}`, () =>
    ask().then(
      () => true,
      () => false,
    ),
  );

/** The containers of one service of a compose project, also of one that has ended. */
export async function machinesOf(project: string, service: string): Promise<readonly Machine[]> {
  const label = [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`];
  const found = await (await docker()).listContainers({ all: true, filters: { label } });
  return Promise.all(found.map(({ Id }) => machine(Id)));
}

export async function machine(id: string): Promise<Machine> {
  const engine = await docker();
  const container = engine.getContainer(id);
  const state = async () => (await container.inspect()).State;
  return {
    id,
    inspect: () => container.inspect(),
    logs: async () => {
      const frames = await container.logs({ stdout: true, stderr: true, follow: false });
      return unframed(frames);
    },
    run: async (...command) => {
      const exec = await container.exec({ Cmd: command, AttachStdout: true, AttachStderr: true });
      const stream = await exec.start({ hijack: true, stdin: false });
      const output = unframed(Buffer.concat((await stream.toArray()) as Buffer[]));
      return { exitCode: (await exec.inspect()).ExitCode ?? -1, output };
    },
    crash: async () => {
      const { Pid } = await state();
      const killer = await engine.createContainer({
        Image: NODE_IMAGE,
        Entrypoint: ['node', '-e', `process.kill(${Pid}, 'SIGKILL')`],
        User: 'root',
        HostConfig: { PidMode: 'host', NetworkMode: 'none' },
      });
      try {
        await killer.start();
        await killer.wait();
      } finally {
        await killer.remove({ force: true });
      }
      // It may run again by the time somebody looks, as another process.
      await until('the end of a killed container', async () => (await state()).Pid !== Pid);
    },
    stop: async (graceSeconds = 20) => {
      await container.stop({ t: graceSeconds });
      return (await state()).ExitCode;
    },
    start: () => container.start(),
    pause: () => freeze(() => container.pause()),
    unpause: () => container.unpause(),
    leave: async (networkName) => {
      await engine.getNetwork(networkName).disconnect({ Container: id, Force: true });
    },
    join: async (networkName, aliases = []) => {
      await engine
        .getNetwork(networkName)
        .connect({ Container: id, EndpointConfig: { Aliases: [...aliases] } });
    },
    port: async (inside) => {
      const { Ports } = (await container.inspect()).NetworkSettings;
      const port = Number(Ports[`${inside}/tcp`]?.[0]?.HostPort);
      if (!(port > 0)) throw new Error(`port ${inside} is not published`);
      return port;
    },
    healthy: () =>
      until('the health of a container', async () => {
        const { Running, Restarting, Health, Status } = await state();
        if (Status === 'exited' || Status === 'dead')
          throw new Error(`it has ended: ${await (await machine(id)).logs()}`);
        return Running && !Restarting && (Health === undefined || Health.Status === 'healthy');
      }),
  };
}

const FRAME_HEADER_BYTES = 8;

/** Docker's Engine API, "Attach to a container": eight bytes say which stream and how long, then comes the text. */
function unframed(frames: Buffer): string {
  let text = '';
  for (let at = 0; at + FRAME_HEADER_BYTES <= frames.length;) {
    const length = frames.readUInt32BE(at + 4);
    text += frames.toString('utf8', at + FRAME_HEADER_BYTES, at + FRAME_HEADER_BYTES + length);
    at += FRAME_HEADER_BYTES + length;
  }
  return text;
}

const MAX_FREEZES = 10;

/** The kernel may not freeze a busy container in the time that the engine gives it: then that runs on, and is frozen anew. */
async function freeze(pause: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await pause();
    } catch (error) {
      if (tries === MAX_FREEZES || !String(error).includes('unable to freeze')) throw error;
    }
  }
}
