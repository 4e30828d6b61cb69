'use strict';
// Writes the records of one run, a JSON object a line with a running number `n`. The reporters of
// all tools use it; `test_runs/javascript.py` reads the records.

const fs = require('fs');
const path = require('path');
const { fileURLToPath } = require('url');

// Taken now: code under test may replace them in the process of the reporter.
const { openSync, realpathSync, writeSync } = fs;
const { stringify } = JSON;
const LIMIT = 20000; // characters of a text, half from its start, half from its end
const ANSI = /\x1b\[[0-9;]*[A-Za-z]/g;

const folder = process.env.AGENTBENCH_RESULTS;
const root = process.env.AGENTBENCH_ROOT || process.cwd();
// Later processes, such as those of the tests, do not learn where the records are.
delete process.env.AGENTBENCH_RESULTS;
delete process.env.AGENTBENCH_ROOT;
delete process.env.AGENTBENCH_LIST;

const output = folder ? openSync(path.join(folder, 'stream.jsonl'), 'a') : undefined;
let number = 0;

function emit(kind, fields) {
  if (output === undefined) return;
  try {
    writeSync(output, stringify({ n: number, kind, ...fields }) + '\n');
  } catch {
    return; // closed by code under test: the missing end tells it
  }
  number += 1;
}

function cut(text) {
  const plain = String(text).replace(ANSI, '');
  if (plain.length <= LIMIT) return plain;
  return `${plain.slice(0, LIMIT / 2)}\n[...]\n${plain.slice(-LIMIT / 2)}`;
}

// A file relative to the workspace.
function fileOf(name) {
  if (!name) return '';
  let file = String(name);
  if (file.startsWith('file:')) file = fileURLToPath(file);
  file = path.resolve(file);
  try {
    file = realpathSync(file);
  } catch {
    // a file that a test removed
  }
  return path.relative(root, file).split(path.sep).join('/');
}

// What a record has of an error. `name` is there if the message does not begin with it.
function failure(error) {
  if (error === undefined || error === null) return {};
  if (typeof error !== 'object') return { message: cut(error) };
  const message = error.message === undefined ? error : error.message;
  return { error: cut(error.name || ''), message: cut(message), stack: cut(error.stack || '') };
}

module.exports = { emit, fileOf, failure, cut, root };
