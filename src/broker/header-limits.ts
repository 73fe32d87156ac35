/** The table of limits on the headers of a message. It limits nothing itself; SECURITY.md shows it. */

export interface HeaderLimit {
  /** As UCUM writes it, as in the catalog of metrics. */
  readonly unit: string;
  readonly max: number;
  /** Under which reason a message beyond it is counted as not read. */
  readonly reason: string;
  /** What is limited, and why nothing honest is beyond it. */
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
