import { Agent, get } from 'node:http';

/** How often each ticket was answered 200 of so many uses at the same time; every other answer must be a 401. */
export async function raceTickets(
  url: string,
  tickets: readonly string[],
  options: { readonly uses: number; readonly inFlight: number },
): Promise<readonly number[]> {
  const { uses, inFlight } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  try {
    return await Promise.all(
      tickets.map(async (ticket) => {
        const use = (): Promise<number> => statusOf(`${url}/v1/credential?ticket=${ticket}`, agent);
        const statuses = await Promise.all(Array.from({ length: uses }, use));
        const strange = statuses.find((status) => status !== 200 && status !== 401);
        if (strange !== undefined) throw new Error(`a ticket in a race was answered ${strange}`);
        return statuses.filter((status) => status === 200).length;
      }),
    );
  } finally {
    agent.destroy();
  }
}

function statusOf(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      answer.resume();
      answer.on('error', reject);
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    }).on('error', reject);
  });
}
