/** JSON texts of the shapes that cost a parser the most, of any size. Celery sends none of them. */

/** Items up to a size and a number of tokens. */
interface Room {
  readonly bytes: number;
  readonly tokens: number;
}

type Shape = (room: Room) => string;

/** As many items as there is room for. */
function filled(item: (index: number) => string, tokensEach: number, open: string, close: string): Shape {
  return ({ bytes, tokens }) => {
    const parts: string[] = [];
    let [bytesLeft, tokensLeft] = [bytes - open.length - close.length, tokens - 2];
    for (let index = 0; ; index += 1) {
      const part = item(index);
      bytesLeft -= Buffer.byteLength(part);
      tokensLeft -= tokensEach;
      if (bytesLeft < 0 || tokensLeft < 0) return `${open}${parts.join('')}${close}`;
      parts.push(part);
    }
  };
}

/** One text that fills all of it. */
function text(unit: string, open: string, close: string): Shape {
  return ({ bytes }) =>
    `${open}${unit.repeat(Math.floor((bytes - Buffer.byteLength(open + close)) / Buffer.byteLength(unit)))}${close}`;
}

const failed = (field: string) =>
  `{"type":"task-failed","hostname":"w1@vm","timestamp":1795260275.4,"uuid":"u","exception":"ExceptionWithTraceback(","${field}":"`;
const id = (index: number) => index.toString(36);

export const JSON_SHAPES: Readonly<Record<string, Shape>> = {
  'lists, all open': ({ bytes }) => '['.repeat(bytes),
  'lists within lists': ({ bytes }) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'objects within objects': ({ bytes }) =>
    `${'{"":'.repeat(Math.floor(bytes / 5) - 1)}1${'}'.repeat(Math.floor(bytes / 5) - 1)}`,
  'lists thirty deep': filled(() => `${'['.repeat(30)}${']'.repeat(30)},`, 31, '[', '1]'),
  'empty objects': filled(() => '{},', 2, '[', '{}]'),
  'objects of a name each': filled((index) => `{"${id(index)}":1},`, 3, '[', '1]'),
  'objects of a long name each': filled((index) => `{"${id(index).padEnd(350, 'k')}":1},`, 3, '[', '1]'),
  'objects with a prototype each': filled((index) => `{"__proto__":{"${id(index)}":1}},`, 5, '[', '1]'),
  'an object of many names': filled((index) => `"${id(index)}":1,`, 2, '{', '"z":1}'),
  'an object of long names': filled((index) => `"${id(index).padEnd(240, 'k')}":1,`, 2, '{', '"z":1}'),
  'an object of the longest names': filled(
    (index) => `"${id(index).padEnd(2040, 'k')}":1,`,
    2,
    '{',
    '"z":1}',
  ),
  'an object of names that V8 does not hash': filled(
    (index) => `"${id(index).padEnd(16_384, 'k')}":1,`,
    2,
    '{',
    '"z":1}',
  ),
  'an object of numbers as names': filled(
    (index) => `"${(index * 3_872_973) % 4_294_967_291}":1,`,
    2,
    '{',
    '"z":1}',
  ),
  'texts of their own': filled((index) => `"${id(index).padEnd(120, 's')}",`, 1, '[', '1]'),
  'not numbers': filled(() => 'NaN,', 1, '[', 'NaN]'),
  'lists of not a number each': filled(() => '[NaN],', 2, '[', '[NaN]]'),
  'long numbers': filled((index) => `1.${String(index).padEnd(110, '7')}e-310,`, 1, '[', '1]'),
  // Halfway between two of the smallest numbers there are, as far as seven hundred digits can tell.
  'numbers between two': filled(
    (index) => `2.4703282292062327208299149943123${'0'.repeat(700)}${index}e-324,`,
    1,
    '[',
    '1]',
  ),
  'numbers between two, and a text': ({ bytes }) => {
    const numbers = `2.4703282292062327208299149943123${'0'.repeat(700)}e-324,`.repeat(
      Math.min(200, bytes / 2_000),
    );
    return text('一', `[${numbers}"`, '"]')({ bytes, tokens: 0 });
  },
  'a number of all digits': text('7', '[', ']'),
  'numbers that are none': filled((index) => `{"${id(index)}":1},`, 3, '[', 'NaN]'),
  'minus signs and a NaN': text('-', '[', ',NaN]'),
  'a text': text('x', '{"a":"', '"}'),
  'a text that is not ASCII': text('一', '{"a":"', '"}'),
  'a text of which one character is not': text('x', '{"a":"一', '"}'),
  'a text that is not ASCII and never ends': text('一', '{"a":"', ''),
  'a text of characters and escapes': text('一\\n', '{"a":"', '"}'),
  'a text of characters in two halves': text('\\ud83d\\ude00', '{"a":"', '"}'),
  'a text of escapes': text('\\u4e00', '{"a":"', '"}'),
  'a text and a NaN': text('\\n', '{"a":NaN,"b":"', '"}'),
  'a long name': text('k', '{"', '":1}'),
  'a type of megabytes': text('x', '{"type":"', '"}'),
  spaces: text(' ', '[', ']'),
  'a traceback of short lines': text(' \\n', failed('traceback'), '"}'),
  'a traceback of short lines that is not ASCII': text(' \\n', `${failed('traceback')}一`, '"}'),
  'a traceback of lines that are not ASCII': text('一\\n', failed('traceback'), '"}'),
  'a traceback of a group': text('  |  \\n', failed('traceback'), '"}'),
  'a traceback of many chained': text(
    '\\n\\nDuring handling of the above exception, another exception occurred:\\n\\n',
    failed('traceback'),
    '"}',
  ),
  'events with long classes': ({ bytes }) => {
    const event = `${failed('traceback')}${'a.'.repeat(500)}-"}`.replace(
      'ExceptionWithTraceback(',
      'a.'.repeat(500),
    );
    return `[${Array.from({ length: Math.min(1_000, Math.floor(bytes / (event.length + 1))) }, () => event).join(',')}]`;
  },
  'failures with classes of letters that are looked up': ({ bytes }) => {
    const path = '𐐀.'.repeat(85);
    const event = `${failed('traceback')}${path}"}`.replace('ExceptionWithTraceback(', path);
    const room = Math.floor(bytes / (Buffer.byteLength(event) + 1));
    return `[${Array.from({ length: Math.min(250, room) }, () => event).join(',')}]`;
  },
  'a list of rejections': filled(() => '1,', 1, '[', '1]'),
};
