import { generateKeyPairSync } from 'node:crypto';
import { randomToken } from '@svault/shared';
import { generate } from 'selfsigned';

export interface DemoCredential {
  readonly serviceName: string;
  /** What goes to `POST /v1/store`. */
  readonly body: { readonly tokenType: string } & Record<string, unknown>;
  /** What `accessToken` must be when it is delivered. */
  readonly delivered: string;
}

/**
 * One credential of every type that the webhook stores, and one that is sealed for a recipient. Each is made anew, so
 * that nothing secret lies in the repository.
 */
export async function demoCredentials(recipient: object): Promise<{
  readonly plain: readonly DemoCredential[];
  readonly sealed: DemoCredential;
}> {
  const apiKey = `demo-${randomToken()}`;
  const accessToken = `demo-${randomToken()}`;
  const raw = JSON.stringify({ user: 'demo', password: randomToken() });
  const certificate = await generate([{ name: 'commonName', value: 'svault demo' }]);
  const ssh = generateKeyPairSync('ed25519');
  const sshKey = ssh.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const payroll = `demo-${randomToken()}`;
  return {
    plain: [
      { serviceName: 'github', body: { tokenType: 'PlainText', value: apiKey }, delivered: apiKey },
      { serviceName: 'calendar', body: { tokenType: 'JWT', accessToken }, delivered: accessToken },
      {
        serviceName: 'mail-gateway',
        body: { tokenType: 'Certificate', certificate: certificate.cert, privateKey: certificate.private },
        delivered: certificate.cert,
      },
      { serviceName: 'build-host', body: { tokenType: 'SSHKey', privateKey: sshKey }, delivered: sshKey },
      { serviceName: 'warehouse', body: { tokenType: 'RawCredential', value: raw }, delivered: raw },
    ],
    sealed: {
      serviceName: 'payroll',
      body: { tokenType: 'PlainText', value: payroll, delivery: 'sealed', recipients: [recipient] },
      delivered: payroll,
    },
  };
}
