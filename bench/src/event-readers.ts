/**
 * The consoles of `rows/watching-consoles.ts`, forked: they give way to the process that makes the load, so that its times have
 * none of their work. Once all streams are open it says so; it answers the number of the newest event when each stream has all up
 * to there, or the reason why one has not.
 */
import { once } from 'node:events';
import { type IncomingMessage, get } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const [url = '', authorization = '', count = ''] = process.argv.slice(2);
const MAX_WAIT_MS = 30_000;

/** What is received is read in the end alone. */
async function openStream() {
  const request = get(url, { agent: false, headers: { authorization } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`a stream was answered ${response.statusCode}`);
  const received: Buffer[] = [];
  response.on('data', (part: Buffer) => received.push(part));
  const ids = (): readonly number[] =>
    Array.from(
      Buffer.concat(received)
        .toString()
        .matchAll(/^id: (\d+)$/gmu),
      ([, id]) => Number(id),
    );
  return async (head: number): Promise<void> => {
    const lateAt = performance.now() + MAX_WAIT_MS;
    while ((ids().at(-1) ?? 0) < head && performance.now() < lateAt) await delay(100);
    const numbers = ids();
    const first = numbers[0] ?? 0;
    if (numbers.at(-1) !== head || numbers.some((id, index) => id !== first + index))
      throw new Error(`a stream has lost events: ${numbers.length} from ${first} on, of ${head}`);
  };
}

setPriority(constants.priority.PRIORITY_LOW);
const streams = await Promise.all(Array.from({ length: Number(count) }, openStream));
process.send?.('open');
const [head] = (await once(process, 'message')) as [number];
for (const mustHaveAllUpTo of streams) await mustHaveAllUpTo(head);
process.send?.(head);
process.disconnect();
process.exit();
