/** The format of the option with the remote control commands that poll workers. It sends none. */
import { INSPECT_COMMANDS, type InspectChoice } from '../../broker/control/commands.ts';
import { type Format, format, itemsOf } from './formats.ts';

const AUTO = 'auto';
const NONE = 'none';

export const inspectCommands: Format<InspectChoice> = format<InspectChoice>(
  `${AUTO}, ${INSPECT_COMMANDS.join(', ')}, separated by commas, or ${NONE}`,
  (text) => {
    const items = itemsOf(text);
    if (items.length === 1 && items[0] === AUTO) return { ok: true, value: AUTO };
    if (items.length === 1 && items[0] === NONE) return { ok: true, value: [] };
    const hasOnlyCommands =
      items.length > 0 && items.every((item) => INSPECT_COMMANDS.some((command) => command === item));
    const value = INSPECT_COMMANDS.filter((command) => items.includes(command));
    return hasOnlyCommands ? { ok: true, value } : undefined;
  },
  { list: { separator: ',', items: { type: 'string', enum: [AUTO, ...INSPECT_COMMANDS, NONE] } } },
);
