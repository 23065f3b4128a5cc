import { givenApprover } from '../../approver/approver.ts';
import type { WebhookCheck } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { CheckSkipped } from '../../check/outcome.ts';
import type { Tools } from '../../check/tools.ts';
import { asked, fetchFor, freshSub, storeApproved } from '../approvals/approved-record.ts';
import { checkpointOf, cosignedHead, send } from '../storage/checkpoint-log.ts';
import { expectAsked, expectLatest, fetchToken, givenRefreshable, underWay } from '../refresh/refreshable.ts';

/** @throws CheckSkipped where the run was not told how */
function restarted({ restart }: Tools): Promise<void> {
  if (restart === undefined) throw new CheckSkipped('no --restart');
  return restart();
}

/** Protocol sections 3.3, 4 and 7: what outlives the process. */
export const RESTART_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'restart.used-tickets',
    title: 'a ticket that was used before a restart is refused after it, and one that was not is accepted',
    requirements: ['TIX-36', 'TIX-32'],
    claims: ['store', 'credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const [fetched, unused] = [tools.ticket('credential', name), tools.ticket('credential', name)];
      const jti = 'AAAAAAAAAAA'.repeat(2) + name.slice(-11);
      const again = tools.freshName();
      const body = { tokenType: 'PlainText', value: 'canary' };
      expectOk(await tools.fetchCredential(fetched));
      expectOk(await tools.store(again, body, { claims: { jti } }));
      await restarted(tools);
      expectRefusal(await tools.fetchCredential(fetched), 'TICKET_INVALID', 'a ticket that delivered before');
      expectRefusal(
        await tools.store(again, body, { claims: { jti } }),
        'TICKET_INVALID',
        'a ticket that stored before',
      );
      expectOk(await tools.fetchCredential(unused));
    },
  },
  {
    id: 'restart.used-nonces',
    title: 'a signed request that was accepted before a restart is refused after it',
    requirements: ['SIG-56', 'SIG-54'],
    run: async (tools) => {
      const request = tools.sign({ method: 'POST', path: '/v1/health' });
      expectOk(await tools.send(request));
      await restarted(tools);
      expectRefusal(await tools.send(request), 'SIGNATURE_INVALID');
      expectOk(await tools.signed({ method: 'POST', path: '/v1/health' }));
    },
  },
  {
    id: 'restart.checkpoints',
    title: 'the checkpoint that was cosigned last, and the key of it, outlive a restart',
    requirements: ['CKP-09', 'CKP-18'],
    claims: ['storage', 'audit-checkpoints'],
    run: async (tools) => {
      const { before, events, head } = await cosignedHead(tools, 2);
      const { key } = expectOk(await send(tools, checkpointOf(tools, head, [])));
      await restarted(tools);
      expectRefusal(
        await send(tools, checkpointOf(tools, before, events.slice(0, 1))),
        'CHECKPOINT_CONFLICT',
      );
      const answer = await send(tools, checkpointOf(tools, head, []));
      expectThat(expectOk(answer)['key'] === key, answer, 'the same key');
    },
  },
  {
    id: 'restart.approvals',
    title: 'an approval that was used before a restart is used up after it, and one that was not holds',
    requirements: ['APR-29', 'APR-24'],
    claims: ['store', 'credential', 'approvals'],
    run: async (tools) => {
      if (tools.restart === undefined) throw new CheckSkipped('no --restart');
      const approver = await givenApprover(tools);
      const { name: serviceName } = await storeApproved(tools);
      const [used, unused] = [freshSub(), freshSub()];
      for (const sub of [used, unused])
        expectOk(await approver.decide((await asked(tools, { serviceName, sub })).url));
      expectOk(await fetchFor(tools, serviceName, used));
      await restarted(tools);
      expectRefusal(await fetchFor(tools, serviceName, used), 'APPROVAL_REQUIRED', 'a second use');
      expectOk(await fetchFor(tools, serviceName, unused));
    },
  },
  {
    id: 'restart.refresh-tried-again',
    title: 'a refresh that a kill cut off is tried once more, with the stored refresh token',
    requirements: ['REF-19'],
    claims: ['store', 'credential', 'refresh-notify'],
    run: async (tools) => {
      if (tools.restart === undefined) throw new CheckSkipped('no --restart');
      const record = await givenRefreshable(tools);
      record.provider.answerWith(() => undefined);
      const cut = underWay(fetchToken(tools, record));
      const asked = await record.provider.arrived(1);
      // Before the restart: a webhook may try again as soon as it starts.
      record.provider.answerWith(undefined);
      await restarted(tools);
      await cut.catch(() => undefined);
      const answer = await fetchToken(tools, record);
      expectThat(asked, answer, 'a call to the provider before the restart');
      expectAsked(answer, record.provider, 2);
      expectLatest(answer, record);
    },
  },
];
