import { describe, expect, it } from 'vitest';
import type { ComposeEngine } from './compose-engine.ts';
import { stateIn, untilHealthy } from './health.ts';

describe('stateIn', () => {
  it.each([
    ['x-webhook-1  node  "node"  webhook  2 minutes ago  Up 2 minutes (healthy)  8090/tcp', 'healthy'],
    ['x-webhook-1  node  "node"  webhook  2 seconds ago  Up 1 second (health: starting)', 'starting'],
    ['x-webhook-1  node  "node"  webhook  2 minutes ago  Up 2 minutes (unhealthy)', 'unhealthy'],
    ['x_webhook_1   node webhook/src/main.ts   Up (health: starting)   8090/tcp', 'starting'],
    ['x_webhook_1   node webhook/src/main.ts   Up (healthy)   8090/tcp', 'healthy'],
    ['x-other-1  redis  "redis"  other  2 minutes ago  Up 2 minutes', 'healthy'],
    ['x-webhook-1  node  "node"  webhook  2 seconds ago  Restarting (1) 1 second ago', 'stopped'],
    ['x_webhook_1   node webhook/src/main.ts   Exit 1', 'stopped'],
    ['NAME  IMAGE  COMMAND  SERVICE  CREATED  STATUS  PORTS', 'stopped'],
    ['', 'stopped'],
  ])('reads %j as %s', (shown, state) => {
    expect(stateIn(shown)).toBe(state);
  });
});

describe('untilHealthy', () => {
  /** Compose with one service, whose states follow each other; the last one stays. */
  const composeOf = (...states: string[]): ComposeEngine => {
    const said = async (out: string) => ({ code: 0, out });
    return {
      name: 'docker compose',
      show: async () => ({ code: 0 }),
      try: async () => ({ code: 0, lastLine: '' }),
      read: (command) =>
        said(command === 'config' ? 'webhook\n' : ((states.length > 1 ? states.shift() : states[0]) ?? '')),
    };
  };
  const { signal } = new AbortController();

  it.each([
    ['starting for ever', 'Up 1 second (health: starting)', /^webhook does not become healthy/],
    ['stopped for ever', 'Exited (1)', /^webhook does not stay up/],
    ['unhealthy', 'Up 1 minute (unhealthy)', /^webhook runs, but is not healthy/],
  ])('gives up on one that is %s', async (_what, state, said) => {
    await expect(untilHealthy(composeOf(state), { signal, timeoutMs: 0 })).rejects.toMatchObject({
      exit: 'unavailable',
      message: expect.stringMatching(said) as string,
    });
  });

  it('ends once it is healthy', async () => {
    await expect(
      untilHealthy(composeOf('Up 1 second (healthy)'), { signal, timeoutMs: 0 }),
    ).resolves.toBeUndefined();
  });
});
