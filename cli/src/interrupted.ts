import { Failure } from './failure.ts';

/** A person said no, or Ctrl-C, where they were asked: the command ends, and nothing is left to be said. */
export class Interrupted extends Failure {
  constructor() {
    super('interrupted', 'interrupted');
  }
}
