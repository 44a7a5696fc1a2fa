// SPDX-License-Identifier: Apache-2.0
'use strict';

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escape(text) {
  return text.replace(/[&<>"]/g, (c) => entities[c]);
}

/* Lines of comma-separated values, the first of them the heads of the columns, as an HTML table. */
function table(text) {
  const rows = text.split('\n').filter(Boolean).map((line) => line.split(','));
  const row = (cells, tag) => `<tr>${cells.map((c) => `<${tag}>${escape(c)}</${tag}>`).join('')}</tr>`;
  return `<table>${rows.map((cells, i) => row(cells, i ? 'td' : 'th')).join('')}</table>`;
}

module.exports = { table };
