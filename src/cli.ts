import { main } from './commands/main.js';
import { processTerminal } from './commands/terminal.js';

process.exitCode = await main(process.argv.slice(2), processTerminal());
