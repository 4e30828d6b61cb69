'use strict';
// A reporter for Jest 26 and newer.

const list = Boolean(process.env.AGENTBENCH_LIST);
const { emit, fileOf, cut, failure } = require('./stream.cjs');

// In the process of the tests, they see the arguments of Jest: without agentbench's own.
const own = process.argv.findIndex((each) => each.endsWith(__filename));
if (own > 0) process.argv.splice(own);

const titlesOf = (result) => [...result.ancestorTitles, result.title];
const OUTCOMES = { pending: 'skipped', disabled: 'skipped', focused: 'skipped' };

function record(result) {
  const text = (result.failureMessages || []).join('\n\n');
  return {
    titles: titlesOf(result),
    status: OUTCOMES[result.status] || result.status,
    ms: result.duration || 0,
    stack: cut(text),
    retries: (result.retryReasons || []).length,
  };
}

module.exports = class AgentbenchReporter {
  constructor() {
    this.seen = new WeakSet(); // Jest 26 calls the older method as well
  }

  onRunStart() {
    emit('start', { tool: 'jest' });
  }

  onTestCaseStart(test, info) {
    emit('begin', { file: fileOf(test.path), titles: titlesOf(info) });
  }

  // Not called for skipped tests, and once for every try of a repeated one.
  onTestCaseResult(test, result) {
    emit('case', { file: fileOf(test.path), ...record(result) });
  }

  onTestFileResult(test, results) {
    if (this.seen.has(results)) return;
    this.seen.add(results);
    const file = fileOf(test.path);
    const project = test.context && test.context.config && test.context.config.displayName;
    for (const result of results.testResults) {
      emit('test', { file, project: (project && project.name) || '', ...record(result) });
    }
    const error = results.testExecError;
    if (error) {
      const kind = results.testResults.length > 0 ? 'late' : 'error';
      emit(kind, { file, ...failure(error), text: cut(results.failureMessage || '') });
    }
  }

  onTestResult(test, results) {
    this.onTestFileResult(test, results);
  }

  onRunComplete() {
    emit('end', { list });
  }
};
