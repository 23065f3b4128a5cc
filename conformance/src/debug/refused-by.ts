import type { SignatureRefusalReason } from '@svault/shared';

/** The requirement of the protocol that rejects a request for a reason, and what that means for its signer. */
export const REFUSED_BY: Readonly<
  Record<SignatureRefusalReason, readonly [requirement: string, meaning: string]>
> = {
  signature_input_missing: ['SIG-26', 'there is no Signature-Input'],
  signature_input_repeated: ['SIG-26', 'Signature-Input appears twice'],
  signature_missing: ['SIG-26', 'there is no Signature'],
  signature_repeated: ['SIG-26', 'Signature appears twice'],
  label: ['SIG-33', 'the label of both headers is sv'],
  signature_input_malformed: [
    'SIG-27',
    'Signature-Input is not one list of names with parameters in strict serialisation: one space between names, none before parameters',
  ],
  signature_malformed: ['SIG-42', 'Signature is not sv=:…: with standard base64 and padding'],
  tag: ['SIG-32', 'the tag is not sv-webhook-v1'],
  algorithm: ['SIG-31', 'alg is not hmac-sha256'],
  parameter_unknown: ['SIG-30', 'there is a parameter beside created, expires, nonce, keyid, alg and tag'],
  parameter_missing: ['SIG-28', 'one of created, expires, nonce, keyid, alg and tag is not there'],
  created: ['SIG-34', 'created is no integer'],
  expires: ['SIG-34', 'expires is no integer'],
  nonce: ['SIG-35', 'the nonce is not 22 to 64 characters of base64url'],
  key_id: ['SIG-37', 'keyid is not 1 to 64 of A-Z a-z 0-9 _ -'],
  component_malformed: ['SIG-25', 'a component has parameters, or is no text'],
  component_repeated: ['SIG-23', 'a component appears twice in the list'],
  component_unknown: [
    'SIG-08',
    'a component is neither one of the four nor the name of a header in lower case',
  ],
  component_missing: ['SIG-05', 'one of @method, @authority, @path and @query is not covered'],
  content_not_covered: [
    'SIG-02',
    'the request has a body, and content-type or content-digest is not covered',
  ],
  ticket_not_covered: ['SIG-10', 'there is an sv-ticket that is not covered'],
  target_not_covered: ['HTP-08', 'sv-target is not covered'],
  field_missing: ['SIG-20', 'a covered header is not there'],
  field_repeated: ['SIG-21', 'a covered header appears twice'],
  field_value: ['SIG-19', 'a covered header holds something that cannot stand in a line'],
  target: ['SIG-15', 'method, authority or path hold something that cannot stand in a line'],
  query: ['SIG-18', 'a signed request has no query'],
  key_length: ['SIG-43', 'a key has 32 bytes; under keyid bind it is the 36 characters of the code (EXC-03)'],
  mac: ['SIG-45', 'the MAC is not that of this base under this key'],
  lifetime: ['SIG-47', 'expires is not 1 to 60 seconds after created'],
  not_yet_valid: ['SIG-48', 'created is more than 30 seconds ahead of the time'],
  expired: ['SIG-49', 'expires is more than 30 seconds ago'],
  digest_malformed: ['SIG-51', 'Content-Digest does not have sha-256 once, as sha-256=:…:'],
  digest_mismatch: ['SIG-52', 'the digest is not that of the body'],
};
