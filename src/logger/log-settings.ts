/** The settings of log records, already validated. Types only. */

export interface LogSettings {
  /** Whether records have the message of the exception. */
  readonly exceptionMessage: boolean;
  readonly exceptionStacktrace: boolean;
  /** What is replaced by `***` in addition to the defaults. */
  readonly redact: readonly RegExp[];
  /** Whether workers that come and go are logged. */
  readonly workers: boolean;
  /** OpenTelemetry severity number, 1 to 24; lower ones are not made. */
  readonly minimumSeverity: number;
  /** Whether records of spans that are not sampled are left out; those of no span stay. */
  readonly traceBased: boolean;
  /** Longest text of an attribute, in characters; undefined: no limit beyond those of decoding. */
  readonly attributeValueLengthMax: number | undefined;
}
