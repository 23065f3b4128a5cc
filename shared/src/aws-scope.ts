/** The region and service in the credential scope of a signature (AWS, "Signature Version 4"). */
export interface AwsScope {
  readonly region: string;
  readonly service: string;
}

/** The domains of AWS's public endpoints. */
const ENDPOINT = /^(.+)\.(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)$/;
const REGION = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-[0-9]{1,2}$/;
/** Of legacy endpoints such as `s3-eu-west-1.amazonaws.com`. */
const LEGACY_S3_PREFIX = 's3-';
const FIPS = /-fips$/;

/** Services with an endpoint that names no region; calls of it are signed for {@link GLOBAL_REGION}. */
const GLOBAL: ReadonlySet<string> = new Set([
  'budgets',
  'cloudfront',
  'iam',
  'organizations',
  'route53',
  's3',
  'sts',
]);
const GLOBAL_REGION = 'us-east-1';

/** Signing names of services that differ from the prefix of their endpoints. */
const SIGNING_NAMES: ReadonlyMap<string, string> = new Map([
  ['api.ecr', 'ecr'],
  ['api.sagemaker', 'sagemaker'],
  ['bedrock-agent', 'bedrock'],
  ['bedrock-agent-runtime', 'bedrock'],
  ['bedrock-runtime', 'bedrock'],
  ['email', 'ses'],
  ['runtime.sagemaker', 'sagemaker'],
]);
/** Services whose endpoints may begin with a name of the owner's: a bucket, an access point, an API. */
const WITH_RESOURCE_PREFIX: ReadonlySet<string> = new Set([
  'execute-api',
  's3',
  's3-accesspoint',
  's3-object-lambda',
  's3-outposts',
]);

/**
 * What a call of an upstream is signed for (PROTOCOL.md section 5.9): region and service of the configuration, by default
 * those that the host names.
 *
 * @returns undefined if one of them is known from neither
 */
export function awsScope(
  { region, service }: { readonly [Part in keyof AwsScope]?: string | undefined },
  upstreamUrl: string,
): AwsScope | undefined {
  const ofHost = scopeOfHost(new URL(upstreamUrl).hostname);
  const scope = { region: region ?? ofHost.region, service: service ?? ofHost.service };
  return scope.region === undefined || scope.service === undefined ? undefined : (scope as AwsScope);
}

function scopeOfHost(hostname: string): Partial<AwsScope> {
  const labels = ENDPOINT.exec(hostname)?.[1]
    ?.split('.')
    .filter((label) => label !== 'dualstack');
  const last = labels?.at(-1);
  if (labels === undefined || last === undefined) return {};
  if (last.startsWith(LEGACY_S3_PREFIX)) {
    const region = last.slice(LEGACY_S3_PREFIX.length);
    if (REGION.test(region)) return { region, service: 's3' };
  }
  if (!REGION.test(last)) return last === 's3' || labels.length === 1 ? globalScope(last) : {};
  const service = serviceOf(labels.slice(0, -1));
  return { region: last, ...(service !== undefined && { service }) };
}

const globalScope = (name: string): Partial<AwsScope> =>
  GLOBAL.has(name) ? { region: GLOBAL_REGION, service: name } : {};

/** @param labels before the region */
function serviceOf(labels: readonly string[]): string | undefined {
  const prefix = labels.join('.').replace(FIPS, '');
  const known = SIGNING_NAMES.get(prefix);
  if (known !== undefined) return known;
  const last = (labels.at(-1) ?? '').replace(FIPS, '');
  if (labels.length !== 1 && !WITH_RESOURCE_PREFIX.has(last)) return undefined;
  return last === 's3-accesspoint' ? 's3' : last;
}
