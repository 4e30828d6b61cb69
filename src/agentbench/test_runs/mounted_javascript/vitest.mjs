// A reporter for Vitest 1 and newer. It reads the tree of tasks, which all of them have: the newer
// objects of reporters hold it as `task`.

import { createRequire } from 'node:module';

const { emit, fileOf, failure } = createRequire(import.meta.url)('./stream.cjs');

function titlesOf(task) {
  const titles = [];
  // Above the tests of a file is the file, and in version 1 a suite without a name.
  for (let each = task; each && !each.filepath; each = each.suite) {
    if (each.name !== '' || each.suite || each.type !== 'suite') titles.unshift(each.name);
  }
  return titles;
}

function record(task) {
  const result = task.result || {};
  let status = { pass: 'passed', fail: 'failed' }[result.state];
  if (task.mode === 'todo' || result.state === 'todo') status = 'todo';
  else if (!status && (task.mode === 'skip' || result.state === 'skip')) status = 'skipped';
  return {
    file: fileOf(task.file && task.file.filepath),
    project: (task.file && task.file.projectName) || '',
    titles: titlesOf(task),
    status: status || 'unfinished',
    ms: result.duration || 0,
    retries: result.retryCount || 0,
    ...(status === 'failed' ? failure((result.errors || [])[0]) : {}),
  };
}

function errorOf(suite) {
  return ((suite.result && suite.result.errors) || [])[0];
}

// The tests of a file or suite, in the order of their definition.
function writeTests(suite, broken) {
  let count = 0;
  const error = errorOf(suite);
  const leaves = suite.tasks || [];
  // A suite whose set-up failed marks its tests as skipped.
  const ran = leaves.some((task) => hasRun(task));
  const inherited = error && !ran ? error : broken;
  for (const task of leaves) {
    if (task.type === 'suite') {
      count += writeTests(task, inherited);
      continue;
    }
    const found = record(task);
    const failed = inherited && found.status !== 'passed' && found.status !== 'failed';
    emit('test', failed ? { ...found, ...failure(inherited), status: 'error' } : found);
    count += 1;
  }
  if (error && ran) emit('late', { file: fileOf((suite.file || suite).filepath), ...failure(error) });
  return count;
}

function hasRun(task) {
  if (task.type === 'suite') return (task.tasks || []).some(hasRun);
  return Boolean(task.result) && ['pass', 'fail'].includes(task.result.state);
}

export default class AgentbenchReporter {
  written = new Set();
  ended = false;
  isNew = false;
  context = undefined;

  onInit(context) {
    this.context = context;
    emit('start', { tool: 'vitest' });
  }

  // Since 3; before it, `onTaskUpdate` has the results so far.
  onTestRunStart() {
    this.isNew = true;
  }

  onTestCaseReady(test) {
    if (!test.task) return;
    const { file, project, titles } = record(test.task);
    emit('begin', { file, project, titles });
  }

  onTestCaseResult(test) {
    if (test.task) emit('case', record(test.task));
  }

  onTestModuleEnd(module) {
    if (module.task) this.write(module.task);
  }

  onTaskUpdate(packs) {
    const tasks = this.context && this.context.state && this.context.state.idMap;
    for (const [id] of tasks ? packs : []) {
      const task = tasks.get(id);
      if (task && task.type !== 'suite' && task.result && !this.isNew) {
        emit(task.result.state === 'run' ? 'begin' : 'case', record(task));
      }
    }
  }

  write(file) {
    if (this.written.has(file.id)) return;
    this.written.add(file.id);
    const count = writeTests(file, undefined);
    const error = errorOf(file);
    if (count === 0 && error) emit('error', { file: fileOf(file.filepath), ...failure(error) });
    else if (count === 0 && !file.result) {
      emit('error', { file: fileOf(file.filepath), message: 'the tests of this file did not run' });
    }
  }

  finish(files, errors) {
    if (this.ended) return;
    this.ended = true;
    for (const file of files) if (file) this.write(file);
    for (const error of errors || []) {
      const file = error.VITEST_TEST_PATH ? fileOf(error.VITEST_TEST_PATH) : '';
      emit('late', { file, ...failure(error) });
    }
    emit('end', {});
  }

  onTestRunEnd(modules, errors) {
    this.finish(modules.map((module) => module.task), errors);
  }

  onFinished(files, errors) {
    this.finish(files || [], errors);
  }
}
