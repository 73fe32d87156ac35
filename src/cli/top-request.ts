/** Parses the arguments of `celery-otel top`: what to show, and how; or lists all mistakes. It opens nothing. */
import type { Config } from '../config/config.ts';
import { readFlags } from '../config/flags.ts';
import { resolveConfig } from '../config/load-config.ts';
import type { Mistake } from '../config/mistake.ts';
import { flagOf, OPTIONS, optionRows } from '../config/options.ts';
import { checkOptions, findGiven, type OptionSources } from '../config/read-options.ts';

export interface TopRequest {
  readonly ok: true;
  /** The address of a running instance, or services to listen to in this process. */
  readonly from:
    | { readonly kind: 'address'; readonly address: URL }
    | { readonly kind: 'services'; readonly services: Config['services'] };
  readonly intervalMs: number;
  readonly isOnce: boolean;
  readonly warnings: readonly string[];
}

export type TopMistakes = { readonly ok: false; readonly mistakes: readonly Mistake[] };

const COMMAND = 'top';
const RECORDING = 'recording:';
const EXPECTED = 'http://HOST:PORT of a running celery-otel, or recording:FILE; or flags only';

export function readTopRequest(argv: readonly string[], env: OptionSources['env']): TopRequest | TopMistakes {
  const [first = '', ...others] = argv;
  if (first.startsWith('-') || first === '') return ofServices(argv, env);
  if (first.startsWith(RECORDING))
    return ofServices([flagOf('broker_url'), first, ...others], { OTEL_SERVICE_NAME: 'recording', ...env });
  const address = isAddress(first) ? new URL(first) : undefined;
  // The text is not printed, because it may be part of a secret.
  if (address === undefined)
    return {
      ok: false,
      mistakes: [{ path: 'command line', source: 'the first argument', expected: EXPECTED }],
    };
  return ofAddress(address, others, env);
}

/** Whether the text is the address of a running instance. */
export function isAddress(text: string): boolean {
  return /^https?:\/\//iu.test(text) && URL.canParse(text);
}

function ofServices(argv: readonly string[], env: OptionSources['env']): TopRequest | TopMistakes {
  const resolved = resolveConfig(COMMAND, { argv, env, refuseUnknown: true });
  if (!resolved.ok) return resolved;
  const { options, config, warnings } = resolved;
  return {
    ok: true,
    from: { kind: 'services', services: config.services },
    intervalMs: options.need('interval') * 1000,
    isOnce: options.need('once'),
    warnings,
  };
}

/** Reads the options with an address, where only the options of this command have an effect. */
function ofAddress(
  address: URL,
  argv: readonly string[],
  env: OptionSources['env'],
): TopRequest | TopMistakes {
  const flags = readFlags(argv, COMMAND);
  const rows = optionRows(COMMAND).filter(([, { scope }]) => scope === 'command');
  const refused = [...flags.given.keys()]
    .filter((key) => OPTIONS[key].scope !== 'command')
    .map((key) => ({ path: key, source: flagOf(key), expected: 'no such flag with an address' }));
  const mistakes: Mistake[] = [...flags.mistakes, ...refused];
  const options = checkOptions({ rows, given: findGiven(rows, flags.given, env), mistakes });
  if (mistakes.length > 0) return { ok: false, mistakes };
  return {
    ok: true,
    from: { kind: 'address', address },
    intervalMs: options.need('interval') * 1000,
    isOnce: options.need('once'),
    warnings: [],
  };
}
