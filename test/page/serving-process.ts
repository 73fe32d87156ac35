/**
 * Serves the page of a large service to the tests of its costs, in a process of its own: prints its URL, and once its input ends the longest
 * turn of its event loop meanwhile, in ms of a normal machine.
 */
import { once } from 'node:events';
import { longestTurnMs } from '../longest-turn.ts';
import { largeScene } from './scenes.ts';
import { servePage } from './served-page.ts';

const [workers = 1000, tasks = 5000] = process.argv.slice(2).map(Number);
const server = await servePage({ after: () => undefined }, largeScene(workers, tasks));
process.stdout.write(`${server.url}\n`);
const longestMs = await longestTurnMs(() => once(process.stdin.resume(), 'end'));
process.stdout.write(`${longestMs}\n`);
await server.close();
