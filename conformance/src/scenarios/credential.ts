import type { Check } from '../check.ts';
import { expectOk, expectThat } from '../expect.ts';
import type { Answer } from '../http/client.ts';
import { header } from '../http/read-answer.ts';
import type { Tools } from '../tools.ts';

async function fetchFresh(tools: Tools): Promise<{ answer: Answer; name: string; value: string }> {
  const { name, value } = await tools.given.text();
  return { answer: await tools.fetchCredential(tools.ticket('credential', name)), name, value };
}

const tokenOf = (answer: Answer): Record<string, unknown> => {
  const { token } = expectOk(answer);
  expectThat(typeof token === 'object' && token !== null, answer, 'an envelope { token: { … } }');
  return token as Record<string, unknown>;
};

/** Protocol sections 5.4 and 5.5, for a `PlainText` record. */
export const CREDENTIAL_CHECKS: readonly Check[] = [
  {
    id: 'credential.round-trip',
    title: 'what was stored as PlainText is delivered as accessToken, byte for byte',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      const { answer, name, value } = await fetchFresh(tools);
      const token = tokenOf(answer);
      expectThat(token['accessToken'] === value, answer, `accessToken "${value}"`);
      expectThat(token['serviceName'] === name, answer, `serviceName "${name}"`);
      expectThat(token['tokenType'] === 'PlainText', answer, 'tokenType "PlainText"');
      expectThat(typeof token['createdAt'] === 'string', answer, 'createdAt as a time');
    },
  },
  {
    id: 'credential.not-cached',
    title: 'a delivered credential is kept by no cache and no referrer',
    requirements: ['CRE-01', 'CRE-02'],
    claims: ['credential'],
    run: async (tools) => {
      const { answer } = await fetchFresh(tools);
      expectOk(answer);
      expectThat(header(answer, 'cache-control') === 'no-store', answer, 'Cache-Control: no-store');
      expectThat(header(answer, 'referrer-policy') === 'no-referrer', answer, 'Referrer-Policy: no-referrer');
    },
  },
  {
    id: 'credential.no-cors',
    title: 'a credential answer has no CORS header',
    requirements: ['CRE-03'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const origin = new URL(tools.target.serviceUrl).origin;
      const answer = await tools.fetchCredential(tools.ticket('credential', name), [['origin', origin]]);
      const cors = answer.headers.find(([each]) => each.startsWith('access-control-'));
      expectThat(cors === undefined, answer, 'no Access-Control header, whatever the origin');
    },
  },
  {
    id: 'credential.stray-key',
    title: 'an agent key that a client sends along is ignored',
    requirements: ['CRE-05'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text();
      const stray = `svagent_${'A'.repeat(43)}`;
      const answer = await tools.fetchCredential(tools.ticket('credential', name), [
        ['authorization', `Bearer ${stray}`],
        ['x-agent-key', stray],
      ]);
      expectThat(tokenOf(answer)['accessToken'] === value, answer, 'the credential, by its ticket alone');
    },
  },
  {
    id: 'credential.ticket-as-bearer',
    title: 'the ticket is accepted as a bearer token too',
    requirements: ['CRE-04'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text();
      const answer = await tools.send({
        method: 'GET',
        path: '/v1/credential',
        headers: [['authorization', `Bearer ${tools.ticket('credential', name)}`]],
      });
      expectThat(tokenOf(answer)['accessToken'] === value, answer, 'the credential');
    },
  },
];
