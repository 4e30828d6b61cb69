// A reporter for `node --test` of Node 18.17 and newer. The tests run in processes of their own.

import { createRequire } from 'node:module';
import path from 'node:path';

const { emit, fileOf, failure } = createRequire(import.meta.url)('./stream.cjs');

const FROM_SETUP = new Set(['hookFailed', 'cancelledByParent']);

// A file is a test itself, whose name is its path. It has a result if it has no tests, or failed
// outside of them; one that passed may have ended itself early.
function isFile(data) {
  if (data.nesting !== 0 || !data.file) return false;
  return path.resolve(data.name) === data.file || data.name === data.file;
}

function causeOf(error) {
  const cause = error && error.cause;
  return cause !== null && typeof cause === 'object' ? cause : error;
}

export default async function* agentbenchReporter(source) {
  emit('start', { tool: 'node' });
  const paths = new Map(); // titles of the tests that run, by their files
  const printed = new Map(); // the errors of files, which they print
  const counts = new Map();
  for await (const { type, data } of source) {
    const name = data && (data.entryFile || data.file);
    if (type === 'test:stderr') {
      const key = fileOf(name);
      printed.set(key, ((printed.get(key) || '') + data.message).slice(0, 20000));
    }
    if (!['test:start', 'test:pass', 'test:fail'].includes(type)) continue;
    const file = fileOf(name);
    const details = data.details || {};
    if (isFile(data)) {
      if (type === 'test:fail') {
        const kind = counts.get(file) ? 'late' : 'error';
        const found = failure(causeOf(details.error));
        yield `✗ ${data.name}\n${printed.get(file) || ''}\n`;
        emit(kind, { file, ...found, text: printed.get(file) || '' });
      }
      continue;
    }
    const titles = (paths.get(file) || []).slice(0, data.nesting);
    titles[data.nesting] = data.name;
    paths.set(file, titles);
    if (type === 'test:start') continue;
    const { error } = details;
    const kind = (error && error.failureType) || '';
    const isFailed = type === 'test:fail';
    if (details.type === 'suite') {
      if (isFailed && kind === 'hookFailed') emit('late', { file, ...failure(causeOf(error)) });
      continue;
    }
    let status = isFailed ? (FROM_SETUP.has(kind) ? 'error' : 'failed') : 'passed';
    if (data.todo !== undefined && data.todo !== false) status = 'todo';
    else if (data.skip !== undefined && data.skip !== false) status = 'skipped';
    counts.set(file, (counts.get(file) || 0) + 1);
    // For people who read the output.
    const mark = { passed: '✓', skipped: '-', todo: '-' }[status] || '✗';
    yield `${'  '.repeat(data.nesting)}${mark} ${data.name}\n`;
    const cause = isFailed ? causeOf(error) : undefined;
    if (cause) yield `${(cause && cause.stack) || cause}\n`;
    emit('test', {
      file,
      titles,
      status,
      ms: details.duration_ms || 0,
      ...failure(cause),
    });
  }
  emit('end', {});
}
