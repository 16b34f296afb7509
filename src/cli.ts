import { main } from './commands/main.js';
import { processTerminal } from './commands/terminal.js';

process.exitCode = await main(process.argv.slice(2), processTerminal());
// Whatever a server has begun would keep a program alive that has failed to start, or has been told to stop.
if (process.argv[2] === 'serve') process.exit();
