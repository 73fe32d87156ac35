/** The settings of log records, already validated. Types only. */

export interface LogSettings {
  /** Whether records contain the message of the exception. */
  readonly exceptionMessage: boolean;
  readonly exceptionStacktrace: boolean;
  /** Patterns of texts that are replaced by `***`, in addition to the built-in ones. */
  readonly redact: readonly RegExp[];
  /** Words in the names of further secrets; `*` at their ends stands for further letters. */
  readonly redactNames: readonly string[];
  /** Whether workers that come and go are logged. */
  readonly workers: boolean;
  /** OpenTelemetry severity number, 1 to 24; records of a lower severity are not made. */
  readonly minimumSeverity: number;
  /** Whether to drop records whose span is not sampled; records without a span are kept. */
  readonly traceBased: boolean;
  /** Longest attribute value that is a string, in characters; undefined: no limit besides those of decoding. */
  readonly attributeValueLengthMax: number | undefined;
}
