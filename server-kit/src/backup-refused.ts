/** A file that is not taken as a backup. Nothing was written. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused';
}
