import type { Check } from '../../check/check.ts';
import { expectDelivered } from '../../check/delivered.ts';
import { expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { certificateChain } from '../../forge/certificate-chain.ts';
import { ed25519Key } from '../../forge/ssh-key.ts';
import { calledOnce, expectUncalled, received, setUpProxy } from '../../upstream/proxy-setup.ts';
import { GCP, GITHUB, givenMinter, type PlayedMinter } from '../minting/provider.ts';

const SEED = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
/** Seeds, and what else says how a code is made of them. */
const SEEDED: Readonly<Record<string, object>> = {
  'a seed': { secret: SEED },
  'a key URI': { otpauthUri: `otpauth://totp/x?secret=${SEED}&digits=8&period=60&algorithm=SHA256` },
};

async function allowed(tools: Tools): Promise<{ readonly allowedHosts: readonly string[] }> {
  const { allowedHost } = await tools.given.upstream();
  return { allowedHosts: [allowedHost] };
}

const mintedCheck = (minter: PlayedMinter): Check => ({
  id: `injection.minted-${minter.id}`,
  title: `what a minter of ${minter.id} made is put in, and not its key`,
  requirements: ['PRX-13'],
  claims: ['proxy', minter.claim],
  run: async (tools) => {
    const record = await givenMinter(tools, minter, { beside: await allowed(tools) });
    const proxy = await setUpProxy(tools, { record: { name: record.name, value: '' } });
    const answer = await proxy.call();
    const [sent = ''] = received(calledOnce(proxy, answer), 'authorization');
    const isMinted = record.given.some((token) => sent === `Bearer ${token}`);
    expectThat(isMinted, answer, 'a token that the provider gave at the upstream');
  },
});

/** Protocol sections 5.5 and 5.6: what is put in, by the type of the credential. */
export const INJECTED_TYPE_CHECKS: readonly Check[] = [
  {
    id: 'injection.of-each-type',
    title: 'what is put in is what accessToken would be, for a JWT and a RawCredential too',
    requirements: ['PRX-13'],
    claims: ['proxy'],
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const bodies = [
        {
          tokenType: 'JWT',
          accessToken: 'access-canary-of-a-type',
          refreshToken: 'refresh-canary-of-a-type',
        },
        { tokenType: 'RawCredential', value: 'raw canary of a type' },
      ];
      for (const body of bodies.filter(tools.takes)) {
        const value = 'value' in body ? body.value : body.accessToken;
        const name = await tools.given.record({ ...body, allowedHosts: [allowedHost] });
        const proxy = await setUpProxy(tools, { record: { name, value: value ?? '' } });
        const answer = await proxy.call();
        const [sent] = received(calledOnce(proxy, answer), 'authorization');
        expectThat(sent === `Bearer ${value}`, answer, `"Bearer ${value}" for a ${body.tokenType}`);
      }
    },
  },
  {
    id: 'injection.totp',
    title: 'what is put in for a TOTP is the code that would be delivered',
    requirements: ['PRX-13'],
    claims: ['proxy', 'credential', 'totp'],
    run: async (tools) => {
      const settings = { ...(await allowed(tools)), allowShortSecret: true };
      for (const [what, seeded] of Object.entries(SEEDED)) {
        const name = await tools.given.record({ tokenType: 'TOTP', ...seeded, ...settings });
        const proxy = await setUpProxy(tools, { record: { name, value: SEED } });
        const before = await expectDelivered(tools, name);
        const answer = await proxy.call();
        const after = await expectDelivered(tools, name);
        const [sent] = received(calledOnce(proxy, answer), 'authorization');
        const codes = [before, after].map(({ token }) => `Bearer ${String(token['accessToken'])}`);
        expectThat(
          codes.some((code) => code === sent),
          answer,
          `the code of this moment for ${what}`,
        );
      }
    },
  },
  mintedCheck(GCP),
  mintedCheck(GITHUB),
  {
    id: 'injection.keys-of-lines',
    title: 'a Certificate and an SSHKey, whose lines no header can hold, are a 422 without a call',
    requirements: ['PRX-17', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const bodies = [
        { tokenType: 'Certificate', ...certificateChain() },
        { tokenType: 'SSHKey', privateKey: ed25519Key().privateKey },
      ];
      for (const body of bodies.filter(tools.takes)) {
        const name = await tools.given.record({ ...body, ...(await allowed(tools)) });
        const proxy = await setUpProxy(tools, { record: { name, value: '' } });
        expectUncalled(proxy, await proxy.call(), 'NOT_INJECTABLE', `a ${body.tokenType}`);
      }
    },
  },
];
