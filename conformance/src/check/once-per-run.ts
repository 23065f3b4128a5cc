import type { Tools } from './tools.ts';

/** Does something when a run first asks for it, and gives each later caller in that run the same result. */
export function oncePerRun<T>(act: (tools: Tools) => Promise<T>): (tools: Tools) => Promise<T> {
  const results = new WeakMap<Tools, Promise<T>>();
  return (tools) => {
    const result = results.get(tools) ?? act(tools);
    results.set(tools, result);
    return result;
  };
}
