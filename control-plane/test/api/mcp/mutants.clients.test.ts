import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { expect, it } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { mcpAgentOn } from '../../support/mcp-steps.ts';
import { sendMutants } from '../../support/mcp-mutants.ts';

// Two thousand of R8's million; `npm run test:hard` sends them all.

const service = useService(RAISED_LIMITS);

it('answers mutants with documented errors under their own ids, and is there afterwards', async () => {
  const { apiKey } = await mcpAgentOn(service, 'github');
  const { findings, statuses, outcomes } = await sendMutants(service.running.url, apiKey, {
    seed: 8,
    count: 2_000,
  });
  expect(findings).toEqual([]);
  // The mutants are of all kinds, or the run says little.
  for (const status of [200, 202, 400, 404, 406, 415]) expect(statuses.get(status)).toBeGreaterThan(0);
  for (const outcome of ['result', '-32700', '-32600', '-32601', '-32602', '-32020'])
    expect(outcomes.get(outcome)).toBeGreaterThan(0);
  expect((await service.anyone('GET', '/readyz')).status).toBe(200);
});
