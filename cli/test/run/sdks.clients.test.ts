import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodePackages } from '@svault/test-kit/foreign-packages';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECRET } from './covered-api.ts';
import { type Programs, programs, pythonOfPrograms } from './programs.ts';

// The SDKs of OpenAI and Anthropic, with a completion that is streamed as server-sent events.

const WORDS = ['first', 'second', 'third'];

let api: Programs;
let python: string;
/** What the program that runs has shown so far. */
let out: string;
const shown = new EventEmitter();

beforeAll(async () => {
  python = await pythonOfPrograms();
  const packages = await nodePackages('openai@7.59.0', '@anthropic-ai/sdk@1.14.0');
  api = await programs({
    header: ['x-api-key', '${TOKEN}'],
    isAuthorized: ({ authorization, 'x-api-key': key }) =>
      authorization === `Bearer ${SECRET}` || key === SECRET,
    api: (req, res) => {
      const stream = { '/chat/completions': chatOf, '/v1/messages': messageOf }[req.url ?? ''];
      if (req.method !== 'POST' || stream === undefined) return res.writeHead(404).end();
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      return stream(res);
    },
  });
  for (const home of Object.values(api.homes))
    symlinkSync(join(packages, 'node_modules'), join(home, 'node_modules'));
});
afterAll(() => api.close());

/** Each word is sent only when the program has shown the one before. */
async function wordByWord(res: ServerResponse, event: (word: string) => string): Promise<void> {
  for (const word of WORDS) {
    res.write(event(word));
    while (!out.includes(word)) await once(shown, 'more');
  }
}

async function chatOf(res: ServerResponse): Promise<void> {
  const chunk = (delta: object) => ({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, delta, finish_reason: null }],
  });
  await wordByWord(res, (content) => `data: ${JSON.stringify(chunk({ role: 'assistant', content }))}\n\n`);
  res.end('data: [DONE]\n\n');
}

async function messageOf(res: ServerResponse): Promise<void> {
  const event = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const usage = { input_tokens: 1, output_tokens: 3 };
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', usage };
  res.write(event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null } }));
  res.write(event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }));
  await wordByWord(res, (text) =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  );
  res.write(event('content_block_stop', { index: 0 }));
  res.write(event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }));
  res.end(event('message_stop', {}));
}

const PROGRAMS = {
  'OpenAI for Python': {
    file: 'openai_agent.py',
    text: `from openai import OpenAI
messages = [{"role": "user", "content": "hello"}]
for chunk in OpenAI().chat.completions.create(model="m", messages=messages, stream=True):
    print(chunk.choices[0].delta.content, flush=True)
`,
  },
  'Anthropic for Python': {
    file: 'anthropic_agent.py',
    text: `from anthropic import Anthropic
messages = [{"role": "user", "content": "hello"}]
for event in Anthropic().messages.create(model="m", max_tokens=9, messages=messages, stream=True):
    if event.type == "content_block_delta":
        print(event.delta.text, flush=True)
`,
  },
  'OpenAI for Node': {
    file: 'openai-agent.mjs',
    text: `import OpenAI from 'openai';
const messages = [{ role: 'user', content: 'hello' }];
for await (const chunk of await new OpenAI().chat.completions.create({ model: 'm', messages, stream: true }))
  console.log(chunk.choices[0].delta.content);
`,
  },
  'Anthropic for Node': {
    file: 'anthropic-agent.mjs',
    text: `import Anthropic from '@anthropic-ai/sdk';
const messages = [{ role: 'user', content: 'hello' }];
for await (const event of await new Anthropic().messages.create({ model: 'm', max_tokens: 9, messages, stream: true }))
  if (event.type === 'content_block_delta') console.log(event.delta.text);
`,
  },
};

describe.each(Object.entries(PROGRAMS))('%s', (name, { file, text }) => {
  /** Variables for an address of the API and a key. */
  const variables = (baseUrl: string, key?: string): Record<string, string> => ({
    OPENAI_BASE_URL: baseUrl,
    ANTHROPIC_BASE_URL: baseUrl,
    ...(key !== undefined && { OPENAI_API_KEY: key, ANTHROPIC_AUTH_TOKEN: key }),
  });
  const onOut = (text: string): void => {
    out = text;
    shown.emit('more');
  };

  test('has each event as it comes, by base URL and in svault run as with the key', async () => {
    for (const home of Object.values(api.homes)) writeFileSync(join(home, file), text);
    const command = [name.endsWith('Python') ? python : process.execPath, file] as const;
    const succeeded = { code: 0, out: Buffer.from(`${WORDS.join('\n')}\n`) };
    out = '';
    const direct = await api.direct(command, { onOut, env: variables(api.origin, SECRET) });
    expect(direct).toMatchObject({ ...succeeded, err: '' });
    out = '';
    const byBaseUrl = await api.byBaseUrl(command, { onOut, env: variables(api.base, api.key) });
    expect(byBaseUrl).toMatchObject({ ...succeeded, err: '' });
    out = '';
    const flags = ['--placeholder', 'OPENAI_API_KEY', '--placeholder', 'ANTHROPIC_API_KEY'];
    const inRun = await api.inRun(command, { onOut, flags, env: variables(api.origin) });
    expect(inRun).toMatchObject(succeeded);
  });
});
