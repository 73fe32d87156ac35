/**
 * Starts RabbitMQ nodes for tests: each with its own loopback ports and data folder, restartable on the same port with
 * its data kept. It never touches the system's own RabbitMQ service; only `epmd` is shared, and stays.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from './at-exit.ts';
import { type Certificates, makeCertificates } from './certificates.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { runToEnd, type ServerProcess, startServerProcess } from './server-process.ts';

/*
 * Debian's `rabbitmq-server` on the PATH is a wrapper that changes the user with `su`: a signal ends the wrapper and
 * leaves the broker running. The scripts behind it can be executed directly.
 */
const DEBIAN_SCRIPTS = '/usr/lib/rabbitmq/bin';
/** The environment of all its programs. */
const SYSTEM = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
  ERL_EPMD_ADDRESS: '127.0.0.1',
};
const KNOCK_INTERVAL_MS = 100;

export interface RabbitMqOptions {
  /** Also listen with TLS, with a certificate signed by a CA made for this node. */
  readonly tls?: boolean;
  /** How many cores it may use at once; default 1, with which it boots faster than with more on a small machine. */
  readonly schedulers?: number;
  /** With `tls`: clients may log in with a certificate of the same CA (`EXTERNAL`). */
  readonly external?: boolean;
  /** Also serve the management API. */
  readonly management?: boolean;
}

/** A RabbitMQ node; user and password are `guest`. */
export interface RabbitMq {
  /** For Celery: `amqp://guest:guest@127.0.0.1:PORT//`, virtual host `/`. */
  readonly url: string;
  readonly port: number;
  /** `amqps://guest:guest@localhost:PORT//`; undefined without `tls`. */
  readonly tlsUrl: string | undefined;
  /** PEM file of the CA that signed the node's certificate (names: localhost, 127.0.0.1); undefined without `tls`. */
  readonly caFile: string | undefined;
  /** Of the node, which a client may use too; undefined without `tls`. */
  readonly certificates: Certificates | undefined;
  /** `http://127.0.0.1:PORT`, without a login; undefined without `management`. */
  readonly managementUrl: string | undefined;
  /** For other processes that use it. */
  readonly erlang: ErlangNode;
  /** Starts a stopped or killed node on the same ports with the same data; resolves when AMQP works. */
  start(): Promise<void>;
  /** Shuts the node down cleanly; resolves when its process is gone and its port closed. Keeps the data. */
  stop(): Promise<void>;
  /** SIGKILL; resolves when the process is gone and the port closed. Keeps the data. */
  kill(): Promise<void>;
  /** stop(), then start(). */
  restart(): Promise<void>;
  /** Runs `rabbitmqctl` for this node and returns its output (takes a second or two). */
  ctl(...args: string[]): Promise<string>;
  /** Raises its memory alarm, or ends it (much faster than `ctl`, as are those below). */
  setAlarm(isRaised: boolean): Promise<void>;
  /** Of the exchanges and queues of a virtual host. */
  names(vhost: string): Promise<readonly string[]>;
  /** The texts by which the clients of a virtual host describe themselves. */
  connections(vhost: string): Promise<string>;
  /** Creates a user, unless it exists, and sets its permissions in a virtual host, `/` by default. */
  allow(user: string, password: string, permissions: Permissions, vhost?: string): Promise<void>;
  /** Creates a virtual host with all permissions for `guest`; resolves with its URL. */
  addVhost(name: string): Promise<string>;
  /** Stops the node if it runs and removes its folder. Without it the folder goes when the process exits. */
  remove(): Promise<void>;
}

/** What the names of queues and exchanges must match. */
export interface Permissions {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

/** What a process must know to administer a node. */
export interface ErlangNode {
  readonly name: string;
  /** The folder with its cookie. */
  readonly home: string;
}

/** Starts a node and resolves once it answers AMQP (3–5 s). Rejects with the end of its log if it does not. */
export async function startRabbitmq(options: RabbitMqOptions = {}): Promise<RabbitMq> {
  const node = await createRabbitmq(options);
  try {
    await node.start();
    return node;
  } catch (error) {
    await node.remove();
    throw error;
  }
}

/** A node that is not started yet. */
export async function createRabbitmq(options: RabbitMqOptions = {}): Promise<RabbitMq> {
  const ports = {
    amqp: await freePort(),
    dist: await freePort(),
    tls: options.tls === true ? await freePort() : undefined,
    management: options.management === true ? await freePort() : undefined,
  };
  return new Node(ports, options.schedulers ?? 1, options.external === true);
}

interface Ports {
  readonly amqp: number;
  readonly dist: number;
  readonly tls: number | undefined;
  readonly management: number | undefined;
}

class Node implements RabbitMq {
  readonly url: string;
  readonly port: number;
  readonly tlsUrl: string | undefined;
  readonly caFile: string | undefined;
  readonly certificates: Certificates | undefined;
  readonly managementUrl: string | undefined;
  readonly erlang: ErlangNode;
  readonly #folder: string;
  readonly #forgetFolder: () => void;
  readonly #env: NodeJS.ProcessEnv;
  readonly #user: string | undefined;
  #server: ServerProcess | undefined;

  constructor(ports: Ports, schedulers: number, isExternal: boolean) {
    this.port = ports.amqp;
    this.url = `amqp://guest:guest@127.0.0.1:${ports.amqp}//`;
    this.tlsUrl = ports.tls === undefined ? undefined : `amqps://guest:guest@localhost:${ports.tls}//`;
    this.#user = user();
    this.#folder = mkdtempSync(join(tmpdir(), 'celery-otel-rabbitmq-'));
    this.#forgetFolder = atExit(() => this.#removeFolder());
    chmodSync(this.#folder, 0o755);
    const tls = ports.tls === undefined ? undefined : makeCertificates(join(this.#folder, 'tls'));
    this.certificates = tls;
    this.caFile = tls?.caFile;
    writeFileSync(join(this.#folder, 'rabbitmq.conf'), configuration(ports, tls, isExternal));
    this.managementUrl = ports.management === undefined ? undefined : `http://127.0.0.1:${ports.management}`;
    const plugins = [
      ...(isExternal ? ['rabbitmq_auth_mechanism_ssl'] : []),
      ...(ports.management === undefined ? [] : ['rabbitmq_management']),
    ].join(', ');
    writeFileSync(join(this.#folder, 'enabled_plugins'), `[${plugins}].\n`);
    for (const name of ['home', 'mnesia', 'log']) mkdirSync(join(this.#folder, name));
    if (this.#user !== undefined) execFileSync('chown', ['-R', `${this.#user}:`, this.#folder]);
    this.erlang = { name: `celery-otel-${ports.amqp}@localhost`, home: join(this.#folder, 'home') };
    this.#env = environment(this.#folder, ports, schedulers);
  }

  async start(): Promise<void> {
    if (this.#server !== undefined) throw new Error('the RabbitMQ node is already running');
    const server = await startServerProcess({
      command: script('rabbitmq-server'),
      args: [],
      env: this.#env,
      cwd: this.#folder,
      logFile: join(this.#folder, 'console.log'),
      user: this.#user,
    });
    this.#server = server;
    await answersAmqp(this.url, server);
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  ctl(...args: string[]): Promise<string> {
    return ctlAt(this.erlang, args);
  }

  async setAlarm(isRaised: boolean): Promise<void> {
    // The share of the memory of this machine above which it is raised.
    const share = isRaised ? '1.0e-7' : '0.9';
    await evaluateAt(this.erlang, `vm_memory_monitor:set_vm_memory_high_watermark(${share}).`);
  }

  names(vhost: string): Promise<readonly string[]> {
    return namesAt(this.erlang, vhost);
  }

  connections(vhost: string): Promise<string> {
    return connectionsAt(this.erlang, vhost);
  }

  allow(user: string, password: string, permissions: Permissions, vhost = '/'): Promise<void> {
    return allowAt(this.erlang, { user, password, vhost, ...permissions });
  }

  async addVhost(name: string): Promise<string> {
    await addVhostAt(this.erlang, name);
    return this.url.replace(/\/\/$/u, `/${name}`);
  }

  async remove(): Promise<void> {
    await this.stop();
    this.#forgetFolder();
    this.#removeFolder();
  }

  #removeFolder(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await server.end(signal, DEADLINE_MS);
    if (await isPortOpen(this.port)) throw new Error(`port ${this.port} is still open after ${signal}`);
  }
}

/** Runs `rabbitmqctl`, which takes a second or two of a core. A node that has just started takes logins before it takes commands. */
export async function ctlAt({ name, home }: ErlangNode, args: readonly string[]): Promise<string> {
  for (const endMs = performance.now() + DEADLINE_MS; ; await delay(KNOCK_INTERVAL_MS)) {
    try {
      return await runToEnd({
        command: script('rabbitmqctl'),
        args: ['--quiet', ...args],
        env: { ...SYSTEM, HOME: home, RABBITMQ_NODENAME: name },
        user: user(),
        cwd: home,
      });
    } catch (error) {
      if (!/requires the 'rabbit' app to be running/u.test(String(error)) || performance.now() > endMs)
        throw error;
    }
  }
}

/** Creates a virtual host with all permissions for `guest`. */
export async function addVhostAt(node: ErlangNode, name: string): Promise<void> {
  const [vhost, all, by] = [`<<"${name}">>`, '<<".*">>', '<<"tests">>'];
  // Logins work shortly before other operations do.
  await evaluateAt(
    node,
    `ok = rabbit:await_startup(60000), ok = rabbit_vhost:add(${vhost}, ${by}),
    ok = rabbit_auth_backend_internal:set_permissions(<<"guest">>, ${vhost}, ${all}, ${all}, ${all}, ${by}).`,
  );
}

/** The names of the exchanges and queues of a virtual host. */
export async function namesAt(node: ErlangNode, vhost: string): Promise<readonly string[]> {
  const of = (module: string) =>
    `[binary_to_list(element(4, element(2, One))) || One <- ${module}:list(<<"${vhost}">>)]`;
  const text = await evaluateAt(
    node,
    `lists:flatten(lists:join(" ", ${of('rabbit_exchange')} ++ ${of('rabbit_amqqueue')})).`,
  );
  return text.split(' ').filter((name) => name !== '');
}

/** The texts by which the clients of a virtual host describe themselves. */
export function connectionsAt(node: ErlangNode, vhost: string): Promise<string> {
  return evaluateAt(
    node,
    `lists:flatten(lists:join(" ", [binary_to_list(Text) ||
      [{vhost, <<"${vhost}">>}, {client_properties, All}]
        <- rabbit_networking:connection_info_all([vhost, client_properties]),
      {_, longstr, Text} <- All])).`,
  );
}

interface Grant extends Permissions {
  readonly user: string;
  readonly password: string;
  readonly vhost: string;
}

/** Creates a user, unless it exists, and sets its permissions. */
export async function allowAt(node: ErlangNode, grant: Grant): Promise<void> {
  const text = (key: keyof Grant) => `<<${JSON.stringify(grant[key])}>>`;
  const patterns = (['configure', 'write', 'read'] as const).map(text).join(', ');
  await evaluateAt(
    node,
    `catch rabbit_auth_backend_internal:add_user(${text('user')}, ${text('password')}, <<"tests">>),
    ok = rabbit_auth_backend_internal:set_permissions(${text('user')}, ${text('vhost')}, ${patterns}, <<"tests">>).`,
  );
}

/** Removes a virtual host if it is there, and closes its connections. */
export async function removeVhostAt(node: ErlangNode, name: string): Promise<void> {
  const vhost = `<<"${name}">>`;
  await evaluateAt(
    node,
    `false = rabbit_vhost:exists(${vhost}) andalso rabbit_vhost:delete(${vhost}, <<"tests">>) =/= ok.`,
  );
}

let calls = 0;

/** By a small program of Erlang's, in milliseconds. @returns a string as it is, and other terms as they are printed */
async function evaluateAt({ name, home }: ErlangNode, code: string): Promise<string> {
  calls += 1;
  const cookie = readFileSync(join(home, '.erlang.cookie'), 'utf8');
  const answer = await runToEnd({
    command: 'erl_call',
    // A node refuses two at once of the same name, which is that of the user by default.
    args: ['-sname', name, '-h', `test-${process.pid}-${calls}`, '-c', cookie, '-e'],
    env: { ...SYSTEM, HOME: home },
    input: `${code}\n`,
  });
  const value = /^\{ok, "?(.*?)"?\}\s*$/su.exec(answer)?.[1];
  if (value === undefined) throw new Error(`${name} answers ${answer}`);
  return value;
}

/** Opens real AMQP connections until one succeeds: the port opens before logins are accepted. */
async function answersAmqp(url: string, server: ServerProcess): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      const connection = await connect(url.replace(/\/\/$/, '/%2F'), { timeout: DEADLINE_MS });
      await connection.close();
      return;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!server.isRunning())
        throw new Error(`RabbitMQ ended (${await server.exited}):\n${server.logTail()}`);
      if (Date.now() > deadline) throw new Error(`RabbitMQ did not answer: ${reason}\n${server.logTail()}`);
    }
    await Promise.race([delay(KNOCK_INTERVAL_MS), server.exited]);
  }
}

function configuration(ports: Ports, tls: Certificates | undefined, isExternal: boolean): string {
  const lines = [
    `listeners.tcp.1 = 127.0.0.1:${ports.amqp}`,
    'log.console.level = warning',
    'log.file.level = warning',
    // A nearly full disk or a small machine must not block the publishers of a test.
    'disk_free_limit.absolute = 1MB',
    'vm_memory_high_watermark.relative = 0.9',
  ];
  if (ports.management !== undefined)
    lines.push('management.tcp.ip = 127.0.0.1', `management.tcp.port = ${ports.management}`);
  if (ports.tls !== undefined && tls !== undefined) {
    lines.push(
      `listeners.ssl.1 = 127.0.0.1:${ports.tls}`,
      `ssl_options.cacertfile = ${tls.caFile}`,
      `ssl_options.certfile = ${tls.certFile}`,
      `ssl_options.keyfile = ${tls.keyFile}`,
      `ssl_options.verify = ${isExternal ? 'verify_peer' : 'verify_none'}`,
      'ssl_options.fail_if_no_peer_cert = false',
    );
    if (isExternal) {
      lines.push(
        ...['auth_mechanisms.1 = EXTERNAL', 'auth_mechanisms.2 = PLAIN', 'ssl_cert_login_from = common_name'],
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

function environment(folder: string, ports: Ports, schedulers: number): NodeJS.ProcessEnv {
  return {
    ...SYSTEM,
    HOME: join(folder, 'home'),
    RABBITMQ_NODENAME: `celery-otel-${ports.amqp}@localhost`,
    RABBITMQ_DIST_PORT: String(ports.dist),
    RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'rabbitmq-env.conf'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    // Distribution listens on loopback only.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `+S ${schedulers}:${schedulers} -kernel inet_dist_use_interface {127,0,0,1}`,
    // The start script then replaces itself with the Erlang VM, so our child is the broker.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}

function script(name: string): string {
  const debian = join(DEBIAN_SCRIPTS, name);
  return existsSync(debian) ? debian : name;
}

/** RabbitMQ refuses to run as root. */
function user(): string | undefined {
  return process.getuid?.() === 0 ? 'rabbitmq' : undefined;
}
