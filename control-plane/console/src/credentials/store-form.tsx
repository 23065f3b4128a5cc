import type { StoreBody } from '@svault/shared/schemas';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Problem, type Schemas, answerOf, api } from '../api/client.ts';
import { ActionForm, CheckField } from '../parts/form.tsx';
import { type Held, KIND_FIELDS } from './kind-fields.tsx';
import type { Kind } from './kinds.ts';
import { SealedFields } from './sealed-fields.tsx';
import type { SecretDestination } from './use-webhook.ts';

/** What a store takes beyond the `store` capability (PROTOCOL.md section 5.2). */
const NEEDED: Readonly<Record<string, readonly [capability: string, name: string]>> = {
  totp: ['totp', 'one-time codes'],
  'aws-sts': ['aws-sts', 'AWS STS'],
  'gcp-service-account': ['gcp', 'Google Cloud'],
  'github-app': ['github-app', 'GitHub Apps'],
};

/** What the control plane is told of a secret: for what it needs an approval, so that the first request asks for one. */
export type Declared = Pick<Schemas['NewToken'], 'approval'>;

const declaredOf = ({ approval }: StoreBody): Declared => ({ approval: approval?.for ?? [] });

/** Where the secret goes, said before it is typed. */
export function Destination({ webhook }: { readonly webhook: SecretDestination }) {
  const { host, before } = webhook;
  return (
    <div className="rounded-md border border-line bg-ground px-3 py-2.5 text-sm wrap-anywhere">
      <p>
        Goes straight from this browser to your webhook at <strong>{host}</strong>. The control plane gets the
        name and the description, never the secret.
      </p>
      {before !== undefined && (
        <div className="mt-3">
          <p className="text-warn">
            Secrets from this browser went to {before} before. Ask the webhook’s operator if you did not
            expect this.
          </p>
          <div className="mt-2">
            <CheckField name="webhookMoved" label={`${host} is my webhook now`} />
          </div>
        </div>
      )}
    </div>
  );
}

/**
 * The form of a secret, which goes from the browser to the webhook.
 *
 * @param props.ticket asks for a ticket; whatever has to be named first is named by it
 * @param props.children fields about the credential itself, before those of the secret
 */
export function StoreForm(props: {
  readonly kind: Kind;
  readonly webhook: SecretDestination;
  readonly isAdmin: boolean;
  readonly held?: Held | undefined;
  readonly submit: string;
  readonly ticket: (values: FormData, declared: Declared) => Promise<Schemas['StoreAddress']>;
  /** @param warnings of the webhook */
  readonly onStored: (warnings: readonly string[]) => void;
  readonly children?: ReactNode;
}) {
  const { kind, isAdmin, held, submit, ticket, onStored, children } = props;
  // What the person was told counts, whatever the control plane says later.
  const [webhook] = useState(props.webhook);
  const queryClient = useQueryClient();
  const store = async (values: FormData): Promise<readonly string[]> => {
    mustBeKnown(webhook, values);
    await import('../parts/schemas-without-eval.ts');
    const [{ recordOf }, { storeAtWebhook }] = await Promise.all([
      import('./record.ts'),
      import('./store-at-webhook.ts'),
    ]);
    const record = await recordOf(kind.id, values);
    const { delivery, requests, approval } = record;
    await mustTake(kind, {
      isAdmin,
      webhook,
      isSealed: delivery === 'sealed',
      hasRules: requests !== undefined,
      isApproved: approval !== undefined,
    });
    try {
      const warnings = await storeAtWebhook({
        webhook: webhook.url,
        record,
        ticket: () => ticket(values, declaredOf(record)),
      });
      webhook.remember();
      return warnings;
    } catch (error) {
      void queryClient.invalidateQueries({ queryKey: ['credentials'] });
      throw error;
    }
  };
  const Fields = KIND_FIELDS[kind.id];
  return (
    <div className="max-w-3xl">
      <ActionForm submit={submit} action={store} onDone={onStored}>
        {children}
        <fieldset className="card grid min-w-0 gap-4">
          <legend className="float-left font-semibold">Secret</legend>
          <Destination webhook={webhook} />
          <Fields held={held} />
        </fieldset>
        <fieldset className="card grid min-w-0 gap-4">
          <legend className="float-left font-semibold">Sealed with it</legend>
          <p className="text-sm text-dim">
            The webhook holds to these, whatever the control plane asks. To change them, store the secret
            again.
          </p>
          <SealedFields {...{ held, isAdmin }} />
        </fieldset>
      </ActionForm>
    </div>
  );
}

/** @throws Problem where secrets went to another webhook before, and nobody said that this one is right */
export function mustBeKnown(webhook: SecretDestination, values: FormData): void {
  if (webhook.before !== undefined && !values.has('webhookMoved'))
    throw new Problem('', [
      { path: 'webhookMoved', message: 'Nothing is sent to another webhook unless you say so.' },
    ]);
}

/**
 * Before anything is named or sent: its refusal would leave a credential without a secret behind.
 * @throws Problem where the webhook is known not to answer, or does not claim what the secret takes
 */
export async function mustTake(
  kind: Kind,
  by: {
    readonly isAdmin: boolean;
    readonly webhook: SecretDestination;
    readonly isSealed?: boolean;
    readonly hasRules?: boolean;
    readonly isApproved?: boolean;
  },
): Promise<void> {
  const { isAdmin, webhook, isSealed, hasRules, isApproved } = by;
  const away = `The webhook at ${webhook.host} does not answer. Nothing was named or sent, and what you typed is still here. Start it, then try again.`;
  if (!isAdmin) {
    const { online } = (await answerOf(api.GET('/api/overview'))).webhook;
    if (online === false) throw new Problem(away);
    return;
  }
  const { reachable, capabilities = [] } = await answerOf(api.GET('/api/webhook'));
  if (reachable !== true) throw new Problem(away);
  const needed = [
    NEEDED[kind.id],
    isSealed ? (['sealed-delivery', 'sealed delivery'] as const) : undefined,
    hasRules ? (['request-rules', 'rules for requests'] as const) : undefined,
    isApproved ? (['approvals', 'approvals by passkey'] as const) : undefined,
  ];
  const missing = needed.find((each) => each !== undefined && !capabilities.includes(each[0]));
  if (missing !== undefined)
    throw new Problem(
      `Your webhook does not support ${missing[1]}. Nothing was stored. Update it, then try again.`,
    );
}
