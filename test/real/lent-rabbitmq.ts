/**
 * One RabbitMQ for all test files of a run, since starting one takes several seconds of a core. Each test has virtual hosts
 * of its own. Tests that stop RabbitMQ, raise its alarms or look at all that it has must start one of their own.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { DEADLINE_MS } from '../deadline.ts';
import {
  addVhostAt,
  allowAt,
  connectionsAt,
  createRabbitmq,
  ctlAt,
  type ErlangNode,
  namesAt,
  type Permissions,
  type RabbitMq,
  removeVhostAt,
  startRabbitmq,
} from './rabbitmq.ts';

/** For the processes of test files: the node, as JSON. */
const VARIABLE = 'TEST_RABBITMQ';
const KNOCK_INTERVAL_MS = 100;

interface Lent extends Pick<RabbitMq, 'tlsUrl' | 'caFile'> {
  readonly port: number;
  readonly erlang: ErlangNode;
}

/** What a test may do with it. */
export interface Vhosts extends Pick<RabbitMq, 'tlsUrl' | 'caFile'> {
  /** Of a virtual host of its own; user and password are `guest`. */
  readonly url: string;
  readonly port: number;
  /** Creates a user, unless it exists, and sets its permissions in a virtual host. */
  allow(user: string, password: string, permissions: Permissions, vhost: string): Promise<void>;
  /** Creates another one; resolves with its URL. */
  addVhost(name: string): Promise<string>;
  /** Of the exchanges and queues of a virtual host. */
  names(vhost: string): Promise<readonly string[]>;
  /** The texts by which the clients of a virtual host describe themselves. */
  connections(vhost: string): Promise<string>;
  /** Runs `rabbitmqctl` for the whole node: name the virtual host. */
  ctl(...args: string[]): Promise<string>;
  /** Removes them. */
  remove(): Promise<void>;
}

/** Starts a node for the processes that are started from now on; it need not have started when they are. */
export async function lendRabbitmq(): Promise<{
  readonly started: Promise<void>;
  remove(): Promise<void>;
}> {
  const node = await createRabbitmq({ schedulers: 2, tls: true });
  const { port, erlang, tlsUrl, caFile } = node;
  process.env[VARIABLE] = JSON.stringify({ port, erlang, tlsUrl, caFile } satisfies Lent);
  return { started: node.start(), remove: () => node.remove() };
}

/** The name of the virtual host in a URL. */
export function vhostOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1));
}

let borrowed = 0;

/** Virtual hosts on the node that was lent to this process; without one, on a node of its own. */
export async function borrowRabbitmq(): Promise<Vhosts> {
  const text = process.env[VARIABLE];
  if (text === undefined) return await startRabbitmq({ tls: true });
  const { port, erlang, tlsUrl, caFile }: Lent = JSON.parse(text);
  await answers(port);
  borrowed += 1;
  const prefix = `${process.pid}-${borrowed}`;
  const added: string[] = [];
  const addVhost = async (name: string): Promise<string> => {
    const vhost = `${prefix}-${name}`;
    await addVhostAt(erlang, vhost);
    added.push(vhost);
    return `amqp://guest:guest@127.0.0.1:${port}/${vhost}`;
  };
  return {
    url: await addVhost('first'),
    ...{ port, tlsUrl, caFile },
    addVhost,
    allow: (user, password, permissions, vhost) => allowAt(erlang, { user, password, vhost, ...permissions }),
    names: (vhost) => namesAt(erlang, vhost),
    connections: (vhost) => connectionsAt(erlang, vhost),
    ctl: (...args) => ctlAt(erlang, args),
    async remove() {
      for (const vhost of added.splice(0)) await removeVhostAt(erlang, vhost);
    },
  };
}

async function answers(port: number): Promise<void> {
  const endMs = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      const connection = await connect(`amqp://guest:guest@127.0.0.1:${port}/%2F`);
      await connection.close();
      return;
    } catch (cause) {
      if (performance.now() > endMs) throw new Error('the lent RabbitMQ does not answer', { cause });
    }
    await delay(KNOCK_INTERVAL_MS);
  }
}
