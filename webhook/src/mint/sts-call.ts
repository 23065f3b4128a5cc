import { AssumeRoleCommand, type Credentials, GetSessionTokenCommand, STSClient } from '@aws-sdk/client-sts';
import { type HttpHandler, HttpResponse } from '@smithy/protocol-http';
import type { Secret } from '@svault/shared';
import { PROVIDER_ANSWER_BYTES } from '../refresh/provider-call.ts';
import type { MinterTools } from './minter.ts';

/** All parameters of a call of STS. */
interface StsCall {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  readonly durationSeconds: number | undefined;
  /** AssumeRole with it, GetSessionToken without. */
  readonly role:
    | {
        readonly roleArn: string;
        readonly sessionName: string;
        readonly sessionPolicy: string | undefined;
      }
    | undefined;
}

/** Why there are no credentials. */
export interface StsFailure {
  readonly cause: unknown;
  /** Of the answer; undefined if there was none. */
  readonly status: number | undefined;
}

type Tools = Pick<MinterTools, 'egress' | 'timeoutMs'>;

/**
 * Calls STS once, signed with SigV4 by the SDK and sent by our egress client. Every setting that the SDK would look for
 * in the environment, in files or at an instance's metadata is given here, so that it looks nowhere.
 */
export async function callSts(
  tools: Tools,
  call: StsCall,
): Promise<{ readonly credentials: Credentials | undefined } | { readonly failure: StsFailure }> {
  const { accessKeyId, secretAccessKey, durationSeconds, role } = call;
  let status: number | undefined;
  const client = new STSClient({
    endpoint: call.endpoint,
    region: call.region,
    credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() },
    maxAttempts: 1,
    retryMode: 'standard',
    defaultsMode: 'standard',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    authSchemePreference: ['sigv4'],
    sigv4aSigningRegionSet: [call.region],
    userAgentAppId: 'svault-webhook',
    requestHandler: handlerOver(tools, (answered) => (status = answered)),
  });
  try {
    const given = durationSeconds === undefined ? {} : { DurationSeconds: durationSeconds };
    const { Credentials } =
      role === undefined
        ? await client.send(new GetSessionTokenCommand(given))
        : await client.send(
            new AssumeRoleCommand({
              ...given,
              RoleArn: role.roleArn,
              RoleSessionName: role.sessionName,
              ...(role.sessionPolicy !== undefined && { Policy: role.sessionPolicy }),
            }),
          );
    return { credentials: Credentials };
  } catch (cause) {
    return { failure: { cause, status } };
  } finally {
    client.destroy();
  }
}

/** The SDK's HTTP over the egress client, with its address rules, timeouts and sizes. */
function handlerOver({ egress, timeoutMs }: Tools, told: (status: number) => void): HttpHandler {
  return {
    handle: async ({ protocol, hostname, port, path, method, headers, body }) => {
      const authority = port === undefined ? hostname : `${hostname}:${port}`;
      const answer = await egress.request({
        method: method as 'POST',
        url: `${protocol}//${authority}${path}`,
        headers: withoutHost(headers),
        body: body as string | Uint8Array,
        timeoutMs,
        maxBytes: PROVIDER_ANSWER_BYTES,
        alone: true,
      });
      told(answer.status);
      const { status: statusCode, headers: fields, body: bytes } = answer;
      return { response: new HttpResponse({ statusCode, headers: { ...fields }, body: bytes }) };
    },
    updateHttpClientConfig: () => {},
    httpHandlerConfigs: () => ({}),
  };
}

/** The URL has it, and the signature covers it there. */
function withoutHost(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'host'));
}
