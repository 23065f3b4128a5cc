/**
 * What a program that a test starts gets of the test's own environment, and nothing else: where to find commands, and
 * the runner's folder of compiled code (`NODE_COMPILE_CACHE`, set in vitest.config.ts), which halves the start.
 *
 * @param settings of the program
 */
export function programEnv<T extends NodeJS.ProcessEnv>(settings: T): T & NodeJS.ProcessEnv {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }), ...settings };
}
