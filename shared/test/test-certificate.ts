import { generate } from 'selfsigned';

const DNS_NAME = 2;

/** A self-signed certificate for `hook.test` with its key, made anew for each run. */
export async function testCertificate(): Promise<{ readonly key: string; readonly cert: string }> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'hook.test' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: DNS_NAME, value: 'hook.test' }] },
    ],
  });
  return { key, cert };
}
