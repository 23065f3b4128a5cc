import { z } from 'zod';

/** What a tool of the upstreams may do beside answering, said without an SDK. */
export interface ToolSurroundings {
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
export interface ContentTool {
  readonly name: string;
  readonly input: z.ZodRawShape;
  readonly output?: z.ZodRawShape;
  run(args: Record<string, unknown>, around: ToolSurroundings): Promise<ToolResult>;
}

export interface ToolResult {
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

type Block = ToolResult['content'][number];

const PIXEL = Buffer.from('picture').toString('base64');
const image: Block = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const audio: Block = { type: 'audio', data: PIXEL, mimeType: 'audio/wav' };
const saying = (text: string): Block => ({ type: 'text', text });
const inlined = (uri: string): Block => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
});
const answering = (name: string, ...content: Block[]): ContentTool => ({
  name,
  input: {},
  run: () => Promise.resolve({ content }),
});

/** Tools that the public conformance suite calls by these names. */
export const SUITE_TOOLS: readonly ContentTool[] = [
  answering('test_simple_text', saying('This is a simple text response for testing.')),
  answering('test_image_content', image),
  answering('test_audio_content', audio),
  answering('test_embedded_resource', inlined('test://embedded-resource')),
  answering(
    'test_multiple_content_types',
    saying('Multiple content types test:'),
    image,
    inlined('test://mixed-content-resource'),
  ),
  {
    name: 'test_error_handling',
    input: {},
    run: () => Promise.reject(new Error('This tool intentionally returns an error for testing')),
  },
  {
    name: 'test_tool_with_logging',
    input: {},
    run: async (_args, { notify }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed'])
        await notify('notifications/message', { level: 'info', data });
      return { content: [saying('logged')] };
    },
  },
  {
    name: 'test_tool_with_progress',
    input: {},
    run: async (_args, { notify, progressToken }) => {
      for (const progress of [0, 50, 100])
        await notify('notifications/progress', { progressToken, progress, total: 100 });
      return { content: [saying('progressed')] };
    },
  },
  {
    name: 'test_sampling',
    input: { prompt: z.string() },
    run: async (args, { ask }) => ({
      content: [saying(`LLM response: ${await ask(String(args['prompt']))}`)],
    }),
  },
];

/** Resources that it reads. */
export const SUITE_RESOURCES = {
  'test://static-text': {
    uri: 'test://static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'test://static-binary': { uri: 'test://static-binary', mimeType: 'image/png', blob: PIXEL },
} as const;
