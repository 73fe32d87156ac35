/** Addresses that options apply to, for tests about something else. */
import { OPTIONS, type OptionBroker, type OptionKey, servicePath } from '../../src/config/options.ts';

const ADDRESSES: Readonly<Record<OptionBroker, string>> = {
  any: 'amqp://rabbit',
  amqp: 'amqp://rabbit',
  redis: 'redis://cache',
  sentinel: 'sentinel://guard',
};

export function addressFor(key: OptionKey): string {
  return ADDRESSES[OPTIONS[key].transport ?? 'any'];
}

/** A text that the option accepts: its default, if it has one. */
export function sampleOf(key: OptionKey): string {
  return OPTIONS[key].default ?? (key === 'management_url' ? 'http://x' : 'x');
}

/** Whether the option needs the name of the master beside it. */
export function needsMaster(key: OptionKey): boolean {
  return OPTIONS[key].transport === 'sentinel' && key !== 'master_name';
}

/** An option of a service in a configuration file, on one line, with what it needs beside it. @param yaml its value */
export function optionLine(key: OptionKey, yaml: string): string {
  const [last, ...maps] = servicePath(key).toReversed();
  const line = maps.reduce((inner, outer) => `${outer}: { ${inner} }`, `${last}: ${yaml}`);
  return needsMaster(key) ? line.replace('{ ', '{ master_name: main, ') : line;
}
