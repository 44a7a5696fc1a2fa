// SPDX-License-Identifier: Apache-2.0
'use strict';

const assert = require('assert');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { table } = require('./index.js');

assert.strictEqual(table('a,b\n1,2\n'), '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>');
assert.strictEqual(table('x<y\n'), '<table><tr><th>x&lt;y</th></tr></table>');

// What a build does with it: into a file and back.
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'table-'));
fs.writeFileSync(path.join(dir, 't.html'), table('a\n1\n'));
assert.ok(fs.readFileSync(path.join(dir, 't.html'), 'utf8').includes('<td>1</td>'));
fs.rmSync(dir, { recursive: true });
console.log('table.test: ok');
