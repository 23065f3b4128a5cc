import type { ServeOptions } from '@svault/control-plane/serve';

/** Background jobs of a control plane that run when a test says so: by themselves they would come between its calls. */
export interface JobsByHand {
  readonly startJob: NonNullable<ServeOptions['startJob']>;
  /** @param name as the job is called in the log */
  run(name: string): Promise<void>;
}

export function jobsByHand(): JobsByHand {
  const jobs = new Map<string, () => Promise<unknown>>();
  return {
    startJob: (name, work) => {
      jobs.set(name, work);
      return { stop: async () => void jobs.delete(name) };
    },
    run: async (name) => {
      const work = jobs.get(name);
      if (work === undefined) throw new Error(`no job is called ${name}`);
      await work();
    },
  };
}
