import type { Judge } from './inbound.ts';
import type { AnswerInProtocol } from './sdk-server.ts';
import type { Tool } from './tool.ts';

/** All that knows MCP, and not only who may speak it. */
export interface Protocol {
  readonly judge: Judge;
  readonly answerInProtocol: AnswerInProtocol;
}

/**
 * Loads the protocol, once: with the first request that shows something which may be a credential, since the SDK is 15 MB and
 * a fifth of a second of a start, and many a service has no agent that speaks MCP.
 */
export function createProtocol(tools: readonly Tool[]): () => Promise<Protocol> {
  let loaded: Promise<Protocol> | undefined;
  const load = async (): Promise<Protocol> => {
    const [{ createJudge }, { createSdkServer }] = await Promise.all([
      import('./inbound.ts'),
      import('./sdk-server.ts'),
    ]);
    return {
      judge: createJudge(new Map(tools.map((tool) => [tool.definition.name, tool]))),
      answerInProtocol: createSdkServer(tools.map(({ definition }) => definition)),
    };
  };
  return () => (loaded ??= load());
}
