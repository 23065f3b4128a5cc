import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { beforeAll, expect, it } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { mcpAgentOn } from '../../support/mcp-steps.ts';
import { sendMutants } from '../../support/mcp-mutants.ts';

// R8: a million mutants at the MCP endpoint.

const MILLION = 1_000_000;
const PARTS = 20;

const service = useService(RAISED_LIMITS);
let apiKey: string;
beforeAll(async () => {
  ({ apiKey } = await mcpAgentOn(service, 'github'));
});

it.each(Array.from({ length: PARTS }, (_, part) => part))(
  'never a 5xx or a crash, and id and its type come back (part %i)',
  async (part) => {
    const { findings } = await sendMutants(service.running.url, apiKey, {
      seed: 1_000 + part,
      count: MILLION / PARTS,
    });
    expect(findings).toEqual([]);
    expect((await service.anyone('GET', '/readyz')).status).toBe(200);
  },
  600_000,
);
