import { expect, test } from 'vitest';
import { awsScope } from './aws-scope.ts';

test.each([
  ['s3.amazonaws.com', 'us-east-1', 's3'],
  ['bucket.s3.amazonaws.com', 'us-east-1', 's3'],
  ['s3.eu-central-1.amazonaws.com', 'eu-central-1', 's3'],
  ['my.bucket.s3.eu-central-1.amazonaws.com', 'eu-central-1', 's3'],
  ['bucket.s3.dualstack.eu-west-1.amazonaws.com', 'eu-west-1', 's3'],
  ['s3-eu-west-1.amazonaws.com', 'eu-west-1', 's3'],
  ['bucket.s3-eu-west-1.amazonaws.com', 'eu-west-1', 's3'],
  ['s3-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1', 's3'],
  ['ap-123456789012.s3-accesspoint.eu-west-1.amazonaws.com', 'eu-west-1', 's3'],
  ['sts.amazonaws.com', 'us-east-1', 'sts'],
  ['sts.eu-west-1.amazonaws.com', 'eu-west-1', 'sts'],
  ['dynamodb.eu-west-1.amazonaws.com', 'eu-west-1', 'dynamodb'],
  ['sqs.cn-north-1.amazonaws.com.cn', 'cn-north-1', 'sqs'],
  ['kms.eusc-de-east-1.amazonaws.eu', 'eusc-de-east-1', 'kms'],
  ['lambda.eu-west-1.api.aws', 'eu-west-1', 'lambda'],
  ['bedrock-runtime.us-east-1.amazonaws.com', 'us-east-1', 'bedrock'],
  ['api.ecr.us-east-1.amazonaws.com', 'us-east-1', 'ecr'],
  ['email.eu-west-1.amazonaws.com', 'eu-west-1', 'ses'],
  ['abc123.execute-api.eu-west-1.amazonaws.com', 'eu-west-1', 'execute-api'],
])('%s is signed for %s and %s', (host, region, service) => {
  expect(awsScope({}, `https://${host}/`)).toEqual({ region, service });
});

test.each([
  'objects.example.com',
  'amazonaws.com',
  's3.amazonaws.com.example.com',
  's3.evil-amazonaws.com',
  'ec2.amazonaws.com',
  'bucket.s3-accelerate.amazonaws.com',
  'search-x.es.eu-west-1.amazonaws.com',
])('%s does not name both region and service', (host) => {
  expect(awsScope({}, `https://${host}/`)).toBeUndefined();
});

test('a configured region or service takes precedence over the one that the host names', () => {
  const url = 'https://s3.eu-central-1.amazonaws.com';
  expect(awsScope({ region: 'eu-west-1' }, url)).toEqual({ region: 'eu-west-1', service: 's3' });
  expect(awsScope({ service: 'glacier' }, url)).toEqual({ region: 'eu-central-1', service: 'glacier' });
  expect(awsScope({ region: 'r' }, 'https://objects.example.com')).toBeUndefined();
});
