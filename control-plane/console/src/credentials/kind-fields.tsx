import { type ReactNode, useRef } from 'react';
import type { Schemas } from '../api/client.ts';
import { CheckField, SelectField, TextAreaField, TextField } from '../parts/form.tsx';
import { type KindId, OAUTH_PROVIDERS } from './kinds.ts';
import { SecretField, typeInto } from './secret-field.tsx';
import { TotpPicture } from './totp-picture.tsx';

/** What the webhook holds, as far as it says: for the fields of a secret that replaces another. */
export type Held = NonNullable<Schemas['Token']['webhook']>;

interface FieldsProps {
  readonly held: Held | undefined;
}

const PEM = '.pem,.key,.crt,.cer,text/plain';

/** The fields of a secret, by its kind. Their names are paths of the body that the webhook takes (PROTOCOL.md section 5.5). */
export const KIND_FIELDS: Readonly<Record<KindId, (props: FieldsProps) => ReactNode>> = {
  text: () => <SecretField name="value" label="Secret" file="*" />,
  raw: () => (
    <SecretField
      name="value"
      label="Secret"
      lines={6}
      file="*"
      hint="Text of any form, such as JSON. At most 64 KiB."
    />
  ),
  'access-token': () => (
    <>
      <SecretField name="accessToken" label="Access token" file="*" />
      <RefreshToken hint="Optional. It is not used here; agents may get it with the access token." shared />
    </>
  ),
  oauth: OAuthFields,
  totp: () => (
    <>
      <SecretField
        name="secret"
        label="Secret or otpauth:// address"
        hint="In base32, as the provider shows it beside the QR code; or the address in that code."
      >
        {(field) => <TotpPicture field={field} />}
      </SecretField>
      <Columns>
        <SelectField
          name="algorithm"
          label="Algorithm"
          options={[['', 'SHA-1 unless given'], ...same('SHA1', 'SHA256', 'SHA512')]}
        />
        <SelectField
          name="digits"
          label="Digits"
          options={[['', '6 unless given'], ...same('6', '7', '8')]}
        />
        <TextField
          name="period"
          label="Seconds"
          inputMode="numeric"
          pattern="[0-9]{1,5}"
          placeholder="30"
          hint="How long a code holds."
        />
      </Columns>
    </>
  ),
  'aws-sts': () => (
    <>
      <TextField name="minter.accessKeyId" label="Access key id" hint="Such as AKIA…" />
      <SecretField name="minter.secretAccessKey" label="Secret access key" />
      <TextField
        name="minter.roleArn"
        label="Role to assume"
        hint="Optional: arn:aws:iam::123456789012:role/name. Give one that may do little."
      />
      <Columns>
        <TextField name="minter.region" label="Region" placeholder="us-east-1" hint="Optional." />
        <TextField
          name="minter.durationSeconds"
          label="Lifetime in seconds"
          inputMode="numeric"
          pattern="[0-9]{3,6}"
          hint="Optional: at most 43200 with a role."
        />
      </Columns>
      <TextAreaField
        name="minter.sessionPolicy"
        label="Session policy"
        rows={3}
        className="font-mono text-sm"
        spellCheck={false}
        hint="Optional: JSON that restricts the role further."
      />
    </>
  ),
  'gcp-service-account': () => (
    <>
      <SecretField
        name="keyFile"
        label="Key file"
        lines={6}
        file=".json,application/json"
        hint="The JSON file that Google Cloud creates for a key of a service account."
      />
      <TextAreaField
        name="minter.scopes"
        label="Scopes"
        rows={2}
        spellCheck={false}
        defaultValue="https://www.googleapis.com/auth/cloud-platform"
        hint="One on each line. What the tokens may do."
      />
    </>
  ),
  'github-app': () => (
    <>
      <Columns>
        <TextField name="minter.appId" label="App id or client id" />
        <TextField
          name="minter.installationId"
          label="Installation id"
          inputMode="numeric"
          hint="The number at the end of the address of its settings."
        />
      </Columns>
      <SecretField
        name="minter.privateKey"
        label="Private key"
        lines={6}
        file={PEM}
        hint="The .pem file of the app."
      />
      <TextAreaField
        name="minter.permissions"
        label="Permissions"
        rows={2}
        spellCheck={false}
        hint="Optional: fewer than the installation has, one on each line, such as contents: read"
      />
      <TextAreaField
        name="minter.repositories"
        label="Repositories"
        rows={2}
        spellCheck={false}
        hint="Optional: only these, by name without the owner."
      />
      <TextField
        name="minter.apiUrl"
        label="API address"
        placeholder="https://api.github.com"
        hint="Optional: for GitHub Enterprise Server."
      />
    </>
  ),
  certificate: () => (
    <>
      <SecretField
        name="certificate"
        label="Certificate"
        lines={5}
        file={PEM}
        hint="PEM: your certificate first, then the chain."
      />
      <SecretField name="privateKey" label="Private key" lines={5} file={PEM} hint="PEM." />
    </>
  ),
  'ssh-key': () => (
    <>
      <SecretField
        name="privateKey"
        label="Private key"
        lines={6}
        file="*"
        hint="Such as ~/.ssh/id_ed25519, without a passphrase."
      />
      <TextField
        name="publicKey"
        label="Public key"
        spellCheck={false}
        hint="Optional: one line, such as ssh-ed25519 AAAA… It is derived from the private key where that is possible."
      />
    </>
  ),
};

/** The address at which a provider refreshes; those of some providers need not be typed. */
function TokenEndpoint({ held }: FieldsProps) {
  const shown = useRef<HTMLDivElement>(null);
  return (
    <div ref={shown} className="grid gap-2">
      <TextField
        name="provider.tokenUrl"
        label="Token endpoint"
        type="url"
        spellCheck={false}
        defaultValue={held?.provider?.tokenUrl}
        hint="Where the webhook refreshes the tokens."
      />
      <div className="flex flex-wrap gap-2">
        {OAUTH_PROVIDERS.map(([url, name]) => (
          <button
            key={url}
            type="button"
            className="button"
            onClick={() => typeInto(shown.current?.querySelector('input') ?? null, url)}
          >
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}

function OAuthFields({ held }: FieldsProps) {
  const provider = held?.provider;
  return (
    <>
      <TokenEndpoint held={held} />
      <TextField name="provider.clientId" label="Client id" defaultValue={provider?.clientId} />
      <SecretField
        name="provider.clientSecret"
        label="Client secret"
        hint="Leave it empty for a public client, or where the control plane authenticates the client."
      />
      <SecretField name="accessToken" label="Access token" />
      <RefreshToken hint="The webhook gets new access tokens with it." />
      <Columns>
        <SelectField
          name="provider.authMethod"
          label="Client authentication"
          defaultValue={provider?.authMethod}
          options={[
            ['', 'Usual for what is given'],
            ['client_secret_basic', 'Secret in the header (basic)'],
            ['client_secret_post', 'Secret in the body (post)'],
            ['private_key_jwt', 'Signed assertion (by the control plane)'],
            ['none', 'None'],
          ]}
        />
        <TextField name="provider.scope" label="Scope" hint="Optional." />
      </Columns>
      <CheckField
        name="provider.mediated"
        label="The control plane authenticates the client"
        defaultChecked={provider?.mediated ?? false}
        hint="It keeps the client secret (svault providers create); the webhook sends the request and keeps the tokens."
      />
    </>
  );
}

function RefreshToken({ hint, shared = false }: { readonly hint: string; readonly shared?: boolean }) {
  return (
    <>
      <SecretField name="refreshToken" label="Refresh token" hint={hint} />
      <CheckField
        name="shareRefreshToken"
        label="Agents may get the refresh token, too"
        defaultChecked={shared}
      />
    </>
  );
}

const same = (...values: readonly string[]) => values.map((value) => [value, value] as const);

/** Short fields beside each other where there is room. */
export const Columns = ({ children }: { readonly children: ReactNode }) => (
  <div className="grid items-start gap-4 sm:grid-cols-[repeat(auto-fit,minmax(14rem,1fr))]">{children}</div>
);
