'use strict';
// A reporter for Mocha 8 and newer, in the process of the tests.

const list = Boolean(process.env.AGENTBENCH_LIST);
const { emit, fileOf, failure, root } = require('./stream.cjs');

// Files that cannot be loaded end Mocha before it makes a reporter.
emit('load', { tool: 'mocha', root });

const own = process.argv.findIndex((each) => each.endsWith(__filename));
if (own > 0) process.argv.splice(own);

const { log } = console;

// A repeated test is a copy, which older versions do not put into the tree.
const first = (test) => (test.retriedTest && test.retriedTest()) || test;
const indented = (test, text) => '  '.repeat(test.titlePath().length) + text;

module.exports = class AgentbenchReporter {
  constructor(runner) {
    this.results = new Map(); // of tests, by the objects of the tree
    this.late = []; // tests that came into the tree while it ran
    this.hooks = new Map(); // failures of hooks, by their suites
    this.known = new Set();
    this.tree = runner.suite;
    runner.once('start', () => this.start());
    runner.on('test', (test) => emit('begin', this.place(test)));
    runner.on('pass', (test) => this.add(test, 'passed'));
    runner.on('pending', (test) => this.add(test, 'skipped'));
    runner.on('fail', (test, error) => this.fail(test, error));
    runner.once('end', () => this.end(runner.stats));
  }

  place(test) {
    return { file: fileOf(test.file || (test.parent && test.parent.file)), titles: test.titlePath() };
  }

  start() {
    emit('start', { tool: 'mocha' });
    if (!list) return;
    this.tree.eachTest((test) => emit('test', { ...this.place(test), status: 'skipped' }));
    emit('end', { list });
    process.exit(0); // a dry run is in newer versions only
  }

  add(test, status, error) {
    const known = this.results.get(first(test));
    if (known && known.status === 'failed') return; // a test may call `done` twice
    const found = {
      ...this.place(test),
      status,
      ms: test.duration || 0,
      retries: test.currentRetry ? Math.max(test.currentRetry(), 0) : 0,
      ...failure(error),
    };
    this.results.set(first(test), found);
    emit('case', found);
    const mark = { passed: '✓', failed: '✗', skipped: '-' }[status];
    log(indented(test, `${mark} ${test.title}`));
    if (error) log(indented(test, `  ${(error && error.stack) || error}`));
  }

  fail(test, error) {
    if (test.type === 'hook') {
      const current = test.ctx && test.ctx.currentTest;
      const isEach = / each" hook/.test(test.title);
      this.hooks.set(test.parent, { ...failure(error), hook: test.title });
      if (isEach && current) {
        this.results.set(first(current), {
          ...this.place(current),
          ...failure(error),
          status: 'error',
        });
      }
      log(`${test.titlePath().join(' ')}\n  ${(error && error.stack) || error}`);
    } else if (test.type === 'test') {
      this.add(test, 'failed', error);
    } else {
      emit('late', { file: '', ...failure(error) }); // outside of all tests
      log((error && error.stack) || error);
    }
  }

  // The tests of a suite, in the order of their definition.
  write(suite, broken) {
    const hook = this.hooks.get(suite);
    const isAfter = Boolean(hook) && hook.hook.startsWith('"after all"');
    const inherited = hook && !isAfter ? hook : broken;
    for (const test of suite.tests) {
      const found = this.results.get(first(test));
      if (found) emit('test', found);
      else if (inherited) emit('test', { ...this.place(test), ...inherited, status: 'error' });
      // Others were not selected, or a failure ended the run before them.
    }
    for (const each of suite.suites) this.write(each, inherited);
    if (isAfter) emit('late', { file: fileOf(suite.file || this.fileIn(suite)), ...hook });
  }

  fileIn(suite) {
    let file = '';
    suite.eachTest((test) => {
      file = test.file || file;
    });
    return file;
  }

  end(stats) {
    this.write(this.tree, undefined);
    emit('end', {});
    const { passes, failures, pending } = stats || {};
    log(`\n${passes} passing, ${failures} failing, ${pending} pending`);
  }
};
