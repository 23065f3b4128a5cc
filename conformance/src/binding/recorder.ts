import { setTimeout as delay } from 'node:timers/promises';
import { NoAnswer, type Answer, type Client, type RequestToSend } from '../http/client.ts';
import { header } from '../http/read-answer.ts';
import type { BindingSteps, Step, StepName } from './transcript.ts';

/** Sends the steps of a binding and keeps what came back. */
export interface Recorder {
  readonly steps: BindingSteps;
  /** A step that the binding can do without: skipped once an answer timed out. */
  look(name: StepName, request: RequestToSend): Promise<Answer | undefined>;
  /** A step that the binding needs. @returns undefined where no answer came */
  need(name: StepName, request: RequestToSend): Promise<Answer | undefined>;
  /** Records which answers belong to a step, where they are known only later. */
  note(name: StepName, step: Step | undefined): void;
  /**
   * Takes a step again that was answered 429, after the time which that asks for. Once in a binding: wrong codes count
   * for a minute, those of a run before this one too (EXC-14).
   */
  again(name: StepName, request: () => RequestToSend): Promise<Answer | undefined>;
}

const MAX_WAIT_SECONDS = 60;

export function createRecorder(client: Pick<Client, 'send'>): Recorder {
  const steps: { -readonly [Name in StepName]?: Step | undefined } = {};
  let hangs = false;
  let waited = false;

  const need: Recorder['need'] = async (name, request) => {
    try {
      return (steps[name] = await client.send(request));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      steps[name] = error;
      hangs ||= error.timedOut;
      return undefined;
    }
  };
  return {
    steps,
    need,
    look: async (name, request) => (hangs ? undefined : need(name, request)),
    note: (name, step) => {
      steps[name] = step;
    },
    again: async (name, request) => {
      const limited = steps[name];
      if (limited === undefined || limited instanceof NoAnswer || limited.status !== 429) return undefined;
      const seconds = Number(header(limited, 'retry-after') ?? NaN);
      if (waited || !(seconds >= 0 && seconds <= MAX_WAIT_SECONDS)) return undefined;
      waited = true;
      await delay(seconds * 1000);
      return need(name, request());
    },
  };
}
