/** Valid and invalid texts for every option, from the specifications. */
import type { OptionKey, OptionValues } from '../../src/config/options.ts';
import { makeTlsFiles } from './tls-files.ts';

export const FILES = makeTlsFiles();

export interface OptionCases<T> {
  readonly good: readonly (readonly [text: string, value: T])[];
  readonly bad: readonly string[];
}

const wholeNumbers = {
  bad: [
    '12abc',
    'abc',
    '-1',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    '1 000',
    '1_000',
    'NaN',
    'Infinity',
    '9'.repeat(30),
  ],
};
const seconds = {
  bad: ['0', '0.0', '-1', '12abc', '1.', '.5', '1.2345', '1e1', '30s', 'NaN', 'Infinity', '9'.repeat(9)],
};
/** Of whole numbers from one to another. */
const wholes = (from: number, to: number): OptionCases<number> => ({
  good: [from, to].map((number) => [String(number), number]),
  bad: [...wholeNumbers.bad, String(from - 1), String(to + 1)],
});
/** Of seconds from a fraction on. */
const secondsTo = (to: number): OptionCases<number> => ({
  good: [
    ['0.5', 0.5],
    [String(to), to],
  ],
  bad: [...seconds.bad, `${to}.001`],
});
/** Of some words, and of others that are not among them. */
const words = <T extends string>(good: readonly T[], bad: readonly string[]): OptionCases<T> => ({
  good: good.map((word) => [word, word]),
  bad,
});
const files = { bad: [FILES.missing, FILES.folder, FILES.other, 'nul\0byte'] };
const switches: OptionCases<boolean> = {
  good: [
    ['true', true],
    ['TRUE', true],
    ['False', false],
  ],
  bad: ['1', '0', 'yes', 'no', 'on', 'true!', 'true,true'],
};

const exporters: OptionCases<'otlp' | 'none'> = {
  good: [
    ['otlp', 'otlp'],
    ['None', 'none'],
  ],
  bad: ['console', 'zipkin', 'true', 'otlp,console'],
};

const days = secondsTo(2_592_000);
const lengthLimit = wholes(0, 2_147_483_647);
const scheduleDelay = wholes(0, 86_400_000);
const exportTimeout = wholes(1, 86_400_000);
const queueSize: OptionCases<number> = { ...wholes(1, 1_000_000), good: [['600', 600]] };

const metricNames: OptionCases<readonly string[]> = {
  good: [
    ['celery.task.runtime', ['celery.task.runtime']],
    [' celery.task.sent, celery.worker.*,,celery.task.sent', ['celery.task.sent', 'celery.worker.*']],
    ['*', ['*']],
  ],
  bad: [
    'celery.task.snt',
    'celery.queues.*',
    '*.sent',
    'celery.*.sent',
    'celery.task',
    'celery_otel.up',
    'celery.task.sent celery.task.started',
    'toString',
    '__proto__',
    ',',
    '**',
  ],
};

const REDIS = {
  scheme: 'rediss',
  at: { host: 'cache', port: 6379 },
  username: 'me',
  password: 'pa ss',
  db: 3,
  tls: { caFile: undefined, certFile: undefined, keyFile: undefined, verify: true, checkHost: true },
  label: 'rediss://me:***@cache:6379/3',
} as const;

const RABBIT = {
  scheme: 'amqp',
  host: 'rabbit',
  port: 5672,
  username: 'me',
  password: 'pa ss',
  vhost: 'shop',
  heartbeatS: undefined,
  tls: undefined,
  label: 'amqp://me:***@rabbit:5672/shop',
} as const;

const MANAGEMENT = {
  isSecure: true,
  host: 'rabbit',
  port: 15_671,
  prefix: '',
  login: { username: 'me', password: 'pa ss' },
  label: 'https://me:***@rabbit:15671',
} as const;

/** Of all options but `config`: where a file is given, the others are read in another way. */
export const OPTION_CASES: { readonly [K in Exclude<OptionKey, 'config'>]: OptionCases<OptionValues[K]> } = {
  broker_url: {
    good: [
      ['amqp://me:pa%20ss@rabbit/shop', [RABBIT]],
      ['amqp://me:pa%20ss@rabbit/shop;amqp://me:pa%20ss@rabbit/shop', [RABBIT, RABBIT]],
      ['rediss://me:pa%20ss@cache/3', [REDIS]],
      ['rediss://me:pa%20ss@cache/3;', [REDIS]],
      [
        'recording:a.ndjson?speed=2',
        [{ scheme: 'recording', file: 'a.ndjson', speed: 2, label: 'recording:a.ndjson' }],
      ],
    ],
    bad: [
      'rabbit',
      'valkey://rabbit',
      'redis://rabbit/x',
      'amqp://rabbit:99999',
      ';amqp://rabbit',
      'recording:',
    ],
  },
  broker_failover_strategy: words(['round-robin', 'shuffle'], ['Shuffle', 'random', 'round_robin']),
  broker_heartbeat: {
    good: [
      ['0', 0],
      ['30', 30],
      ['65535', 65_535],
      ['120.0', 120],
    ],
    bad: [...wholeNumbers.bad.filter((text) => text !== '1.0'), '0.5', '65536'],
  },
  broker_login_method: words(['PLAIN', 'EXTERNAL'], ['external', 'GSSAPI']),
  broker_password_file: { good: [['/run/secrets/broker', '/run/secrets/broker']], bad: [] },
  broker_connection_timeout: {
    good: [
      ['4.0', 4],
      ['0.001', 0.001],
      ['300', 300],
    ],
    bad: [...seconds.bad, '300.001'],
  },
  event_exchange: {
    good: [
      ['billing.celeryev', 'billing.celeryev'],
      ['é'.repeat(127), 'é'.repeat(127)],
    ],
    bad: ['é'.repeat(128), 'two\nlines', 'a\u0000b'],
  },
  event_queue_prefix: { good: [['billing', 'billing']], bad: ['x'.repeat(201), 'a\tb'] },
  event_queue_bytes_max: wholes(1_048_576, 2 ** 36),
  master_name: {
    good: [
      ['mymaster', 'mymaster'],
      ['the master', 'the master'],
    ],
    bad: ['x'.repeat(256), 'a\nb'],
  },
  sentinel_username: { good: [['watcher', 'watcher']], bad: ['x'.repeat(256), 'a\nb'] },
  // Any text may be a password.
  sentinel_password: { good: [['pa "ss', 'pa "ss']], bad: [] },
  global_keyprefix: { good: [['shop:', 'shop:']], bad: ['x'.repeat(201), 'a\nb'] },
  fanout_prefix: {
    good: [
      ['/{db}.', '/{db}.'],
      ['false', ''],
      ['False', ''],
      ['true', '/{db}.'],
      ['shop.', 'shop.'],
    ],
    bad: ['x'.repeat(201), 'a\nb'],
  },
  fanout_patterns: switches,
  client_name: {
    good: [['monitor-1', 'monitor-1']],
    bad: ['two words', 'x'.repeat(65), 'é', 'a\nb'],
  },
  socket_keepalive: switches,
  health_check_interval: secondsTo(3600),
  socket_timeout: secondsTo(3600),
  control_exchange: { good: [['billing', 'billing']], bad: ['x'.repeat(201), 'a\tb'] },
  task_default_queue: { good: [['default', 'default']], bad: ['x'.repeat(256), 'a\nb'] },
  sep: {
    good: [
      [':', ':'],
      ['\\x06\\x16', '\u0006\u0016'],
      ['\u0006\u0016', '\u0006\u0016'],
      ['a\\xZZ', 'a\\xZZ'],
    ],
    bad: ['x'.repeat(65)],
  },
  priority_steps: {
    good: [
      ['0', [0]],
      ['0,3,6,9', [0, 3, 6, 9]],
      [' 1, 2 ,9', [1, 2, 9]],
      ['0,5,255', [0, 5, 255]],
      ['[0, 5]', [0, 5]],
    ],
    bad: ['[]', '[5, 0]', '[0, [5]]', '0,', '3,0', '0,0', '0,256', '-1', '1.5', 'a', '0;1', ','],
  },
  unacked_key: { good: [['shop.unacked', 'shop.unacked']], bad: ['x'.repeat(201), 'a\tb'] },
  unacked_index_key: { good: [['shop.index', 'shop.index']], bad: ['x'.repeat(201), 'a\nb'] },
  visibility_timeout: secondsTo(946_080_000),
  queues: {
    good: [
      ['mail', ['mail']],
      [' mail, video,,mail,a b', ['mail', 'video', 'a b']],
      ['__proto__', ['__proto__']],
      ['["mail", "a,b"]', ['mail', 'a,b']],
    ],
    bad: [',', 'a\nb', `a,${'x'.repeat(256)}`, "['mail']", '[mail,video]', '["mail",{}]', '[null]', '[]'],
  },
  parked_queues: {
    good: [['*.dlq, failed-?', ['*.dlq', 'failed-?']]],
    bad: [',', 'a\nb', `a,${'x'.repeat(256)}`],
  },
  management_url: {
    good: [
      ['https://me:pa%20ss@rabbit:15671', MANAGEMENT],
      ['HTTPS://me:pa%20ss@rabbit:15671/api/', MANAGEMENT],
      [
        'http://[::1]/rabbit/',
        {
          ...{ isSecure: false, host: '::1', port: 80, prefix: '/rabbit', login: undefined },
          label: 'http://[::1]:80/rabbit',
        },
      ],
      ['https://rabbit', { ...MANAGEMENT, port: 443, login: undefined, label: 'https://rabbit:443' }],
    ],
    bad: [
      'rabbit:15672',
      'amqp://rabbit',
      'ftp://rabbit',
      'http://',
      'http://rabbit:0',
      'http://rabbit:99999',
      'http://me@rabbit:15672',
      'http://:secret@rabbit:15672',
      'http://m%3Ae:secret@rabbit:15672',
      'http://me:se/cret@rabbit:15672',
      'http://me:1/cret@rabbit:15672',
      'http://rabbit:15672/?columns=name',
      'http://rabbit:15672/#/queues',
      'http://rab bit:15672',
      '"http://rabbit:15672"',
    ],
  },
  collection_interval: secondsTo(3600),
  initial_delay: secondsTo(3600),
  timeout: secondsTo(60),
  control_commands: {
    good: [
      ['auto', 'auto'],
      ['stats', ['stats']],
      ['active, stats', ['stats', 'active']],
      ['scheduled,stats,reserved', ['stats', 'reserved', 'scheduled']],
      ['none', []],
      ['["stats", "active"]', ['stats', 'active']],
    ],
    bad: ['[]', "['stats']", ',', 'shutdown', 'stats,none', 'auto,stats', 'stats,'],
  },
  worker_timeout: {
    good: [
      ['7.5', 7.5],
      ['600', 600],
    ],
    bad: [...seconds.bad, '86401'],
  },
  // Not less than the defaults of those that they follow.
  lost_timeout: { ...secondsTo(86_400), good: [['86400', 86_400]] },
  series_retention: { ...days, good: [['2592000', 2_592_000]] },
  tasks_max: wholes(1, 10_000_000),
  reordering_window: secondsTo(3600),
  reordering_events_max: wholes(1, 10_000_000),
  skew_pairs_max: wholes(1, 100_000),
  workers_max: wholes(1, 1_000_000),
  service_name: { good: [['the shop', 'the shop']], bad: ['two\nlines', 'x'.repeat(256)] },
  resource_attributes: {
    good: [
      ['service.name=shop', new Map([['service.name', 'shop']])],
      [
        ' a = b%2C%3D , deployment.environment.name=prod,c=,',
        new Map([
          ['a', 'b,='],
          ['deployment.environment.name', 'prod'],
          ['c', ''],
        ]),
      ],
      ['a=1,a=2', new Map([['a', '2']])],
      ['__proto__=x', new Map([['__proto__', 'x']])],
    ],
    bad: ['shop', 'a=b=c', '=b', 'a=%zz', `a=${'x'.repeat(256)}`, `${'x'.repeat(256)}=a`, 'a=1;b=2,c'],
  },
  // What each protocol makes of it: otlp-endpoint.test.ts.
  otlp_endpoint: {
    good: [
      ['http://localhost:4317', 'http://localhost:4317'],
      ['collector:4317', 'collector:4317'],
    ],
    bad: [
      'http://collector',
      'http://collector:4317/v1/metrics',
      'http://me:secret@collector:4317',
      'ftp://collector:4317',
      'http://coll\nector:4317',
    ],
  },
  otlp_protocol: words(['grpc', 'http/protobuf', 'http/json'], ['GRPC', 'http', 'kafka']),
  otlp_headers: {
    good: [
      ['Api-Key=abc', new Map([['api-key', 'abc']])],
      ['authorization=Basic%20dTpw==', new Map([['authorization', 'Basic dTpw==']])],
      [
        'a=1;ttl=5, b=2,',
        new Map([
          ['a', '1;ttl=5'],
          ['b', '2'],
        ]),
      ],
      ['a=1,A=2', new Map([['a', '2']])],
    ],
    bad: [
      'abc',
      '=abc',
      'a=',
      'a=%',
      'a b=c',
      'a-bin=c',
      'grpc-timeout=1S',
      'a=caf%C3%A9',
      'a=x%0Ay',
      'a=1,b',
      'a;b=1',
    ],
  },
  otlp_insecure: switches,
  otlp_certificate: { good: [[FILES.certificate, FILES.certificate]], bad: [...files.bad, FILES.key] },
  otlp_client_certificate: { good: [[FILES.certificate, FILES.certificate]], bad: [...files.bad, FILES.key] },
  otlp_client_key: {
    good: [[FILES.key, FILES.key]],
    bad: [...files.bad, FILES.certificate, FILES.lockedKey],
  },
  otlp_compression: words(['gzip', 'none'], ['GZIP', 'zstd', 'deflate']),
  otlp_timeout: wholes(1, 86_400_000),
  otlp_temporality_preference: {
    good: [
      ['cumulative', 'cumulative'],
      ['Delta', 'delta'],
      ['LOWMEMORY', 'lowmemory'],
    ],
    bad: ['low_memory', 'both'],
  },
  otlp_default_histogram_aggregation: {
    good: [
      ['explicit_bucket_histogram', 'explicit_bucket_histogram'],
      ['Base2_Exponential_Bucket_Histogram', 'base2_exponential_bucket_histogram'],
    ],
    bad: ['exponential', 'base2'],
  },
  metric_export_interval: wholes(1, 86_400_000),
  metric_export_timeout: { ...exportTimeout, good: [['1', 1]] },
  metrics_exemplar_filter: {
    good: [
      ['trace_based', 'trace_based'],
      ['Always_On', 'always_on'],
      ['always_off', 'always_off'],
    ],
    bad: ['on', 'all', 'with_sampled_trace'],
  },
  traces_exporter: exporters,
  logs_exporter: exporters,
  traces_sampler: {
    good: [
      ['always_off', 'always_off'],
      ['ParentBased_TraceIdRatio', 'parentbased_traceidratio'],
    ],
    bad: ['jaeger_remote', 'parentbased_jaeger_remote', 'xray', 'probability', 'trace_id_ratio_based'],
  },
  traces_sampler_arg: {
    good: [
      ['0', 0],
      ['1', 1],
      ['0.05', 0.05],
      ['1e-3', 0.001],
    ],
    bad: ['-0.1', '1.1', '5%', '.5', '1.', 'NaN', 'Infinity', 'endpoint=http://a,interval=5'],
  },
  traces_keep: {
    good: [
      ['errors,slow', { outcomes: ['failed', 'rejected', 'terminated', 'lost'], slow: true }],
      [' failed, retried,,failed', { outcomes: ['failed', 'retried'], slow: false }],
      ['slow', { outcomes: [], slow: true }],
    ],
    bad: ['fail', 'error', 'Slow', 'failed slow', 'true', '__proto__', 'toString', ','],
  },
  bsp_schedule_delay: scheduleDelay,
  bsp_export_timeout: exportTimeout,
  bsp_max_queue_size: queueSize,
  bsp_max_export_batch_size: queueSize,
  blrp_schedule_delay: scheduleDelay,
  blrp_export_timeout: exportTimeout,
  blrp_max_queue_size: queueSize,
  blrp_max_export_batch_size: queueSize,
  span_attribute_value_length_limit: lengthLimit,
  logrecord_attribute_value_length_limit: lengthLimit,
  traces_spans: words(['all', 'beyond_workers'], ['none', 'ALL', 'beyond-workers']),
  traces_join: switches,
  traces_send_spans: switches,
  traces_slow_after: days,
  traces_max_delay: days,
  traces_max_spans: wholes(1, 1_000_000),
  traces_max_age: days,
  traces_hold: {
    good: [
      ['0', 0],
      ['0.5', 0.5],
      ['86400', 86_400],
    ],
    bad: ['-1', '86401', 'off'],
  },
  task_stale_after: {
    good: [
      ['shop.report=90000', [{ task: 'shop.report', staleAfterS: 90_000, label: 'shop.report=90000' }]],
      [
        'a = 0.5, x=y=7,',
        [
          { task: 'a', staleAfterS: 0.5, label: 'a=0.5' },
          { task: 'x=y', staleAfterS: 7, label: 'x=y=7' },
        ],
      ],
    ],
    bad: ['shop.report', '=5', 'a=0', 'a=-1', 'a=1e3', 'a=31622401', 'a=5,a=6', ',', 'a=5,b'],
  },
  traces_new_trace_for: {
    good: [
      ['shop.backfill.*', ['shop.backfill.*']],
      [' a?, *.b ,,a?', ['a?', '*.b']],
    ],
    bad: [',', 'x'.repeat(256), 'a\u0000b'],
  },
  traces_service_names: {
    good: [
      [
        'task:shop.mail.*=mailer',
        [{ task: 'shop.mail.*', name: 'mailer', label: 'task:shop.mail.*=mailer' }],
      ],
      [
        ' queue: a+b=c+task:d =x y,, worker:w=y=z,',
        [
          { queue: 'a+b=c', task: 'd', name: 'x y', label: 'queue: a+b=c+task:d =x y' },
          { worker: 'w=y', name: 'z', label: 'worker:w=y=z' },
        ],
      ],
      [
        '["worker:__proto__+queue:a=b"]',
        [{ worker: '__proto__', queue: 'a', name: 'b', label: 'worker:__proto__+queue:a=b' }],
      ],
    ],
    bad: [
      ',',
      'mailer',
      '=mailer',
      'task:a=',
      'task:=mailer',
      'queues:a=mailer',
      'a=mailer',
      'task:a+task:b=mailer',
      'task:a+b:c,task:d=mailer',
      'task:a\u0000=b',
      `task:${'x'.repeat(250)}=b`,
      Array.from({ length: 51 }, (_, index) => `queue:${index}=b`).join(),
    ],
  },
  traces_arguments: switches,
  logs_exception_message: switches,
  logs_exception_stacktrace: switches,
  logs_redact: {
    good: [
      ['card \\d{16}', [/card \d{16}/gu]],
      ['a|b\n  [c-d]+\n', [/a|b/gu, /[c-d]+/gu]],
      ['["a|b", "[c-d]+"]', [/a|b/gu, /[c-d]+/gu]],
    ],
    bad: ['(', 'a*', 'a\nb*', '[', '\\p{Nothing}', '|a', '^'],
  },
  logs_redact_names: {
    good: [
      ['licence', ['licence']],
      [' *_handle, Kunden-Schlüssel,,x.y*,*_handle', ['*_handle', 'Kunden-Schlüssel', 'x.y*']],
      ['["licence", "a1"]', ['licence', 'a1']],
      ['x'.repeat(64), ['x'.repeat(64)]],
      ['__proto__', ['__proto__']],
    ],
    bad: [
      ...[',', '*', '**', 'a', '_', '*-*', 'a*b', 'two words', 'a\u0000b', 'a=b', 'a%', '(a+)+', '["a b"]'],
      ...['x'.repeat(65), `*${'x'.repeat(64)}`, `licence,${'x'.repeat(65)}`],
      Array.from({ length: 65 }, (_, index) => `name${index}`).join(),
    ],
  },
  logs_workers: switches,
  log_level: {
    good: [
      ['trace', 'trace'],
      ['INFO', 'info'],
      ['silent', 'silent'],
    ],
    bad: ['warnings', 'loud', '30'],
  },
  enable_events: switches,
  status_address: {
    good: [
      ['9909', { host: '127.0.0.1', port: 9909 }],
      ['0.0.0.0:9909', { host: '0.0.0.0', port: 9909 }],
      ['[::1]:0', { host: '::1', port: 0 }],
      ['localhost:80', { host: 'localhost', port: 80 }],
    ],
    bad: [':9909', 'localhost', '70000', '127.0.0.1:70000', '[localhost]:80', '::1:80', 'http://h:80', '-1'],
  },
  status_token: {
    good: [['S3cret-of-the-status', 'S3cret-of-the-status']],
    bad: ['too-short', 'with a space in between', 'wîth-other-characters', 'x'.repeat(513)],
  },
  status_token_file: {
    good: [[FILES.token, { path: FILES.token, token: 'S3cret-of-the-status' }]],
    bad: [FILES.missing, FILES.folder, FILES.other, FILES.certificate, 'nul\0byte'],
  },
  status_ready: words(['once', 'connected'], ['Once', 'always']),
  status_runs: wholes(0, 1_000_000),
  zero_first: {
    good: [
      ['60', 60],
      ['0', 0],
      ['1.5', 1.5],
      ['off', 'off'],
    ],
    bad: ['-1', 'false', 'never', '86401', '1e3'],
  },
  mark_ended: switches,
  self_telemetry: switches,
  example: words(['several', 'one', 'redis', 'sentinel', 'tls'], ['true', 'Redis', 'sentinels']),
  all: switches,
  schema: switches,
  seconds: secondsTo(3600),
  json: switches,
  interval: secondsTo(86_400),
  once: switches,
  out: { good: [['events.ndjson', 'events.ndjson']], bad: ['a\0b'] },
  force: switches,
  metrics_disabled: metricNames,
  metrics_enabled: metricNames,
  metric_attributes_enabled: {
    good: [
      ['celery.task.prefetch_time/celery.worker.name', ['celery.task.prefetch_time/celery.worker.name']],
      [
        ' celery.task.prefetch_time/celery.worker.name ,,celery.task.prefetch_time/celery.worker.name,',
        ['celery.task.prefetch_time/celery.worker.name'],
      ],
    ],
    bad: [
      // A metric that has it anyway, one that has no attribute to ask for, and halves of what is asked for.
      'celery.task.lost/celery.worker.name',
      'celery.task.wait_time/celery.worker.name',
      'celery.task.prefetch_time',
      'celery.task.prefetch_time/',
      'celery.task.prefetch_time/*',
      '*',
      'celery.worker.name',
      'celery.task.prefetch_time/celery.worker.name celery.task.prefetch_time/celery.worker.name',
      'toString',
      '__proto__',
      ',',
    ],
  },
  format: words(['md', 'json'], ['yaml', 'JSON', 'md,json']),
};
