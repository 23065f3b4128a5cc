import * as z from 'zod';

/** What a tool of the upstreams may do beside answering, said without an SDK. */
interface ToolSurroundings {
  readonly progressToken: string | number | undefined;
  readonly signal: AbortSignal;
  /** On the stream of the answer. */
  notify(method: string, params: Record<string, unknown>): Promise<void>;
  /** On the stream that the client opened by GET. */
  announce(text: string): Promise<void>;
  /** Asks the client and waits for what it posts. */
  ask(question: string): Promise<string>;
  /** Ends the answer's stream before the answer is there, so that the client comes again. */
  endStream(): void;
}

/** A tool as both of the SDKs can have it. */
interface ContentTool {
  readonly name: string;
  readonly input: z.ZodRawShape;
  readonly output?: z.ZodRawShape;
  run(args: Record<string, unknown>, around: ToolSurroundings): Promise<ToolResult>;
}

interface ToolResult {
  readonly [key: string]: unknown;
  readonly content: (
    | { type: 'text'; text: string }
    | { type: 'image' | 'audio'; data: string; mimeType: string }
    | { type: 'resource_link'; uri: string; name: string }
    | { type: 'resource'; resource: { uri: string; text: string; mimeType?: string } }
  )[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

const text = (said: string): ToolResult => ({ content: [{ type: 'text', text: said }] });

/** The tools that both of the SDK's servers have. */
export function contentTools(): readonly ContentTool[] {
  const cancelled = new Set<unknown>();
  return [
    { name: 'echo', input: { text: z.string() }, run: (args) => Promise.resolve(text(String(args['text']))) },
    {
      name: 'add',
      input: { a: z.number(), b: z.number() },
      output: { sum: z.number() },
      run: ({ a, b }) => {
        const sum = Number(a) + Number(b);
        return Promise.resolve({ ...text(String(sum)), structuredContent: { sum } });
      },
    },
    {
      name: 'everything-else',
      input: {},
      run: () =>
        Promise.resolve({
          content: [
            { type: 'image', data: Buffer.from('picture').toString('base64'), mimeType: 'image/png' },
            { type: 'audio', data: Buffer.from('sound').toString('base64'), mimeType: 'audio/wav' },
            { type: 'resource_link', uri: 'memo://one', name: 'one' },
            { type: 'resource', resource: { uri: 'memo://inline', text: 'ünïcode ✓ 漢字 \u2028 \u0000' } },
          ],
        }),
    },
    {
      name: 'fail',
      input: {},
      run: () => Promise.resolve({ ...text('it went wrong'), isError: true }),
    },
    { name: 'explode', input: {}, run: () => Promise.reject(new Error('thrown')) },
    {
      name: 'large',
      input: { bytes: z.number() },
      run: (args) => Promise.resolve(text('0123456789abcdef'.repeat(Number(args['bytes']) / 16))),
    },
    {
      name: 'steps',
      input: { count: z.number() },
      run: async (args, { notify, progressToken }) => {
        const total = Number(args['count']);
        for (let progress = 1; progress <= total; progress += 1) {
          await notify('notifications/message', { level: 'info', data: `step ${progress}` });
          if (progressToken !== undefined)
            await notify('notifications/progress', { progressToken, progress, total });
        }
        return text(`${total} steps`);
      },
    },
    {
      name: 'wait',
      input: { key: z.string() },
      run: (args, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            cancelled.add(args['key']);
            resolve(text('too late'));
          });
        }),
    },
    {
      name: 'was-cancelled',
      input: { key: z.string() },
      run: (args) => Promise.resolve(text(String(cancelled.has(args['key'])))),
    },
    {
      name: 'in-two-parts',
      input: {},
      run: async (_args, { notify, endStream }) => {
        await notify('notifications/message', { level: 'info', data: 'before the cut' });
        endStream();
        await notify('notifications/message', { level: 'info', data: 'after the cut' });
        return text('after all');
      },
    },
    {
      name: 'by-header',
      // The client of the second SDK sends it as `Mcp-Param-Region` too, and the server compares.
      input: { region: z.string().meta({ 'x-mcp-header': 'Region' }) },
      run: (args) => Promise.resolve(text(`in ${String(args['region'])}`)),
    },
    {
      name: 'ask',
      input: { question: z.string() },
      run: async (args, { ask }) => text(`it said ${await ask(String(args['question']))}`),
    },
    {
      name: 'announce',
      input: { text: z.string() },
      run: async (args, { announce }) => {
        await announce(String(args['text']));
        return text('announced');
      },
    },
  ];
}

/** By URI. */
export const RESOURCES = {
  'memo://one': { uri: 'memo://one', mimeType: 'text/plain', text: 'the first memo' },
  'memo://bytes': {
    uri: 'memo://bytes',
    mimeType: 'application/octet-stream',
    blob: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64'),
  },
} as const;

export const promptFor = (topic: string) => ({
  messages: [
    { role: 'user' as const, content: { type: 'text' as const, text: `Say something on ${topic}` } },
  ],
});

/** Keeps the events of all streams of one session, in order. */
export class EventMemory<Message> {
  readonly #events: { readonly id: string; readonly streamId: string; readonly message: Message }[] = [];

  storeEvent(streamId: string, message: Message): Promise<string> {
    const id = `event-${this.#events.length}`;
    this.#events.push({ id, streamId, message });
    return Promise.resolve(id);
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (id: string, message: Message) => Promise<void> },
  ): Promise<string> {
    const last = this.#events.findIndex(({ id }) => id === lastEventId);
    const streamId = this.#events[last]?.streamId ?? '';
    for (const event of this.#events.slice(last + 1))
      if (event.streamId === streamId && Object.keys(event.message as object).length > 0)
        await send(event.id, event.message);
    return streamId;
  }
}
