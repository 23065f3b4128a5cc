import { ApiFailure } from '../api/client.ts';
import { TextAreaField, TextField, textOf } from '../parts/form.tsx';
import { SealingKeyProblem, thumbprintOf } from './sealing-key.ts';

export const NameField = ({ defaultValue }: { readonly defaultValue?: string }) => (
  <TextField
    name="name"
    label="Name"
    hint="What it does, such as deploy or nightly-report. No two agents have one name."
    required
    maxLength={100}
    {...(defaultValue !== undefined && { defaultValue })}
  />
);

export const DescriptionField = ({ defaultValue }: { readonly defaultValue?: string }) => (
  <TextAreaField
    name="description"
    label="Description"
    hint="Optional: where it runs, and whom to ask."
    rows={2}
    maxLength={1_000}
    {...(defaultValue !== undefined && { defaultValue })}
  />
);

const SEALING_KEY = 'sealingKeyThumbprint';

export const SealingKeyField = ({ required = false }: { readonly required?: boolean }) => (
  <TextAreaField
    name={SEALING_KEY}
    label="Sealing key"
    hint="The public key of the agent as a JWK or in PEM (P-256, P-384 or X25519), or its thumbprint. It stays in this browser: the control plane gets the thumbprint."
    required={required}
    rows={4}
    maxLength={4_096}
    spellCheck={false}
    className="font-mono text-sm"
  />
);

/** The thumbprint of what is in the field; undefined where it is empty. @throws ApiFailure for a key that is damaged */
export async function sealingKeyIn(values: FormData): Promise<string | undefined> {
  const text = textOf(values, SEALING_KEY);
  if (text.trim() === '') return undefined;
  try {
    return await thumbprintOf(text);
  } catch (error) {
    if (!(error instanceof SealingKeyProblem)) throw error;
    throw besideField(SEALING_KEY, error.message);
  }
}

/** Names are unique: the answer is about the name, wherever it comes from. */
export function nameConflict(error: unknown): never {
  if (error instanceof ApiFailure && error.code === 'CONFLICT')
    throw besideField('name', 'Another agent has this name.');
  throw error;
}

const besideField = (path: string, message: string): ApiFailure =>
  new ApiFailure(422, { error: message, code: 'INVALID_ARGUMENT', issues: [{ path, message }] });
