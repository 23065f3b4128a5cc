/**
 * Why a request is denied before any rule is asked: the one that reads it here and the one that serves it could read it
 * differently.
 */
const AMBIGUITIES = {
  method: 'its method is not one in capitals that an upstream serves',
  method_override: 'it names another method for the upstream to take',
  absolute_target: 'its target does not begin with a slash',
  fragment: 'its target has a fragment',
  path_length: 'its path is longer than 4,096 characters',
  path_characters: 'its path has characters that RFC 3986 does not allow there, or path parameters',
  path_empty_segment: 'its path has an empty segment',
  path_dot_segment: 'its path has a dot segment',
  path_encoding: 'its path has an encoded delimiter or control character',
  path_encoded_twice: 'its path is percent-encoded twice',
  path_utf8: 'its path is not UTF-8',
  path_lookalike: 'its path has characters that some programs take for delimiters',
  query: 'its query is not well formed',
  header_form: 'a header is not well formed, or stands twice',
  path_override: 'a header names another path for the upstream to take',
  form: 'its form is not well formed',
  content_type: 'its Content-Type names another character set than UTF-8, or not JSON for a message of MCP',
  content_encoding: 'its body is compressed',
  json: 'its body is not one JSON object, or has a name twice',
  member_case: 'its body has a member whose name differs from another one in case alone',
  json_rpc: 'its body is not one JSON-RPC 2.0 message',
  mcp_header: 'a header says something else than its body',
} as const;

export type Ambiguity = keyof typeof AMBIGUITIES;
/** `rule`: the one reading of a request matches no rule. */
export type RequestDenial = Ambiguity | 'rule';
export const REQUEST_DENIALS = ['rule', ...(Object.keys(AMBIGUITIES) as Ambiguity[])] as const;

/** For people; has nothing of the request. */
export function requestDenialText(denial: RequestDenial, serviceName: string): string {
  return denial === 'rule'
    ? `No request rule of \`${serviceName}\` allows this request. Its owner lists the rules with \`svault show ${serviceName}\`.`
    : ambiguityText(denial);
}

/** As `requestDenialText`, of a request that is denied whatever the rules are. */
export const ambiguityText = (ambiguity: Ambiguity): string =>
  `The request has two readings: ${AMBIGUITIES[ambiguity]}. Send it in its plain form.`;

/** Thrown inside of this folder alone. */
export class AmbiguousRequest extends Error {
  override readonly name = 'AmbiguousRequest';
  readonly ambiguity: Ambiguity;

  constructor(ambiguity: Ambiguity) {
    super(`the request has two readings: ${AMBIGUITIES[ambiguity]}`);
    this.ambiguity = ambiguity;
  }
}
