import { vi } from 'vitest';
import type { ConnectCaller } from './callers.ts';
import type { Door } from './door.ts';
import { type Steps, outcome, steady } from './record.ts';
import type { Run } from './sdk-steps.ts';

/** Every tool that ends by itself, with what it needs. */
const CALLS: Readonly<Record<string, Record<string, unknown>>> = {
  echo: { message: 'ünïcode ✓' },
  'get-sum': { a: 2, b: 40 },
  'get-tiny-image': {},
  'get-structured-content': { location: 'Chicago' },
  'get-resource-links': { count: 3 },
  'get-resource-reference': { resourceType: 'Text', resourceId: 2 },
  'get-annotated-message': { messageType: 'debug', includeImage: true },
  'gzip-file-as-resource': { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' },
  'trigger-sampling-request': { prompt: 'how much?', maxTokens: 10 },
  'get-roots-list': {},
  nowhere: {},
};

/** What the public "everything" server can do, one step after another. */
export async function everythingSteps(connect: ConnectCaller, door: Door): Promise<Run> {
  const steps: Steps = new Map();
  const caller = await connect(door);
  const { callTool, readResource, getPrompt, complete, watched } = caller;
  const step = async (name: string, call: Promise<unknown>): Promise<void> => {
    steps.set(name, await outcome(call));
  };
  await vi.waitFor(
    () => {
      // It asks for roots on this stream.
      if (!watched.exchanges().includes('GET 200 text/event-stream')) throw new Error('no stream yet');
    },
    { timeout: 20_000 },
  );
  steps.set('hello', steady(caller.hello()));
  await step('tools', caller.listTools());
  await step('resources', caller.listResources());
  await step('templates', caller.listResourceTemplates());
  await step('prompts', caller.listPrompts());
  for (const [name, args] of Object.entries(CALLS)) await step(name, callTool(name, args));
  await step('wrong argument', callTool('get-sum', { a: 'two' }));
  const progress: unknown[] = [];
  await step(
    'progress',
    callTool(
      'trigger-long-running-operation',
      { duration: 0.05, steps: 5 },
      { onProgress: (told) => progress.push(told) },
    ),
  );
  steps.set('its progress', steady(progress));
  for (const uri of [
    'demo://resource/dynamic/text/1',
    'demo://resource/static/document/architecture.md',
    'demo://resource/nowhere',
  ])
    await step(uri, readResource(uri));
  await step('simple prompt', getPrompt('simple-prompt', {}));
  await step('prompt with arguments', getPrompt('args-prompt', { city: 'Paris', state: 'Texas' }));
  await step('completion', complete({ type: 'ref/prompt', name: 'completable-prompt' }, 'department', 'E'));
  await step('end', caller.endSession());
  await step('after the end', callTool('echo', { message: 'too late' }));
  await caller.close();
  return { steps, received: watched.received() };
}
