import * as z from 'zod';
import { awsScope } from '../aws-scope.ts';
import { isObject } from '../json.ts';
import { markersIn } from '../proxy-headers.ts';

/** They are parts of a scope, which slashes separate. */
const SCOPE_PART = /^[a-z0-9-]{1,64}$/;
const scopePartSchema = z.string().regex(SCOPE_PART, 'not 1 to 64 of a-z 0-9 -');

/** PROTOCOL.md section 5.9: a configuration whose calls are signed for AWS. What is absent the upstream's host tells. */
export const awsSigningSchema = z.object({
  type: z.literal('aws_sigv4'),
  region: scopePartSchema.optional(),
  service: scopePartSchema.optional(),
});
export type AwsSigning = Readonly<z.infer<typeof awsSigningSchema>>;

/** The members of a configuration that a signature depends on. */
export interface Signable {
  readonly upstreamUrl: string;
  readonly headerTemplates: Readonly<Record<string, string>>;
  readonly kind?: unknown;
  readonly queryTemplates?: Readonly<Record<string, string>> | undefined;
  readonly signing?: AwsSigning | undefined;
}

/** Whether a configuration can be signed for, where it asks for that. */
export function fitsSigning({
  upstreamUrl,
  headerTemplates,
  kind,
  queryTemplates,
  signing,
}: Signable): boolean {
  if (signing === undefined) return true;
  const templates = [...Object.values(headerTemplates), ...Object.values(queryTemplates ?? {})];
  return (
    kind === 'http' &&
    templates.every((template) => markersIn(template) === 0) &&
    URL.canParse(upstreamUrl) &&
    awsScope(signing, upstreamUrl) !== undefined
  );
}

/** Whether {@link awsSigningSchema} takes a value, at a fraction of its cost. */
export const isAwsSigning = (value: unknown): value is AwsSigning =>
  isObject(value) &&
  value['type'] === 'aws_sigv4' &&
  [value['region'], value['service']].every(
    (part) => part === undefined || (typeof part === 'string' && SCOPE_PART.test(part)),
  );

/**
 * The headers of a call, in lower case, in which the credential or what is made of it goes: that of the signature, which
 * names the access key, and those of templates.
 */
export const credentialHeaders = ({
  headerTemplates,
  signing,
}: Pick<Signable, 'headerTemplates' | 'signing'>): readonly string[] =>
  signing === undefined
    ? Object.entries(headerTemplates)
        .filter(([, value]) => markersIn(value) > 0)
        .map(([name]) => name.toLowerCase())
    : ['authorization'];
