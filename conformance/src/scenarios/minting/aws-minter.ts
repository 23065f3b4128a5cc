import { randomToken } from '@svault/shared';

export const ROLE = 'arn:aws:iam::123456789012:role/conformance';

/** An `aws-sts` minter; nobody asks AWS with it. */
export const awsMinter = (settings: object): object => ({
  type: 'aws-sts',
  accessKeyId: `AKIA${randomToken(16)
    .replace(/[^A-Za-z]/g, 'A')
    .toUpperCase()
    .slice(0, 16)}`,
  secretAccessKey: randomToken(30),
  ...settings,
});
