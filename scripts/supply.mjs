// Asks the registry for advisories on the pinned packages. Each finding must be answered in SECURITY.md, by the name of its package. Where the
// registry has no advisories to ask for, as many mirrors do not, nothing is known, and that is said.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', shell: process.platform === 'win32' });
const report = parsed(stdout);
if (report?.vulnerabilities === undefined) {
  console.log('npm audit: this registry has no advisories to ask for; nothing is known from here');
} else {
  const security = readFileSync('SECURITY.md', 'utf8');
  const found = Object.values(report.vulnerabilities);
  const open = found.filter(({ name }) => !security.includes(`\`${name}\``));
  for (const { name, severity, range } of open)
    console.log(`× ${name} ${range}: ${severity}; fix the pin, or answer it in SECURITY.md`);
  console.log(`npm audit: ${found.length} findings, ${found.length - open.length} of them answered`);
  if (open.length > 0) process.exitCode = 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
