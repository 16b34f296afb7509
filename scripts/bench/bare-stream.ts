import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';

// The least that any program does which understands a stream of manifests: yaml's own parser over every document.
for (const text of readFileSync(process.argv[2] ?? '', 'utf8').split(/^---\n/m)) parseDocument(text);
