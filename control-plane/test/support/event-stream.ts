/** A server-sent event, with its data as JSON. */
interface Sent {
  readonly id: string;
  readonly event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into data of every shape
  readonly data: any;
}

/** A response with server-sent events that is being read. */
export interface EventStream {
  readonly response: Response;
  /** Everything that was read so far. */
  text(): string;
  /** Waits until so many events were read. @throws Error where the stream ends before */
  first(count: number): Promise<readonly Sent[]>;
  /** Waits until every event from before the request was read. */
  live(): Promise<void>;
  /** Waits for the end, and gives all events. @throws Error where the connection breaks */
  end(): Promise<readonly Sent[]>;
  /** Disconnects. */
  close(): Promise<void>;
}

/** Reads a response of server-sent events. */
export function eventsOf(response: Response): EventStream {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const events = (): readonly Sent[] =>
    text
      .split('\n\n')
      .slice(0, -1)
      .map((block) => Object.fromEntries([...block.matchAll(/^(\w+): (.*)$/gm)].map(([, ...field]) => field)))
      .filter((fields) => 'data' in fields)
      .map(({ id, event, data }) => ({
        id: String(id),
        event: String(event),
        data: JSON.parse(String(data)),
      }));
  /** @returns whether it held before the end */
  const until = async (holds: () => boolean): Promise<boolean> => {
    while (!holds()) {
      const { done, value } = await reader.read();
      if (done) return holds();
      text += value;
    }
    return true;
  };
  const need = async (holds: () => boolean): Promise<void> => {
    if (!(await until(holds))) throw new Error(`the stream ended before, with ${text}`);
  };
  return {
    response,
    text: () => text,
    first: async (count) => {
      await need(() => events().length >= count);
      return events().slice(0, count);
    },
    live: () => need(() => text.includes('\n: live\n')),
    end: async () => {
      await until(() => false);
      return events();
    },
    close: () => reader.cancel(),
  };
}

/** Opens the live feed of an account. */
export async function followEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
  query = '',
): Promise<EventStream> {
  const response = await fetch(`${url}/api/events${query}`, { headers });
  if (response.status !== 200) throw new Error(`GET /api/events answered ${response.status}`);
  return eventsOf(response);
}
