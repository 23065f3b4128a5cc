import { CAPABILITIES } from '@svault/shared/schemas';
import { parseTime } from '@svault/shared';
import type { Check } from '../check.ts';
import { expectOk, expectThat } from '../expect.ts';
import { text } from '../http/read-answer.ts';

const signedHealth = { method: 'POST', path: '/v1/health' } as const;

/** Protocol section 5.2. */
export const HEALTH_CHECKS: readonly Check[] = [
  {
    id: 'health.open',
    title: 'GET /v1/health answers 200 with status ok to anyone',
    requirements: ['HEA-01'],
    run: async ({ send }) => {
      const answer = await send({ method: 'GET', path: '/v1/health' });
      expectThat(expectOk(answer)['status'] === 'ok', answer, 'status "ok"');
    },
  },
  {
    id: 'health.anonymous',
    title: 'GET /v1/health says nothing that identifies the owner',
    requirements: ['HEA-02'],
    run: async ({ send, target }) => {
      const answer = await send({ method: 'GET', path: '/v1/health' });
      const told = text(answer);
      const identifying = [
        target.webhookId,
        target.serviceUrl,
        new URL(target.serviceUrl).host,
        target.key.id,
      ];
      expectThat(
        identifying.every((each) => !told.includes(each)),
        answer,
        'neither the webhook’s id, nor the service’s address, nor a key id',
      );
    },
  },
  {
    id: 'health.signed',
    title: 'POST /v1/health answers protocol, version, id, capabilities and time',
    requirements: ['HEA-04'],
    run: async ({ signed, target }) => {
      const answer = await signed(signedHealth);
      const body = expectOk(answer);
      expectThat(body['status'] === 'ok', answer, 'status "ok"');
      expectThat(body['protocol'] === 'v1', answer, 'protocol "v1"');
      expectThat(typeof body['version'] === 'string', answer, 'version as text');
      expectThat(body['webhookId'] === target.webhookId, answer, `webhookId ${target.webhookId}`);
      expectThat(
        typeof body['time'] === 'string' && parseTime(body['time']) !== undefined,
        answer,
        'time as YYYY-MM-DDTHH:MM:SS.sssZ',
      );
    },
  },
  {
    id: 'health.capabilities',
    title: 'POST /v1/health claims capabilities of the closed list, each once',
    requirements: ['HEA-05'],
    run: async ({ signed }) => {
      const answer = await signed(signedHealth);
      const claimed: unknown = expectOk(answer)['capabilities'];
      const known: readonly unknown[] = CAPABILITIES;
      expectThat(
        Array.isArray(claimed) &&
          claimed.every((each) => known.includes(each)) &&
          new Set(claimed).size === claimed.length,
        answer,
        `capabilities out of ${CAPABILITIES.join(', ')}, each once`,
      );
    },
  },
];
