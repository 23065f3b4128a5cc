import { isIP } from 'node:net';
import { generate } from 'selfsigned';

const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** A self-signed certificate with its key, made anew for each run. */
export async function testCertificate(
  host = 'hook.test',
): Promise<{ readonly key: string; readonly cert: string }> {
  const altName =
    isIP(host) === 0 ? ({ type: DNS_NAME, value: host } as const) : ({ type: IP_ADDRESS, ip: host } as const);
  const { private: key, cert } = await generate([{ name: 'commonName', value: host }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [altName] },
    ],
  });
  return { key, cert };
}
