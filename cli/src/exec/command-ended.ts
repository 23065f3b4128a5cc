/** A command that svault started has ended: svault ends in the same way, and has nothing to say of it. */
export class CommandEnded extends Error {
  override readonly name = 'CommandEnded';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}
