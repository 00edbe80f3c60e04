// SPDX-License-Identifier: BSD-2-Clause
//
// Shows the reports whose JSON is in the page.  It computes nothing that `jobstack report --json` does not have, asks
// nobody for anything, and shows names as text: nothing in them becomes an element.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const main = document.querySelector('main');

// ------------------------------------------------------------------------------------------------------------- text

// Control characters, and what turns the direction of text, as the text report shows them.
const escape = text => text.replace(/[\p{Cc}\p{Cf}\\]/gu, c => {
	const code = c.codePointAt(0);
	return code < 256 ? '\\x' + code.toString(16).padStart(2, '0') : '\\u{' + code.toString(16) + '}';
});

// A name; one that is not UTF-8 comes as base64.
function name(o, key) {
	if (typeof o[key] === 'string')
		return escape(o[key]);
	return o[key + '_base64'] === undefined ? '-' : [...atob(o[key + '_base64'])].map(c => c > '~' ?
		'\\x' + c.charCodeAt(0).toString(16) : escape(c)).join('');
}

// A duration as the text report writes it; one that is a whole number of some unit.
function took(s) {
	const all = Math.round(s), min = Math.round(all / 60), h = Math.round(all / 3600);

	if (s < 0.9995)
		return `${Number((s * 1000).toPrecision(s < 0.001 ? 2 : 3))} ms`;
	if (s < 10)
		return `${Number(s.toPrecision(3))} s`;
	return all < 120 ? `${all} s` : all < 7200 ? `${Math.floor(all / 60)} min ${all % 60} s` :
		min < 2 * 1440 ? `${Math.floor(min / 60)} h ${min % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

function whole(s) {
	for (const [unit, words] of [[86400, 'd'], [3600, 'h'], [60, 'min']])
		if (s >= unit && s % unit === 0)
			return `${s / unit} ${words}`;
	return took(s);
}

function size(bytes) {
	let unit = 0;

	for (; bytes >= 1023.95 && unit < 4; unit++)
		bytes /= 1024;
	return `${bytes.toFixed(unit > 0 ? 1 : 0)} ${['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

const moment = text => text === null ? '?' : text.slice(0, 10) + ' ' + text.slice(11, 19);
const percent = share => `${(share >= 1 ? 100 : share > 0.999 ? 99.9 : 100 * share).toFixed(1)} %`;

// --------------------------------------------------------------------------------------------------------- elements

function element(tag, text, style) {
	const e = document.createElement(tag);

	if (text !== undefined)
		e.textContent = text;
	if (style)
		e.className = style;
	return e;
}

// Text in which `commands` and --options are code.
function prose(tag, text, style) {
	const e = element(tag, undefined, style);

	for (const part of text.split(/(`[^`]+`|(?<= )--[^ ]*[^ :])/))
		e.append(part.startsWith('`') && part.length > 1 ? element('code', part.slice(1, -1)) :
			part.startsWith('--') ? element('code', part) : part);
	return e;
}

// A section with a heading and a sentence about what it shows.
function section(heading, lead, ...inside) {
	const s = element('section');

	s.append(element('h2', heading));
	if (lead)
		s.append(prose('p', lead));
	s.append(...inside);
	main.append(s);
}

// How a column shows its member: {text, sort, style}, or {element} in place of the text.  Null is a dash.
const number = show => v => typeof v === 'number' ? {text: show(v), sort: v, style: 'n'} : {text: '-', sort: -1, style: 'n'};
const text = v => ({text: v ?? ''});
const count = number(v => String(v));
const faults = v => ({...count(v), style: v > 0 ? 'n bad' : 'n'});
const decimals = n => number(v => v.toFixed(n));
const time = number(took);
const bytes = number(size);
const share = number(percent);
const when = v => ({text: moment(v)});
const outcome = v => ({text: v ?? '', style: v === 'done' ? '' : 'bad'});
function bar(v) {
	const e = element('meter');

	e.value = v ?? 0;
	return {element: e, sort: v ?? 0};
}

// Sorts the rows by their cells at AT; a second time, the other way round.
function sort(table, heading, at) {
	const down = heading.getAttribute('aria-sort') !== 'descending', body = table.tBodies[0];
	const key = row => row.cells[at].dataset.sort === undefined ? row.cells[at].textContent : Number(row.cells[at].dataset.sort);

	for (const other of table.tHead.rows[0].cells)
		other.removeAttribute('aria-sort');
	heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
	body.append(...[...body.rows].sort((x, y) => {
		const a = key(x), b = key(y);
		return (down ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0);
	}));
}

// A table of ROWS; each column is [heading, member or function of a row, how it is shown].
function table(rows, columns, style) {
	const around = element('div', undefined, style ? 'wide ' + style : 'wide'), t = element('table');
	const head = t.createTHead().insertRow(), body = t.createTBody();

	for (const row of rows) {
		const tr = body.insertRow();

		for (const [, member, show] of columns) {
			const td = tr.insertCell(), cell = show(typeof member === 'function' ? member(row) : row[member]);

			td.append(cell.element ?? cell.text);
			if (cell.sort !== undefined)
				td.dataset.sort = cell.sort;
			td.className = cell.style ?? '';
		}
	}
	columns.forEach(([heading], at) => {
		const th = element('th'), button = element('button', heading);

		th.scope = 'col';
		th.className = (body.rows[0]?.cells[at].className ?? '').split(' ')[0] === 'n' ? 'n' : '';
		button.title = 'sort';
		button.onclick = () => sort(t, th, at);
		th.append(button);
		head.append(th);
	});
	around.tabIndex = 0;
	around.append(t);
	return around;
}

// Four columns: mean and coefficient of variation of the time, and of the bytes per second.
const spread = mean => [['mean time', mean, time], ['CV of time', 'time_cv', decimals(2)],
	['bytes/s', 'bytes_per_second', bytes], ['CV of bytes/s', 'bytes_cv', decimals(2)]];

function histogram(bars, what) {
	const first = bars.findIndex(b => b.done > 0), most = Math.max(...bars.map(b => b.done));

	return table(bars.slice(first), [['from', 'from', time], [what, 'done', count],
		['share of the largest', b => b.done / most, bar]]);
}

// --------------------------------------------------------------------------------------------------------- sections

function showHead(r) {
	const e = r.entries, all = e.pushed - e.moved, done = e.done + e.pruned;
	const rows = [['done', done], ['dead', e.dead], ['running', e.running],
		['ready, waiting, held or cancelled', Math.max(0, all - done - e.dead - e.running)]];
	const points = element('ul');

	main.append(element('h1', r.stack), element('p', [r.state + (r.so_far ? ', so far' : ''),
		r.from !== null && r.seconds !== null && `${moment(r.from)} to ${moment(r.to)}, ${took(r.seconds)}`,
		r.left_out_words].filter(Boolean).join('; '), 'soft'), prose('p', r.verdict.summary, 'verdict'));
	for (const p of r.verdict.points) {
		const li = prose('li', ': ' + p.text);

		li.prepend(element('strong', p.head));
		points.append(li);
	}
	main.append(points, table(rows, [['state', 0, text], ['entries', 1, count], ['share', row => all > 0 ? row[1] / all : 0, share]]));
	for (const words of [r.idle, r.nothing, r.restriction])
		if (words)
			main.append(prose('p', words));
}

function showFailures(r) {
	if (r.failures.length > 0)
		section('Why entries are dead', 'Similar failures are one row, with the message of one of them as an example.',
			table(r.failures, [['entries', 'count', count], ['how', 'how', text], ['message', f => name(f, 'message'), text],
				['node', f => f.node === null ? '' : name(f, 'node'), text],
				['example', f => ({element: element('code', `jobstack logs -s ${r.stack} ${f.entry}`)}), x => x]]));
}

function showAdvice(r) {
	const advice = element('ul');

	for (const words of r.advice)
		advice.append(prose('li', ' ' + words.replace('  ', ': ')));
	section('For the next run', 'Computed from the attempts of this run. Replace COMMAND by your command.', advice);
	if (r.next?.script)
		main.lastChild.append(element('pre', r.next.script));
}

function showTime(r) {
	const t = r.throughput, busy = r.busy.filter(n => n.shares.length > 1);

	if (t.length > 1)
		section('Over time', `Each row is ${whole(t[0].seconds)}. Running and workers are averages.`,
			table(t, [['from', 'from', when], ['done', 'done', count], ['not done', 'not_done', faults],
				['done in all', 'all_done', count], ['failed so far', 'last_failed', faults],
				['running', 'running', decimals(1)], ['left', 'left', count], ['workers', 'workers', decimals(1)]]));
	if (busy.length > 1) {
		const start = Date.parse(busy[0].from), hour = i => {
			const at = new Date(start + i * busy[0].seconds * 1000).toISOString();
			return at.slice(11, 16) === '00:00' ? at.slice(5, 10) : at.slice(11, 16);
		};

		section('Busy slots, by node and time', 'How many of a node\'s slots ran a command, in percent. ' +
			`Each column is ${whole(busy[0].seconds)}, from ${moment(busy[0].from)}.` +
			(r.nodes.length + r.more_nodes > busy.length ? ' Nodes that came later are left out.' : ''),
			table(busy, [['node', n => name(n, 'node'), text], ...busy[0].shares.map((_, i) => [hour(i), n => n.shares[i],
				v => ({text: (100 * (v ?? 0)).toFixed(0), sort: v ?? 0, style: 'n h' + (v > 0 ? Math.floor(v * 4.999) + 1 : 0)})])],
				'map'));
	}
}

function showDurations(r) {
	const d = r.durations;

	if (d.done > 1)
		section('How long the entries took', `Of ${d.done} done attempts: p50 ${took(d.p50)}, p95 ${took(d.p95)}, ` +
			`p99 ${took(d.p99)}, longest ${took(d.max)}.`, histogram(d.histogram, 'attempts'));
	if (r.slowest.length > 1)
		section('The slowest attempts', '', table(r.slowest, [['took', 'seconds', time], ['entry', 'entry', count],
			['outcome', 'outcome', outcome], ['node', s => name(s, 'node'), text], ['datapath', s => name(s, 'datapath'), text]]));
	if (r.wasted.causes.length > 1)
		section('Wasted time, by cause', `${took(r.wasted.seconds)} of the ${took(r.attempts.seconds)} that all commands ` +
			`took together (${percent(r.wasted.share ?? 0)}).`,
			table(r.wasted.causes, [['cause', 'how', text], ['attempts', 'attempts', count], ['time', 'seconds', time],
				['share', c => r.wasted.seconds > 0 ? c.seconds / r.wasted.seconds : 0, bar]]));
}

function showPlaces(r) {
	const problem = n => [n.fails && 'fails', n.slow && 'slow'].filter(Boolean).join(', ');
	const facts = what => [[what, f => name(f, 'name'), text], ['attempts', 'attempts', count], ['not done', 'not_done', faults],
		['total time', 'seconds', time], ['share of time', 'share', bar], ['bytes', 'bytes', bytes], ...spread('mean')];

	if (r.nodes.length > 1)
		section('Nodes', 'Mean and coefficient of variation (CV) of the done attempts\' time, and of the bytes that they ' +
			'read and wrote in a second.' + (r.more_nodes > 0 ? ` Of ${r.more_nodes} more nodes only \`jobstack report ` +
			`${r.stack} --json\` tells.` : ''),
			table(r.nodes, [['node', n => name(n, 'node'), text], ['problem', problem, text], ['attempts', 'attempts', count],
				['failed', 'failed', faults], ['lost', 'lost', faults], ...spread('mean_done')]));
	if (r.hours.length > 1)
		section('Hours of the day', 'When the done attempts began, in UTC. A busy file system shows as slow hours.',
			table(r.hours, [['hour', h => String(h.hour).padStart(2, '0') + ':00', text], ['done', 'done', count], ...spread('mean')]));
	if (r.programs.length > 1)
		section('Programs and their versions', `Sorted by total time. \`jobstack list -s ${r.stack} -t done ` +
			'--program-changed\` lists what was done by another version than the one that is there now.',
			table(r.programs, facts('version')));
	if (r.file_systems.length > 1)
		section('File systems', 'Of the datapaths; the bytes are those of all files of an attempt.',
			table(r.file_systems, facts('file system')));
}

function showResources(r) {
	const u = r.used, memory = [['largest process, with libraries and mapped files', u.memory_bytes],
		['all processes together, without libraries and mapped files (commands over 1 s)', u.peak_bytes]];
	const known = memory.filter(([, m]) => m.attempts > 0);

	if (r.bytes.length > 1)
		section('Bytes read against bytes written', `${size(u.read_bytes)} read and ${size(u.write_bytes)} written by system ` +
			'calls; what the page cache answered is in it.',
			table(r.bytes, [['read from', 'read_from', bytes], ['written from', 'written_from', bytes], ['attempts', 'attempts', count]]));
	if (u.cpu_seconds === null && known.length === 0)
		return;
	section('Memory and CPU', u.cpu_seconds === null ? '' : `The commands used ${took(u.cpu_seconds)} of CPU time, ` +
		`${(100 * (u.cpu_share ?? 0)).toFixed(0)} % of the time that they ran.`,
		table(known, [['memory of an attempt', 0, text], ['attempts', m => m[1].attempts, count],
			...['p50', 'p99', 'max'].map(q => [q === 'max' ? 'largest' : q, m => m[1][q], bytes])]));
	if (u.requested)
		main.lastChild.append(element('p', u.requested));
}

function showOrigin(r) {
	if (r.packages.length > 0)
		section('Python packages', r.more_packages > 0 ? `That most attempts imported; ${r.more_packages} more are not shown.` : '',
			table(r.packages, [['package', p => name(p, 'package'), text], ['version', p => name(p, 'version'), text],
				['attempts', 'attempts', count], ['nodes', 'nodes', count]]));
	if (r.methods)
		section('For the methods section of a paper', '', element('pre', r.methods));
}

// Where the time went, by stack and its program.
function showStacks(reports) {
	const all = reports.reduce((sum, r) => sum + (r.attempts.seconds ?? 0), 0);
	const rows = [...reports].sort((x, y) => y.attempts.seconds - x.attempts.seconds);

	if (reports.length > 1)
		section('Stacks and programs', `Sorted by time. All commands took ${took(all)} together.`,
			table(rows, [['stack', 'stack', text],
				['program', r => r.verdict.points.find(p => p.head === 'Program')?.text.replace(/\.$/, ''), text],
				['entries', r => r.entries.pushed, count], ['done', r => r.entries.done + r.entries.pruned, count],
				['dead', r => r.entries.dead, faults], ['total time', r => r.attempts.seconds, time],
				['share of time', r => all > 0 ? r.attempts.seconds / all : 0, bar], ['wasted', r => r.wasted.share ?? 0, share]]));
}

function showFindings(io) {
	section('Ten findings about reading and writing', 'All stacks of this page together. Findings 3, 4, 5, 8 and 10, and the ' +
		`files of 1, come from ${io.files} files (${percent(io.share_of_files)} of all). Bytes are those of all files that ` +
		'an attempt\'s processes opened.',
		table(io.findings, [['no', 'finding', count], ['finding', 'title', text],
			['value', f => f.value ?? 'not applicable: ' + f.not_applicable, text],
			['meaning', f => f.value && f.meaning, text], ['what to do', f => f.value && f.advice, text]]));
	if (io.interval_count > 1)
		section('Time between runs on the same file', 'From the start of a run that was done to the start of the next one, of ' +
			'the files of finding 3.', histogram(io.intervals, 'intervals'));
}

document.title = data.reports[0]?.stack ?? document.title;
showStacks(data.reports);
for (const r of data.reports) {
	showHead(r);
	if (r.brief)
		main.append(prose('p', `The rest does not fit on this page. Type: \`jobstack report ${r.stack} --html ${r.stack}.html\``, 'soft'));
	else if (!r.nothing)
		for (const show of [showFailures, showAdvice, showTime, showDurations, showPlaces, showResources, showOrigin])
			show(r);
}
if (data.io)
	showFindings(data.io);
document.querySelector('footer').textContent = `jobstack report, ${moment(data.made)}. Times are UTC.`;
if (data.reload_seconds > 0)
	setTimeout(() => location.reload(), 1000 * data.reload_seconds);
