import { resolve } from 'node:path';
import { type Pair, startPair } from './pair.ts';
import { adviceOn, keepPorts, keptPorts, mustBeFree, startPorts } from './start-addresses.ts';
import { runOnPair } from './start-commands.ts';
import { pairInFolder, restartInstructions, startInstructions } from './start-instructions.ts';

/**
 * `npm start`: both programs on this machine, bound to each other, with their files under `.svault/`.
 * The first time it prints a one-time link for the owner, and lines that make a first agent and fetch a first credential; later,
 * the addresses and where to look. Ctrl-C (or SIGTERM) stops both and exits with 0. With words behind it, a subcommand on the same files.
 */
const dir = resolve('.svault');
/** What the control plane says at its very first start; the link printed here is as good, and one is enough. */
const FIRST_OWNER_LINK = /^The console is at /;

let pair: Pair | undefined;
let stopping = false;
const stop = (): void => {
  if (stopping) return;
  stopping = true;
  void pair?.stop();
};

// While they start, a failure shows their last lines; from then on each line is printed.
const early: string[] = [];
let pass = (line: string): void => void early.push(line);
const words = process.argv.slice(2);
try {
  if (words.length > 0) process.exitCode = await runOnPair(words, dir);
  else await startBoth();
} catch (error) {
  // Ctrl-C reaches the programs too; that one of them ended before it was ready is no news then.
  const problem = error instanceof Error ? error.message : String(error);
  if (!stopping) process.stderr.write(`svault: ${problem}${adviceOn(problem, dir)}\n`);
  await pair?.stop();
  process.exit(stopping ? 0 : 1);
}

async function startBoth(): Promise<void> {
  // Not `once`: a further Ctrl-C reaches the programs and ends them at once, and this process is to see them gone.
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const kept = keptPorts(dir);
  const ports = startPorts(process.env, kept);
  await mustBeFree(ports);
  pair = await startPair({
    dir,
    controlPlanePort: ports.controlPlane,
    webhookPort: ports.webhook,
    env: { SV_LOG_FORMAT: 'pretty', SV_LOG_LEVEL: process.env['SV_LOG_LEVEL'] ?? 'warn' },
    onLine: (program, line) => {
      if (!FIRST_OWNER_LINK.test(line)) pass(`${program}: ${line}\n`);
    },
  });
  keepPorts(dir, ports);
  if (stopping) await pair.stop();
  else await announce(pair, Object.keys(kept).length === 0);
}

const WEBHOOK_ENDED =
  'the webhook has ended: nothing is delivered any more. To start it again: Ctrl-C here, then npm start';

async function announce(running: Pair, isFirst: boolean): Promise<void> {
  pass = (line) => void process.stderr.write(line);
  for (const line of early) pass(line);
  for (const program of ['control-plane', 'webhook'] as const) {
    running.process(program).child.once('exit', (code, signal) => {
      if (stopping) return;
      // Ended on purpose: the control plane denies what only the webhook can deliver, and that can be looked at.
      if (program === 'webhook' && (code === 0 || signal === 'SIGTERM'))
        return void process.stderr.write(`svault: ${WEBHOOK_ENDED}\n`);
      process.stderr.write(`svault: the ${program} ended (${code ?? signal}); stopping the other one\n`);
      process.exitCode = 1;
      stop();
    });
  }
  const { controlPlaneUrl, webhookUrl } = running;
  const addresses = { controlPlaneUrl, webhookUrl };
  if (!isFirst) return void process.stdout.write(restartInstructions(pairInFolder(dir), addresses));
  const ownerLink = /https?:\S+/.exec(await running.run('control-plane', 'owner-link'))?.[0] ?? '';
  process.stdout.write(startInstructions(pairInFolder(dir), { ...addresses, ownerLink }));
}
