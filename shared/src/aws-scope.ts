/** What the scope of a signature names (AWS, "Signature Version 4"). */
export interface AwsScope {
  readonly region: string;
  readonly service: string;
}

/** AWS's domains of public endpoints. */
const ENDPOINT = /^(.+)\.(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)$/;
const REGION = /^[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-[0-9]{1,2}$/;
/** `s3-eu-west-1.amazonaws.com`, and `s3-fips` before a region. */
const OLD_S3 = /^s3-([a-z]{2,4}(?:-[a-z]{2,12}){1,3}-[0-9]{1,2})$/;
const FIPS = /-fips$/;

/** Services with one endpoint that has no region in its name, by that endpoint; they sign for the partition's first. */
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

/** Where the first part of a service's host name is not the name that it is signed for. */
const SIGNING_NAMES: ReadonlyMap<string, string> = new Map([
  ['api.ecr', 'ecr'],
  ['api.sagemaker', 'sagemaker'],
  ['bedrock-agent', 'bedrock'],
  ['bedrock-agent-runtime', 'bedrock'],
  ['bedrock-runtime', 'bedrock'],
  ['email', 'ses'],
  ['runtime.sagemaker', 'sagemaker'],
]);
/** Services before whose name a host may have one of the owner's: of a bucket, an account, an API. */
const BELOW_NAMES: ReadonlySet<string> = new Set([
  'execute-api',
  's3',
  's3-accesspoint',
  's3-object-lambda',
  's3-outposts',
]);

/**
 * What a call of an upstream is signed for (PROTOCOL.md section 5.9): what the configuration says, and beside that what
 * the host tells.
 *
 * @returns undefined where neither names both
 */
export function awsScope(
  { region, service }: { readonly [Part in keyof AwsScope]?: string | undefined },
  upstreamUrl: string,
): AwsScope | undefined {
  const told = toldByHost(new URL(upstreamUrl).hostname);
  const scope = { region: region ?? told.region, service: service ?? told.service };
  return scope.region === undefined || scope.service === undefined ? undefined : (scope as AwsScope);
}

function toldByHost(hostname: string): Partial<AwsScope> {
  const labels = ENDPOINT.exec(hostname)?.[1]
    ?.split('.')
    .filter((label) => label !== 'dualstack');
  const last = labels?.at(-1);
  if (labels === undefined || last === undefined) return {};
  const oldRegion = OLD_S3.exec(last)?.[1];
  if (oldRegion !== undefined) return { region: oldRegion, service: 's3' };
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
  if (labels.length !== 1 && !BELOW_NAMES.has(last)) return undefined;
  return last === 's3-accesspoint' ? 's3' : last;
}
