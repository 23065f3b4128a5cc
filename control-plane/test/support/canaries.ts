import { randomToken } from '@svault/shared';
import { secretForms } from '@svault/test-kit/secret-forms';

/** A secret that can be recognised wherever a part of it turns up. */
export interface Canary {
  readonly serviceName: string;
  /** What goes to `POST /v1/store`. */
  readonly body: { readonly tokenType: string } & Record<string, unknown>;
  /** What `accessToken` must be when it is delivered. */
  readonly delivered: string;
  /** Texts that must be nowhere: the random core of each secret field. */
  readonly marks: readonly string[];
}

/** 240 random bits: never anywhere by accident. */
const mark = (): string => randomToken(30);

/** Private keys are many lines; a leak could be any one of them, so each line is a mark of its own. */
function pem(label: string): { readonly text: string; readonly marks: readonly string[] } {
  const marks = [mark(), mark()];
  return { text: `-----BEGIN ${label}-----\n${marks.join('\n')}\n-----END ${label}-----\n`, marks };
}

/** One credential of every type that is stored by now, each made anew, with what breaks careless escaping. */
export function makeCanaries(generation: string): readonly Canary[] {
  const [value, access, refresh, client, raw] = [mark(), mark(), mark(), mark(), mark()];
  const [certificate, certificateKey, sshKey] = [
    pem('CERTIFICATE'),
    pem('PRIVATE KEY'),
    pem('OPENSSH PRIVATE KEY'),
  ];
  const provider = { tokenUrl: 'https://login.example/token', clientId: 'client', clientSecret: client };
  const quoted = `{"user": "é\\n", "password": "${raw}"}`;
  return [
    {
      serviceName: `plain-${generation}`,
      body: { tokenType: 'PlainText', value },
      delivered: value,
      marks: [value],
    },
    {
      serviceName: `jwt-${generation}`,
      body: {
        tokenType: 'JWT',
        accessToken: access,
        refreshToken: refresh,
        shareRefreshToken: true,
        provider,
      },
      delivered: access,
      marks: [access, refresh, client],
    },
    {
      serviceName: `certificate-${generation}`,
      body: { tokenType: 'Certificate', certificate: certificate.text, privateKey: certificateKey.text },
      delivered: certificate.text,
      marks: [...certificate.marks, ...certificateKey.marks],
    },
    {
      serviceName: `ssh-${generation}`,
      body: { tokenType: 'SSHKey', privateKey: sshKey.text },
      delivered: sshKey.text,
      marks: sshKey.marks,
    },
    {
      serviceName: `raw-${generation}`,
      body: { tokenType: 'RawCredential', value: quoted },
      delivered: quoted,
      marks: [raw],
    },
  ];
}

/** The forms of a key that is bytes: the bytes themselves, and the ways to write them. */
export function formsOfKey(base64url: string): readonly (string | Buffer)[] {
  const bytes = Buffer.from(base64url, 'base64url');
  return [
    bytes,
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    bytes.toString('base64'),
    ...secretForms(base64url),
  ];
}
