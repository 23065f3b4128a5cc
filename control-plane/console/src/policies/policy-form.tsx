import { Field } from '@base-ui/react/field';
import { useEffect, useRef, useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { ActionForm, CheckField, TextField } from '../parts/form.tsx';
import { AttachFields, attachedIn, targetsToAttach } from './attach-fields.tsx';
import { type Draft, draftIn } from './draft.ts';
import { PreviewPanel } from './preview-panel.tsx';
import type { Event, ListedTarget, Policy } from './queries.ts';
import { RuleFields } from './rule-fields.tsx';
import { RULE_NAMES, type Rule, type RuleType } from './rule-words.ts';
import { ownZone } from './time-zone.ts';
import { useItems } from './use-items.ts';

/** What can be typed into. */
const FIELDS = 'input:not([type=hidden]), select, textarea';

const TYPES = Object.keys(RULE_NAMES) as readonly RuleType[];

/** A rule to begin with. Numbers that a person has to choose are empty. */
export function newRule(type: RuleType): Rule {
  switch (type) {
    case 'time_window':
      return {
        type,
        timezone: ownZone(),
        windows: [{ days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' }],
      };
    case 'ip_allowlist':
      return { type, cidrs: [] };
    case 'geo_restrict':
      return { type, mode: 'allow', countries: [] };
    case 'rate_limit':
      return { type, limit: Number.NaN, windowSeconds: 3_600 };
    case 'max_usage':
      return { type, limit: Number.NaN };
    case 'request_filter':
      return { type, requests: [] };
    case 'manual_approval':
      return { type };
  }
}

/**
 * A policy with its rules, and beside it what it would have decided about recent requests.
 *
 * @param props.policyId of the policy that is changed; undefined: a new one is created and attached
 * @param props.targets what a new policy is attached to unless something else is chosen
 * @param props.event whose decision is of interest
 */
export function PolicyForm(props: {
  readonly policyId?: string | undefined;
  readonly first: Draft;
  readonly targets?: readonly ListedTarget[];
  readonly event?: Event | undefined;
  readonly onSaved: (policy: Policy) => void;
  readonly onCancel: () => void;
}) {
  const { policyId, first, targets = [], event, onSaved, onCancel } = props;
  const box = useRef<HTMLDivElement>(null);
  const draft = useDraft(box);
  const created = useRef<string>(undefined);
  const { items: rules, add, remove } = useItems(first.rules);

  const count = useRef(rules.length);
  useEffect(() => {
    // What had the focus is gone, or the fields of the new rule are what is typed into next.
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[data-rule]') ?? [])];
    const next =
      rules.length < count.current ? box.current?.querySelector<HTMLElement>('[data-add] button') : undefined;
    const first = rules.length > count.current ? all.at(-1)?.querySelector<HTMLElement>(FIELDS) : next;
    first?.focus();
    count.current = rules.length;
  }, [rules.length]);

  const save = async (values: FormData): Promise<Policy> => {
    const body = writable(await draftIn(values));
    const attached = policyId === undefined ? await targetsToAttach(values) : [];
    const id = policyId ?? created.current;
    // A policy that was created, and could not be attached everywhere, is not created again.
    const policy =
      id === undefined
        ? await answerOf(api.POST('/api/policies', { body }))
        : await answerOf(api.PATCH('/api/policies/{id}', { params: { path: { id } }, body }));
    created.current = policy.id;
    for (const target of attached)
      await answerOf(
        api.POST('/api/policies/{id}/attachments', { params: { path: { id: policy.id } }, body: target }),
      );
    return policy;
  };

  return (
    <div className="mt-4 grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div ref={box} className="card pt-2">
        <ActionForm
          action={save}
          submit={policyId === undefined ? 'Create policy' : 'Save changes'}
          onDone={onSaved}
          onCancel={onCancel}
        >
          <TextField
            name="name"
            label="Name"
            hint="A denied agent is told this name."
            required
            maxLength={100}
            defaultValue={first.name}
          />
          <CheckField
            name="enabled"
            label="Enabled"
            hint="A disabled policy decides about nothing, and keeps its attachments and counts."
            defaultChecked={first.enabled}
          />
          <fieldset name="rules" className="grid gap-3">
            <legend className="mb-2">
              <h2>Rules</h2>
            </legend>
            <p className="text-sm text-dim">Every rule has to allow a request.</p>
            {rules.map(({ key, item }, at) => (
              <section
                key={key}
                data-rule=""
                aria-label={`Rule ${at + 1}: ${RULE_NAMES[item.type]}`}
                className="grid gap-3 rounded-md border border-line p-3"
              >
                <div className="flex flex-wrap items-center justify-between gap-2">
                  <h3 className="font-medium">{RULE_NAMES[item.type]}</h3>
                  <button type="button" className="button" onClick={() => remove(key)}>
                    Remove<span className="sr-only"> rule {at + 1}</span>
                  </button>
                </div>
                <RuleFields rule={item} path={`rules.${at}`} />
              </section>
            ))}
            <Field.Root name="rules">
              <Field.Error className="text-sm text-warn" />
            </Field.Root>
            <div
              role="group"
              aria-label="Add a rule"
              data-add=""
              className="flex flex-wrap items-center gap-2"
            >
              <span className="text-sm text-dim">{rules.length === 0 ? 'Begin with' : 'Add'}</span>
              {TYPES.map((type) => (
                <button key={type} type="button" className="button" onClick={() => add(newRule(type))}>
                  <span aria-hidden="true">+ </span>
                  {RULE_NAMES[type]}
                </button>
              ))}
            </div>
          </fieldset>
          {policyId === undefined && <AttachFields first={targets} />}
        </ActionForm>
      </div>
      <PreviewPanel draft={draft} policyId={policyId} event={event} />
    </div>
  );
}

/** The lists of a draft, as the API's client takes them. */
const writable = ({ name, enabled, rules }: Draft) => ({ name, enabled, rules: [...rules] });

const TYPING_MS = 400;

/** What the form says, once typing pauses. */
function useDraft(box: React.RefObject<HTMLDivElement | null>) {
  const [draft, setDraft] = useState<Draft & { readonly attachments: ReturnType<typeof attachedIn> }>();
  useEffect(() => {
    const form = box.current?.querySelector('form');
    if (!form) return undefined;
    let timer: number | undefined;
    let latest = 0;
    const read = async (): Promise<void> => {
      const values = new FormData(form);
      const own = ++latest;
      const draft = await draftIn(values).catch(() => undefined);
      if (own === latest) setDraft(draft && { ...draft, attachments: attachedIn(values) });
    };
    const readSoon = (): void => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void read(), TYPING_MS);
    };
    // Rules, windows and countries also come and go by buttons.
    const observer = new MutationObserver(readSoon);
    observer.observe(form, { childList: true, subtree: true });
    form.addEventListener('input', readSoon);
    void read();
    return () => {
      latest = Number.NaN;
      window.clearTimeout(timer);
      observer.disconnect();
      form.removeEventListener('input', readSoon);
    };
  }, [box]);
  return draft;
}
