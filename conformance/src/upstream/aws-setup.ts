import { randomToken } from '@svault/shared';
import { expectThat } from '../check/expect.ts';
import type { ProxiedCall, Tools } from '../check/tools.ts';
import type { Answer } from '../http/client.ts';
import { expectCalled, setUpApi, type ApiOptions, type ApiSetup } from './api-setup.ts';
import { readAwsSignature, type AwsSignature } from './aws-signature.ts';
import { storeTextOf } from './proxy-setup.ts';
import type { UpstreamCall } from './upstream.ts';

/** Access keys as `aws-sts` returns them. */
interface AwsKeys {
  readonly AccessKeyId: string;
  readonly SecretAccessKey: string;
  readonly SessionToken?: string;
}

/** For S3, whose path is signed as it is sent. */
export const SIGNING = { type: 'aws_sigv4', region: 'eu-central-1', service: 's3' };

/** New keys, with the characters of base64 that percent-encoding changes. */
export const newKeys = (): AwsKeys => ({
  AccessKeyId: 'AKIACONFORMANCE00000',
  SecretAccessKey: `${randomToken(27)}+/0=`,
});

/** New temporary keys. */
export const newSession = (): AwsKeys & { readonly SessionToken: string } => ({
  ...newKeys(),
  SessionToken: `${randomToken(90)}+/0==`,
});

/** A proxy that signs its calls to a place of the suite's upstream. */
interface SignedSetup extends ApiSetup {
  readonly keys: AwsKeys;
}

/**
 * Stores keys and a proxy that signs with them.
 * @param options.keys absent: new ones without a session
 * @param options.settings of the record, beside its `allowedHosts`
 * @throws NotTestable
 */
export async function setUpSigned(
  tools: Tools,
  options: Omit<ApiOptions, 'record'> & { readonly keys?: AwsKeys; readonly settings?: object } = {},
): Promise<SignedSetup> {
  const { keys = newKeys(), settings, ...others } = options;
  const record = await storeTextOf(tools, JSON.stringify(keys), settings);
  const api = await setUpApi(tools, { record, headerTemplates: {}, signing: SIGNING, ...others });
  return { ...api, keys };
}

/** Calls, and expects one call of the upstream with a valid signature. @throws CheckFailed */
export async function expectSigned(
  api: SignedSetup,
  target: string,
  how?: Partial<ProxiedCall>,
): Promise<{ readonly answer: Answer; readonly call: UpstreamCall; readonly signature: AwsSignature }> {
  const { answer, call } = await expectCalled(api, target, how);
  const signature = readAwsSignature(call, api.place.url, api.keys.SecretAccessKey);
  const { wrong, accessKeyId } = signature;
  const what = `of a call of ${JSON.stringify(target)}`;
  expectThat(wrong === undefined, answer, `a signature ${what} that ${wrong}`);
  expectThat(accessKeyId === api.keys.AccessKeyId, answer, `the access key id of the record ${what}`);
  return { answer, call, signature };
}
