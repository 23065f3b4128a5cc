import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { type TestPair, type PairOptions, startPair } from '@svault/test-kit/pair';
import { type CommandLine, commandLine } from './command-line.ts';

/** A real pair, and people who use it from the command line. */
export interface PairAndPeople {
  readonly pair: TestPair;
  /** Signed in by nothing but the environment: SVAULT_BASE_URL, SVAULT_WEBHOOK_URL, and the owner's admin key in SVAULT_KEY. */
  readonly admin: CommandLine;
  /** An agent with these grants, signed in in the same way. */
  agent(
    name: string,
    ...services: readonly string[]
  ): Promise<CommandLine & { readonly id: string; readonly key: string }>;
  /** Somebody who is not signed in. */
  stranger(env?: Readonly<Record<string, string>>): CommandLine;
  close(): Promise<void>;
}

export async function pairAndPeople(options: PairOptions = {}): Promise<PairAndPeople> {
  // No job calls the webhook: one that met a busy machine would note it as away, on a clock that stands still.
  const { startJob } = jobsByHand();
  // The command line reckons by the time of this machine.
  const pair = await startPair({ logLevel: 'warn', startMs: Date.now(), startJob, ...options });
  const lines: CommandLine[] = [];
  const person = (env: Readonly<Record<string, string>> = {}): CommandLine => {
    const line = commandLine(env);
    lines.push(line);
    return line;
  };
  const SVAULT_BASE_URL = pair.controlPlaneUrl();
  return {
    pair,
    admin: person({ SVAULT_BASE_URL, SVAULT_WEBHOOK_URL: pair.webhookUrl, SVAULT_KEY: pair.adminKey }),
    agent: async (name, ...services) => {
      const { agent, apiKey: key } = await pair.admin.call<{ agent: { id: string }; apiKey: string }>(
        'POST',
        '/api/agents',
        { name },
      );
      for (const serviceName of services)
        await pair.admin.call('POST', `/api/agents/${agent.id}/grants`, { allowMissing: true, serviceName });
      return { ...person({ SVAULT_BASE_URL, SVAULT_KEY: key }), id: agent.id, key };
    },
    stranger: person,
    close: async () => {
      await pair.close();
      for (const line of lines) line.remove();
    },
  };
}
