import { isFieldValue, isObject } from '@svault/shared';

/** Access keys of AWS, as `credential_process` writes them and `aws-sts` mints them (PROTOCOL.md section 5.9). */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Stands in the `Credential` of an `Authorization`, whose parts are separated by slashes. */
const ACCESS_KEY_ID = /^[A-Za-z0-9_.-]{1,128}$/;

/** @returns undefined for a credential that is no access key of AWS */
export function awsKeysIn(token: string): AwsKeys | undefined {
  const json = readJson(token);
  if (!isObject(json)) return undefined;
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken } = json;
  if (typeof accessKeyId !== 'string' || !ACCESS_KEY_ID.test(accessKeyId)) return undefined;
  if (!isKeyText(secretAccessKey)) return undefined;
  if (sessionToken === undefined || sessionToken === null) return { accessKeyId, secretAccessKey };
  return isKeyText(sessionToken) ? { accessKeyId, secretAccessKey, sessionToken } : undefined;
}

const isKeyText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && isFieldValue(value);

function readJson(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
