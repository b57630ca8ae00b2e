/** Kinds of changes that may explain a problem. The compiler checks that the page has a row for each kind. */
export type ChangeKind = 'miss' | 'version' | 'schedule' | 'switch' | 'gone' | 'outage';

/** Something that changed at a time. Times are the store's where the offset of the instance's clock is known. */
export interface Change {
  readonly kind: ChangeKind;
  readonly at: number;
  /** Absent: a moment, not a period. */
  readonly to?: number;
  /** The period has gone on until then at least. Absent: it ended then. */
  readonly isOpen?: true;
  readonly text: string;
  /** The job that has changed; `tick`, if the job missed one. */
  readonly job?: string;
  readonly tick?: number;
}
