import { Snippet } from '../parts/copy.tsx';
import { ActionForm, TextAreaField, TextField, textOf } from '../parts/form.tsx';
import { Section } from '../parts/screen.tsx';
import { bindPageOf, problemOfAddress, problemOfLink, registrationPathIn } from './registration.ts';

/** Where no webhook is bound: the two ways to the page that compares fingerprints and binds. */
export function BindWebhook() {
  return (
    <Section id="webhook" title="Bind a webhook">
      <p className="mt-2">
        The webhook is the credential server that you run. Until one is bound, no credential can be stored or
        delivered. Binding is confirmed by comparing a fingerprint, which the webhook and the control plane
        show.
      </p>
      <div className="mt-4 grid gap-x-8 gap-y-6 lg:grid-cols-2">
        <div>
          <h3 className="font-semibold">Start at the webhook</h3>
          <p className="text-sm text-dim">
            Its bind page asks for the set-up token, which its first start printed, and leads back here.
          </p>
          <ActionForm
            submit="Open its bind page"
            action={async (values) => window.location.assign(bindPageOf(textOf(values, 'address')))}
          >
            <TextField
              name="address"
              label="Address of the webhook"
              placeholder="https://vault.example.org"
              inputMode="url"
              maxLength={2048}
              required
              check={problemOfAddress}
            />
          </ActionForm>
        </div>
        <div>
          <h3 className="font-semibold">Or use a registration link</h3>
          <p className="text-sm text-dim">
            <code>bind-link</code> on the webhook’s machine prints one. It works once, for five minutes.
          </p>
          <ActionForm
            submit="Compare the fingerprint"
            action={async (values) => window.location.assign(registrationPathIn(textOf(values, 'link')))}
          >
            <TextAreaField
              name="link"
              label="Registration link"
              rows={2}
              spellCheck={false}
              required
              check={problemOfLink}
            />
          </ActionForm>
        </div>
      </div>
      <div className="mt-6">
        <p className="mb-1 text-sm text-dim">No webhook yet? To write the project of one:</p>
        <Snippet text="svault webhook init" what="Command" />
      </div>
    </Section>
  );
}
