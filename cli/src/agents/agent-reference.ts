import type { ApiClient } from '../api/api-client.ts';

/**
 * The id of the agent that is meant (contract, "CLI").
 * @param reference an id or a name; under `--dry-run` nothing is asked, and a name stands for its id
 * @throws Failure usage for a name that several have, with their ids; notFound
 */
export async function agentId(client: ApiClient, reference: string): Promise<string> {
  throw new Error(`not built: ${reference} ${Object.keys(client).length}`);
}
