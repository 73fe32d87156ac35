/**
 * Where code may live, as one table: the rooms in the order of the data flow, and what each may import.
 * A breach is a sentence that names where the code belongs. Pure: checks parsed sources, reads nothing.
 */
import { isBuiltin } from 'node:module';
import path from 'node:path';
import type { Import, SourceFile } from './sources.ts';

/** What one folder or file may use besides itself. Paths are relative to `src/`; a folder ends in a slash. */
interface Room {
  readonly path: string;
  /** What belongs there; shown in messages. */
  readonly holds: string;
  /** May be imported as types. */
  readonly types: readonly string[];
  /** May be imported, types included. */
  readonly values: readonly string[];
  /** npm packages; `*` at the end matches anything. */
  readonly packages: readonly string[];
  /** Modules of Node itself, without `node:`. */
  readonly builtins: readonly string[];
  /** Time and randomness are arguments. */
  readonly pure: boolean;
}

/** Node modules without I/O and without a clock. */
const CALCULATING = [
  'assert',
  'assert/strict',
  'buffer',
  'querystring',
  'string_decoder',
  'url',
  'util',
  'zlib',
];
/** Not `events`: one message is one call stack. */
const TIMERS = ['timers', 'timers/promises', 'perf_hooks'];
const FILES = ['fs', 'fs/promises', 'path', 'os', 'stream', 'stream/promises', 'readline'];
const SOCKETS = ['net', 'tls', 'dns', 'dns/promises', 'crypto'];

/** The data flow. A room may only import its left neighbour's types. */
const FLOW = ['broker/', 'celery/', 'cluster/', 'tracer/', 'logger/', 'meter/', 'otlp/'];
const ROOMS_OF_DATA = [...FLOW, 'self/', 'config/', 'timing/'];
/** Imported by all; they import only each other. */
const LEAVES = ['text/', 'self/self-event.ts', 'self/version.ts'];
const NOTHING = { types: [], values: [], packages: [], builtins: CALCULATING, pure: false };
/** What the transports of brokers share. */
const OF_TRANSPORTS = [
  'broker/broker-kind.ts',
  'broker/control/',
  'broker/header-limits.ts',
  'broker/queue-names.ts',
  'broker/server/',
  'broker/session/listening-clock.ts',
  'broker/session/paced-reading.ts',
  'broker/session/session-course.ts',
  'timing/',
];

/** The first row with a matching path decides. */
const ROOMS: readonly Room[] = [
  { ...NOTHING, path: 'text/', holds: 'texts: made safe, compared, bounded, and errors', pure: true },
  {
    ...NOTHING,
    path: 'timing/',
    holds: 'waiting, repeating, and yielding the event loop',
    builtins: TIMERS,
  },
  {
    ...NOTHING,
    path: 'broker/server/',
    holds: 'what brokers on a network have in common: addresses, TLS, and whether they are there',
    builtins: [...CALCULATING, ...FILES, ...SOCKETS],
  },
  {
    ...NOTHING,
    path: 'broker/control/',
    holds: 'what is asked of workers by remote control, over any transport',
    types: ['broker/raw-message.ts'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'broker/amqp/management.ts',
    holds: 'the list of queues by the management API of RabbitMQ, over HTTP',
    types: ['broker/'],
    values: ['broker/queue-names.ts', 'broker/server/'],
    builtins: [...CALCULATING, 'http', 'https'],
  },
  {
    ...NOTHING,
    path: 'broker/amqp/',
    holds: 'sessions on RabbitMQ and others that speak AMQP',
    types: ['broker/'],
    values: OF_TRANSPORTS,
    packages: ['amqplib', 'amqplib/*'],
    builtins: [...CALCULATING, ...TIMERS, ...FILES, ...SOCKETS],
  },
  {
    ...NOTHING,
    path: 'broker/redis/',
    holds: 'sessions on Redis',
    types: ['broker/'],
    values: OF_TRANSPORTS,
    packages: ['ioredis', 'ioredis/built/DataHandler.js'],
    builtins: [...CALCULATING, ...TIMERS, 'crypto', 'fs', 'os', 'worker_threads'],
  },
  {
    ...NOTHING,
    path: 'broker/recording/',
    holds: 'recordings: made, and played',
    types: ['broker/'],
    values: ['broker/broker-kind.ts', 'timing/'],
    builtins: [...CALCULATING, ...TIMERS, ...FILES, 'crypto'],
  },
  {
    ...NOTHING,
    path: 'broker/session/',
    holds: 'one session after another: failover, retries, listened time, polls',
    types: ['broker/'],
    values: [
      'broker/kinds.ts',
      'broker/likely-cause.ts',
      'broker/queue-names.ts',
      'broker/server/',
      'broker/transports.ts',
      'timing/',
    ],
    builtins: [...CALCULATING, ...TIMERS, 'fs', 'stream'],
  },
  {
    ...NOTHING,
    path: 'broker/',
    holds: 'the contract of brokers, their table, and addresses',
    values: ['broker/amqp/', 'broker/control/', 'broker/recording/', 'broker/redis/', 'broker/server/'],
    builtins: [...CALCULATING, ...TIMERS, 'stream'],
  },
  {
    ...NOTHING,
    path: 'celery/',
    holds: 'bytes → facts as Celery sent them',
    types: ['broker/broker.ts'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'cluster/',
    holds: 'facts → what is true of tasks and workers',
    // Answers of a broker are no messages, so nothing decodes them.
    types: [
      'celery/control-reply.ts',
      'celery/event.ts',
      'celery/event-types.ts',
      'broker/broker-reading.ts',
    ],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'logger/',
    holds: 'what happened → log records',
    types: ['celery/event.ts', 'tracer/ancestry/finished.ts', 'cluster/observation.ts', 'tracer/span.ts'],
    builtins: [...CALCULATING, 'crypto'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'tracer/ancestry/',
    holds: 'runs → finished runs, each with its place among those of its task and of its parent',
    types: ['celery/event.ts', 'cluster/'],
    // It follows the places of the task table, bounds memory as the cluster does, and must know which traceparents are valid.
    values: [
      'cluster/measured-bytes.ts',
      'cluster/observation.ts',
      'cluster/tasks/task-key.ts',
      'cluster/window/',
      'tracer/trace-context.ts',
    ],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'tracer/',
    holds: 'finished runs → spans',
    types: ['celery/event.ts', 'cluster/observation.ts'],
    values: ['cluster/measured-bytes.ts'],
    builtins: [...CALCULATING, 'crypto'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'meter/',
    holds: 'what is true → instruments',
    types: ['tracer/ancestry/finished.ts', 'cluster/observation.ts'],
    values: ['timing/'],
    packages: ['@opentelemetry/api'],
  },
  {
    ...NOTHING,
    path: 'otlp/aggregate/',
    holds: 'measurements of one series → its value, and its exemplars',
    types: ['meter/bindable.ts'],
    packages: ['@opentelemetry/sdk-metrics'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'otlp/collect/',
    holds: 'series: which there are, and what of them a backend is owed',
    types: ['otlp/otlp-settings.ts', 'meter/bindable.ts', 'meter/self-readings.ts'],
    values: ['otlp/aggregate/', 'timing/'],
    packages: ['@opentelemetry/api', '@opentelemetry/core', '@opentelemetry/sdk-metrics'],
    builtins: [...CALCULATING, ...TIMERS],
  },
  {
    ...NOTHING,
    path: 'otlp/encode/',
    holds: 'spans, log records and metrics → bytes, or what the SDK and the API have instead',
    types: ['tracer/span.ts', 'logger/log-record.ts', 'otlp/aggregate/reservoir.ts'],
    values: ['tracer/span-attributes.ts'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/otlp-transformer',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
    ],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'otlp/export/',
    holds: 'which requests are sent when, and what becomes of those that fail, of any signal',
    types: ['otlp/send/exporter.ts'],
    builtins: [...CALCULATING, ...TIMERS],
  },
  {
    ...NOTHING,
    path: 'otlp/send/',
    holds: 'the wire: protocols, certificates, answers, of any signal',
    types: ['otlp/otlp-settings.ts'],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/otlp-exporter-base',
      '@grpc/grpc-js',
      'protobufjs/light.js',
    ],
    builtins: [...CALCULATING, ...TIMERS, 'diagnostics_channel', 'fs', 'http', 'https', 'tls'],
  },
  {
    ...NOTHING,
    path: 'otlp/',
    holds: 'instruments, spans and log records → the wire: the SDK, providers, the pipeline',
    types: ['tracer/span.ts', 'logger/log-record.ts'],
    values: ['timing/'],
    packages: ['@opentelemetry/*'],
    builtins: [...CALCULATING, ...TIMERS],
  },
  { ...NOTHING, path: 'self/self-event.ts', holds: 'everything that may happen to the bridge itself' },
  {
    ...NOTHING,
    path: 'self/self-log.ts',
    holds: 'own events → log lines',
    values: ['self/'],
    packages: ['pino', 'pino-pretty'],
    builtins: [...CALCULATING, 'fs', 'stream'],
  },
  {
    ...NOTHING,
    path: 'self/process-readings.ts',
    holds: 'what the process of the bridge takes',
    types: ['meter/self-readings.ts'],
    builtins: [...CALCULATING, 'perf_hooks', 'crypto'],
  },
  {
    ...NOTHING,
    path: 'self/self-diag.ts',
    holds: 'own events → diagnostics of the API',
    values: ['self/'],
    packages: ['@opentelemetry/api'],
  },
  ...['self/log-line.ts', 'self/line.ts', 'self/export-lines.ts', 'self/log-rate.ts'].map((file) => ({
    ...NOTHING,
    path: file,
    holds: 'what the bridge reports about itself, and how',
    values: ['self/'],
    pure: true,
  })),
  { ...NOTHING, path: 'self/', holds: 'what happens to the bridge itself' },
  {
    ...NOTHING,
    path: 'config/',
    holds: 'options: named, read and checked',
    types: [...FLOW, 'self/'],
    values: [
      'broker/broker-url.ts',
      'broker/control/commands.ts',
      'broker/kinds.ts',
      'logger/redact-pattern.ts',
      'logger/telling-names.ts',
      'meter/catalog.ts',
      'meter/metric-choice.ts',
      'otlp/collect/selection.ts',
      'otlp/collect/view.ts',
      'otlp/signal-paths.ts',
      'self/log-level.ts',
    ],
    packages: ['@opentelemetry/configuration', '@opentelemetry/core', 'convict', 'yaml'],
    builtins: [...CALCULATING, 'fs', 'path', 'crypto'],
  },
  {
    ...NOTHING,
    path: 'service/activity/',
    holds: 'what workers, queues and tasks do lately, and the last runs, for people',
    types: ['celery/event.ts', 'cluster/', 'tracer/ancestry/finished.ts'],
    // It keeps ids as the task table does.
    values: ['cluster/tasks/task-key.ts'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'service/service-state.ts',
    holds: 'what is known of a service at a moment',
    types: ['cluster/'],
    values: ['cluster/view-counts.ts', 'service/activity/'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'service/',
    holds: 'one Celery service: wired, polled, asked; its messages handled',
    values: ROOMS_OF_DATA,
    packages: ['@opentelemetry/api'],
    builtins: [...CALCULATING, ...TIMERS],
  },
  {
    ...NOTHING,
    path: 'health/status-server.ts',
    holds: 'the status over HTTP',
    types: ['health/'],
    values: ['config/format/listen-address.ts', 'health/cached.ts', 'health/event-stream.ts'],
    builtins: [...CALCULATING, 'crypto', 'http', 'net', 'perf_hooks'],
  },
  {
    ...NOTHING,
    path: 'health/event-stream.ts',
    holds: 'a document for everybody who listens',
    builtins: [...CALCULATING, ...TIMERS, 'http'],
  },
  {
    ...NOTHING,
    path: 'health/',
    holds: 'symptoms, and whether all is well: for checks, probes and people',
    types: ['broker/', 'cluster/', 'config/', 'self/', 'service/'],
    pure: true,
  },
  ...['check/check.ts', 'check/watch-service.ts', 'check/probe-backend.ts'].map((file) => ({
    ...NOTHING,
    path: file,
    holds: 'what a check looks at, live',
    values: [...ROOMS_OF_DATA, 'check/', 'health/', 'service/'],
    builtins: TIMERS,
  })),
  {
    ...NOTHING,
    path: 'check/',
    holds: 'what a check has seen, what that means, and how it is printed',
    types: ['broker/', 'celery/', 'cluster/', 'service/activity/'],
    // Both must agree on who is a worker, and on what counts as silent or as unconsumed.
    values: ['cluster/workers/worker-map.ts', 'cluster/view-counts.ts', 'health/'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'view/',
    holds: 'columns, rows and facts of the status, for the page and for a terminal',
    types: ['health/', 'service/activity/'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'top/',
    holds: 'the view as lines of a terminal, and what its keys do',
    types: ['health/'],
    values: ['view/'],
    packages: ['string-width'],
    pure: true,
  },
  {
    ...NOTHING,
    path: 'bridge/',
    holds: 'all services: options, destinations, start, ready, stop',
    values: [...ROOMS_OF_DATA, 'service/'],
    packages: ['@opentelemetry/api'],
    builtins: [...CALCULATING, ...TIMERS],
  },
  {
    ...NOTHING,
    path: 'index.ts',
    holds: 'the public names',
    values: [...ROOMS_OF_DATA, 'bridge/', 'service/'],
  },
  {
    ...NOTHING,
    path: 'cli/',
    holds: 'the command: arguments, signals, exit codes, output',
    values: [...ROOMS_OF_DATA, 'bridge/', 'check/', 'health/', 'index.ts', 'service/', 'top/', 'view/'],
    packages: ['@grpc/grpc-js', 'pino', 'pino-pretty'],
    builtins: [...CALCULATING, ...TIMERS, ...FILES, 'process', 'sea', 'tty', 'v8'],
  },
];

/** Forbidden uses of globals, where, and what to do instead. `*` at the end matches any member. */
const BARRED_GLOBALS: readonly {
  readonly names: readonly string[];
  readonly barred: (room: Room) => boolean;
  readonly instead: string;
}[] = [
  {
    names: ['console', 'console.*'],
    barred: (room) => room.path !== 'cli/',
    instead: 'report a self event (self/self-event.ts), or print in cli/',
  },
  {
    // The rest (memoryUsage, hrtime …) reads the process and changes nothing.
    names: ['process'].concat(
      ['exit', 'exitCode', 'abort', 'on', 'once', 'off', 'addListener', 'removeListener', 'stdin', 'stdout']
        .concat(['stderr', 'argv', 'env', 'chdir', 'umask', 'setuid', 'setgid', 'title'])
        .map((member) => `process.${member}`),
    ),
    barred: (room) => room.path !== 'cli/',
    instead:
      'exit codes, signals, output, arguments and the environment belong in cli/, which passes them on',
  },
  {
    // With the signal 0 it only asks whether a process is there: names in Redis are those of processes.
    names: ['process.kill'],
    barred: (room) => room.path !== 'cli/' && room.path !== 'broker/redis/',
    instead: 'signals belong in cli/',
  },
  {
    names: ['Date.now', 'Date()', 'performance', 'performance.*', 'process.*'],
    barred: (room) => room.pure,
    instead: 'take the time as an argument (nowMs)',
  },
  {
    names: ['Math.random', 'crypto', 'crypto.*'],
    barred: (room) => room.pure,
    instead: 'take a source of random numbers as an argument',
  },
  {
    names: ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'],
    barred: (room) => room.pure,
    instead: 'return what is due; whoever calls waits (broker/, otlp/, service/)',
  },
  {
    names: ['fetch', 'WebSocket', 'EventSource'],
    // Only the status of another celery-otel is fetched.
    barred: (room) => room.path !== 'cli/',
    instead: 'input comes through broker/, output leaves through otlp/',
  },
  {
    names: ['globalThis', 'globalThis.*', 'global', 'global.*', 'require', 'require.*', 'eval'],
    barred: () => true,
    instead: 'import what you need by name, so that this check can see it',
  },
];

const matches = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) =>
    /[*]$/.test(pattern) ? name.startsWith(pattern.slice(0, -1)) : pattern === name,
  );

const within = (places: readonly string[], file: string): boolean =>
  places.some((place) => (place.endsWith('/') ? file.startsWith(place) : place === file));

const roomOf = (file: string): Room | undefined => ROOMS.find((room) => within([room.path], file));

/** "broker/ (sockets …) or cli/ (…)": the rooms for which `may` holds. */
function homes(may: (room: Room) => boolean): string {
  const rooms = ROOMS.filter(may).map((room) => `${room.path} (${room.holds})`);
  return rooms.length === 0 ? 'no room yet: choose one and add it to its row' : rooms.join(' or ');
}

/** Why `room` may not import the file, or undefined if it may. */
function fileBreach(room: Room, target: string, { typeOnly }: Import): string | undefined {
  if (within([room.path, ...LEAVES, ...room.values], target)) return undefined;
  const owner = roomOf(target);
  if (owner === undefined) return `src/${target} is in no room: there is no row for it.`;
  if (within(room.types, target)) {
    if (typeOnly) return undefined;
    return `${room.path} may only import types of it (import type). Code that runs belongs in ${owner.path} (${owner.holds}) or, where rooms are wired, in service/.`;
  }
  if (owner.path === 'cli/')
    return `Nobody imports cli/ (${owner.holds}). What others need of it belongs in the room that needs it.`;
  const neighbours = [...room.types, ...room.values];
  const wiring = 'code that wires rooms belongs in service/ (one service) or bridge/ (all of them).';
  const from = FLOW.indexOf(room.path);
  if (from >= 0 && FLOW.indexOf(owner.path) > from) {
    return `Data flows ${FLOW.join(' → ')}: ${room.path} (${room.holds}) never knows ${owner.path} (${owner.holds}), which reads what ${room.path} returns; ${wiring}`;
  }
  const through = neighbours.length === 0 ? 'nobody' : neighbours.join(', ');
  return `${room.path} (${room.holds}) may know ${through}. What only ${owner.path} (${owner.holds}) knows travels as a field of what its right neighbour receives; ${wiring}`;
}

function importBreach(room: Room, file: string, found: Import): string | undefined {
  const { specifier } = found;
  if (specifier.startsWith('.'))
    return fileBreach(room, path.posix.join(path.posix.dirname(file), specifier), found);
  if (isBuiltin(specifier)) {
    const name = specifier.replace(/^node:/, '');
    if (room.builtins.includes(name)) return undefined;
    return `${room.path} is for ${room.holds}. Code that needs it belongs in ${homes((home) => home.builtins.includes(name))}.`;
  }
  if (matches(room.packages, specifier)) return undefined;
  return `${room.path} is for ${room.holds}. Code that needs it belongs in ${homes((home) => matches(home.packages, specifier))}.`;
}

/** Every breach of the table, as `file:line, what: where it belongs`. */
export function findBreaches(sources: readonly SourceFile[]): readonly string[] {
  return sources.flatMap((source) => {
    const room = roomOf(source.path);
    if (room === undefined) {
      return [`src/${source.path} is in no room. Put it into the one it belongs to: ${homes(() => true)}.`];
    }
    const imports = source.imports.flatMap((found) => {
      const breach = importBreach(room, source.path, found);
      return breach === undefined
        ? []
        : [`src/${source.path}:${found.line} imports ${found.specifier}: ${breach}`];
    });
    const globals = source.globals.flatMap(({ name, line }) => {
      const rule = BARRED_GLOBALS.find(({ names, barred }) => barred(room) && matches(names, name));
      return rule === undefined
        ? []
        : [`src/${source.path}:${line} uses ${name} in ${room.path}: ${rule.instead}.`];
    });
    return [...imports, ...globals];
  });
}

/** Every cycle of imports, types included: `a.ts → b.ts → a.ts`. Each is found once, from its first file. */
export function findCycles(sources: readonly SourceFile[]): readonly string[] {
  const targets = new Map(
    sources.map(({ path: file, imports }) => [
      file,
      imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => path.posix.join(path.posix.dirname(file), specifier)),
    ]),
  );
  const cycles: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const begin = trail.indexOf(file);
    if (begin >= 0) cycles.push([...trail.slice(begin), file].join(' → '));
    if (begin >= 0 || finished.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...trail, file]);
    finished.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return cycles;
}
