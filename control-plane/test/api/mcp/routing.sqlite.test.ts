import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { createTools } from '../../../src/api/mcp/routes.ts';
import { type StandardHeaders, createClassifier, routeOf } from '../../../src/api/mcp/classify-message.ts';
import { createSdkServer } from '../../../src/api/mcp/sdk-server.ts';
import { toolResult } from '../../../src/api/mcp/tool.ts';
import { mutant, seeded } from '../../support/mcp-mutator.ts';

// The front says of each message what the SDK would say of it. Held against the SDK by mutants, in the process.

const MUTANTS = 4_000;

function* messages(seed: number): Generator<{ message: unknown; headers: StandardHeaders }> {
  const random = seeded(seed);
  for (let count = 0; count < MUTANTS; count++) {
    const { body, headers } = mutant(random);
    const standard = {
      version: headers['mcp-protocol-version'],
      method: headers['mcp-method'],
      name: headers['mcp-name'],
    };
    try {
      yield { message: JSON.parse(body.toString()), headers: standard };
    } catch {
      // No JSON: nothing to classify.
    }
  }
}

/** An initialize request names the version it wants in its body, which nobody asks a route for. */
const kindOf = ({ kind, ...route }: ReturnType<typeof routeOf>): unknown[] =>
  kind === 'legacy' && 'reason' in route ? [kind, route.reason] : [kind, route];

it('takes a message for one of the era that the SDK takes it for', () => {
  for (const { message, headers } of messages(21)) {
    const inFull = classifyInboundRequest({
      httpMethod: 'POST',
      body: message,
      ...(headers.version !== undefined && { protocolVersionHeader: headers.version }),
      ...(headers.method !== undefined && { mcpMethodHeader: headers.method }),
    });
    expect(kindOf(routeOf(message, headers))).toEqual(kindOf(inFull));
  }
});

it('asks for something on a tool’s behalf only where the SDK then gives the tool’s answer', async () => {
  const never = (): never => {
    throw new Error('nothing is looked up here');
  };
  const tools = createTools({ describeGrants: never, readProfile: never, readHistory: never });
  const classify = createClassifier(new Map(tools.map((tool) => [tool.definition.name, tool])));
  const answer = createSdkServer(tools.map(({ definition }) => definition));
  const given = toolResult('given', { given: true });
  let calls = 0;
  for (const { message, headers } of messages(22)) {
    const { course, operation } = classify({ readable: true, message }, headers);
    if (course.kind !== 'serve') expect(operation.kind).toBe('admission');
    else {
      const { body } = await answer(course, course.call && given, {
        requestId: 'req_1',
        accessRequests: true,
      });
      // What the SDK cannot read it takes for a failure of ours.
      expect(body).not.toContain('"code":-32603');
      if (operation.kind === 'admission') expect(body).not.toContain('"given"');
      else expect((calls++, body)).toContain('"given":true');
    }
  }
  expect(calls).toBeGreaterThan(100);
});
