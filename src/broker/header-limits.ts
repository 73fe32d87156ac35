/** The table of limits on message headers, shown in SECURITY.md. It enforces nothing itself. */

export interface HeaderLimit {
  /** The unit in UCUM, as in the metric catalog. */
  readonly unit: string;
  readonly max: number;
  /** The reason under which a message that exceeds it is counted. */
  readonly reason: string;
  /** What is limited, and why legitimate messages stay below it. */
  readonly meaning: string;
}

export const HEADER_LIMITS = {
  header_depth: {
    unit: '{level}',
    max: 64,
    reason: 'undecodable-headers',
    meaning:
      'Depth of tables and lists in the headers. Celery’s own headers have none; amqplib has no limit.',
  },
  header_values: {
    unit: '{value}',
    max: 1_000,
    reason: 'undecodable-headers',
    meaning: 'Values in all headers of a message together. Celery’s own messages have one or two.',
  },
} as const satisfies Record<string, HeaderLimit>;
