import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectDelivered } from '../../check/delivered.ts';
import { expectThat } from '../../check/expect.ts';
import { certificateChain } from '../../forge/certificate-chain.ts';
import { ed25519Key, rsaKey } from '../../forge/ssh-key.ts';
import { text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { needProviders, takesProviders } from '../store/takes-providers.ts';

/** What only a refresh would call, and no token here is expired. */
const PROVIDER = { tokenUrl: 'https://provider.example/token', clientId: 'conformance' };

/** A `JWT` with a refresh token, and these settings beside them. */
async function givenPair(
  tools: Tools,
  settings: object,
): Promise<{ readonly name: string; readonly accessToken: string; readonly refreshToken: string }> {
  const [accessToken, refreshToken] = [randomToken(), randomToken()];
  const expiryTime = new Date(Date.now() + 3_600_000).toISOString();
  const body = { tokenType: 'JWT', accessToken, refreshToken, expiryTime, ...settings };
  return { name: await tools.given.record(body), accessToken, refreshToken };
}

/** Of several settings by name, those that the webhook may be given. */
async function takenBy<Settings extends object>(
  tools: Tools,
  settings: Readonly<Record<string, Settings>>,
): Promise<ReadonlyArray<readonly [what: string, settings: Settings]>> {
  const all = Object.entries(settings);
  return (await takesProviders(tools)) ? all : all.filter(([, each]) => !('provider' in each));
}

/** Protocol sections 5.4 and 5.5, the table: what each type delivers. */
export const TOKEN_TYPE_CHECKS: readonly Check[] = [
  {
    id: 'type.jwt',
    title: 'a JWT delivers its access token, and no refresh token where none was stored',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      const accessToken = `${randomToken()}.${randomToken()}.${randomToken()}`;
      const name = await tools.given.record({ tokenType: 'JWT', accessToken });
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(token['accessToken'] === accessToken, answer, `accessToken "${accessToken}"`);
      expectThat(token['tokenType'] === 'JWT', answer, 'tokenType "JWT"');
      expectThat(typeof token['refreshToken'] !== 'string', answer, 'no refreshToken: none was stored');
    },
  },
  {
    id: 'type.jwt-shares-refresh-token',
    title: 'a refresh token is delivered where the record shares it and the ticket says rfp none',
    requirements: ['CRE-10'],
    claims: ['credential'],
    run: async (tools) => {
      const shared = {
        'a record without provider': {},
        'a record that says shareRefreshToken': { shareRefreshToken: true },
        'a record with provider that says shareRefreshToken': { shareRefreshToken: true, provider: PROVIDER },
      };
      for (const [what, settings] of await takenBy(tools, shared)) {
        const { name, accessToken, refreshToken } = await givenPair(tools, settings);
        const { answer, token } = await expectDelivered(tools, name, { claims: { rfp: 'none' }, what });
        expectThat(token['refreshToken'] === refreshToken, answer, `refreshToken for ${what} and rfp none`);
        expectThat(token['accessToken'] === accessToken, answer, `accessToken "${accessToken}"`);
      }
    },
  },
  {
    id: 'type.jwt-keeps-refresh-token',
    title: 'a refresh token that the record does not share is delivered to nobody',
    requirements: ['CRE-10', 'TRU-01'],
    claims: ['credential'],
    run: async (tools) => {
      const kept = {
        'a record with provider': { provider: PROVIDER },
        'a record that says not to share': { shareRefreshToken: false },
        'a record with provider that says not to share': { shareRefreshToken: false, provider: PROVIDER },
      };
      for (const [what, settings] of await takenBy(tools, kept)) {
        const { name, refreshToken } = await givenPair(tools, settings);
        for (const sub of ['agt_conformance', 'usr_conformance']) {
          const claims = { rfp: 'none', sub, shareRefreshToken: true };
          const { answer } = await expectDelivered(tools, name, { claims, what });
          expectThat(!text(answer).includes(refreshToken), answer, `no refresh token for ${what} and ${sub}`);
        }
      }
    },
  },
  {
    id: 'type.jwt-refresh-policy-auto',
    title: 'no refresh token is delivered to a ticket that says rfp auto',
    requirements: ['CRE-10'],
    claims: ['credential'],
    run: async (tools) => {
      const records = {
        'a record without provider': {},
        'a record with provider': { provider: PROVIDER },
        'a record with provider that says shareRefreshToken': { shareRefreshToken: true, provider: PROVIDER },
      };
      for (const [what, settings] of await takenBy(tools, records)) {
        const { name, refreshToken } = await givenPair(tools, settings);
        const { answer } = await expectDelivered(tools, name, { claims: { rfp: 'auto' }, what });
        expectThat(!text(answer).includes(refreshToken), answer, `no refresh token for ${what} and rfp auto`);
      }
    },
  },
  {
    id: 'type.jwt-keeps-client-secret',
    title: 'the secret of a token’s client is not delivered with the token',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      await needProviders(tools);
      const clientSecret = randomToken();
      const provider = { ...PROVIDER, clientSecret };
      const { name } = await givenPair(tools, { provider, shareRefreshToken: true });
      const { answer } = await expectDelivered(tools, name);
      expectThat(!text(answer).includes(clientSecret), answer, 'nothing of the client secret');
    },
  },
  {
    id: 'type.certificate',
    title: 'a Certificate delivers its chain, and the private key beside it',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      const { certificate, privateKey } = certificateChain();
      const name = await tools.given.record({ tokenType: 'Certificate', certificate, privateKey });
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(
        token['accessToken'] === certificate,
        answer,
        'the chain of two as accessToken, byte for byte',
      );
      expectThat(token['privateKey'] === privateKey, answer, 'privateKey beside it, byte for byte');
      expectThat(token['tokenType'] === 'Certificate', answer, 'tokenType "Certificate"');
    },
  },
  {
    id: 'type.ssh-key',
    title: 'an SSHKey delivers its private key, and public key and fingerprint beside it',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      for (const [what, key] of Object.entries({ 'an Ed25519 key': ed25519Key(), 'an RSA key': rsaKey() })) {
        const { privateKey, publicKey, fingerprint } = key;
        const name = await tools.given.record({ tokenType: 'SSHKey', privateKey, publicKey });
        const { answer, token } = await expectDelivered(tools, name, { what });
        expectThat(token['accessToken'] === privateKey, answer, `the private key, byte for byte, of ${what}`);
        expectThat(
          samePublicKey(token['publicKey'], publicKey),
          answer,
          `publicKey "${publicKey}", with its comment or without`,
        );
        expectThat(token['fingerprint'] === fingerprint, answer, `fingerprint "${fingerprint}"`);
      }
    },
  },
  {
    id: 'type.ssh-key-alone',
    title: 'an SSHKey without public key is delivered, with no other key’s fingerprint',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      const { privateKey, publicKey, fingerprint } = ed25519Key();
      const name = await tools.given.record({ tokenType: 'SSHKey', privateKey });
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(token['accessToken'] === privateKey, answer, 'the private key, byte for byte');
      // Not every webhook can read a public key out of a private one, and some keys are encrypted.
      const returned = token['publicKey'];
      expectThat(
        typeof returned !== 'string' || samePublicKey(returned, publicKey),
        answer,
        `publicKey "${publicKey}", or none`,
      );
      expectThat(
        typeof token['fingerprint'] !== 'string' || token['fingerprint'] === fingerprint,
        answer,
        `fingerprint "${fingerprint}", or none`,
      );
    },
  },
  {
    id: 'type.raw-credential',
    title: 'a RawCredential delivers its value as a string, whatever is written in it',
    requirements: ['CRE-07'],
    claims: ['credential'],
    run: async (tools) => {
      const value = JSON.stringify({
        accessKeyId: randomToken(),
        secret: randomToken(),
        n: [1, { a: null }],
      });
      const name = await tools.given.record({ tokenType: 'RawCredential', value });
      const { answer, token } = await expectDelivered(tools, name);
      expectThat(token['accessToken'] === value, answer, 'the value as it was stored, as a string');
      expectThat(token['tokenType'] === 'RawCredential', answer, 'tokenType "RawCredential"');
    },
  },
];

/** Type and key alone: what stands behind them is a comment. */
function samePublicKey(returned: unknown, publicKey: string): boolean {
  const keyOf = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');
  return typeof returned === 'string' && keyOf(returned) === keyOf(publicKey);
}
