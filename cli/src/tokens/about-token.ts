import { Failure } from '../failure.ts';

/**
 * Has a call of the service that is about a token, and says more where there is none: the service says the same of whatever is
 * not there.
 * @throws Failure
 */
export async function aboutToken<T>(name: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'NOT_FOUND') throw error;
    throw new Failure('notFound', `there is no token ${name}; svault ls lists those there are`, {
      code: error.code,
      cause: error,
    });
  }
}
