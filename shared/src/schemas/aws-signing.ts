import * as z from 'zod';
import { awsScope } from '../aws-scope.ts';
import { isObject } from '../json.ts';
import { markedNames } from '../proxy-headers.ts';

/** Slashes separate the parts of a credential scope. */
const SCOPE_PART = /^[a-z0-9-]{1,64}$/;
const scopePartSchema = z.string().regex(SCOPE_PART, 'not 1 to 64 of a-z 0-9 -');

/** PROTOCOL.md section 5.9: how the calls of a proxy are signed for AWS. Defaults come from the upstream's host. */
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

/** Whether calls can be signed as a configuration asks for; true if it does not ask. */
export function fitsSigning({
  upstreamUrl,
  headerTemplates,
  kind,
  queryTemplates,
  signing,
}: Signable): boolean {
  if (signing === undefined) return true;
  return (
    kind === 'http' &&
    [headerTemplates, queryTemplates ?? {}].every((templates) => markedNames(templates).length === 0) &&
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
 * The headers of a call, in lower case, that carry the credential or what is made of it: that of the signature, which
 * names the access key, or else those of templates.
 */
export const credentialHeaders = ({
  headerTemplates,
  signing,
}: Pick<Signable, 'headerTemplates' | 'signing'>): readonly string[] =>
  signing === undefined ? markedNames(headerTemplates).map((name) => name.toLowerCase()) : ['authorization'];
