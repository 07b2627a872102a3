'use strict';
// All that comes from the broker is put into the page as text, never as HTML.

const $ = (id) => document.getElementById(id);
const history = 120; // seconds that charts show

const el = (name, text, attrs = {}) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  return e;
};
const count = (n) => n >= 1e9 ? (n / 1e9).toFixed(2) + ' G' : n >= 1e6 ? (n / 1e6).toFixed(2) + ' M' :
  n >= 1e4 ? (n / 1e3).toFixed(1) + ' k' : String(Math.round(n * 10) / 10);
const bytes = (n) => n >= 2 ** 30 ? (n / 2 ** 30).toFixed(2) + ' GiB' : n >= 2 ** 20 ? (n / 2 ** 20).toFixed(1) + ' MiB' :
  n >= 2 ** 10 ? (n / 2 ** 10).toFixed(1) + ' KiB' : n + ' B';
const clock = (ms) => new Date(ms).toLocaleTimeString();
const duration = (s) => s >= 86400 ? `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h` :
  s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` : s >= 60 ? `${Math.floor(s / 60)} min` : `${Math.floor(s)} s`;

// --- charts

class Spark {
  constructor(id, series) {
    this.box = $(id);
    this.data = [[], ...series.map(() => [])];
    const style = getComputedStyle(document.documentElement);
    const colours = [style.getPropertyValue('--accent').trim(), style.getPropertyValue('--warn').trim()];
    this.plot = new uPlot({
      width: this.box.clientWidth || 220, height: 56,
      cursor: { show: false }, legend: { show: false }, axes: [{ show: false }, { show: false }],
      scales: { y: { range: (_, min, max) => [0, Math.max(max, 1)] } },
      series: [{}, ...series.map((label, i) => ({ label, stroke: colours[i % 2], width: 1.5, fill: i ? undefined : colours[0] + '22' }))],
    }, this.data, this.box);
    new ResizeObserver(() => this.plot.setSize({ width: this.box.clientWidth, height: 56 })).observe(this.box);
  }
  add(time, ...values) {
    this.data[0].push(time / 1000);
    values.forEach((v, i) => this.data[i + 1].push(v));
    for (const d of this.data) if (d.length > history) d.shift();
    this.plot.setData(this.data);
  }
}

// --- tables that can be sorted by their heads

class Table {
  constructor(id, columns, sortBy, empty) {
    Object.assign(this, { table: $(id), columns, sortBy, up: false, empty, rows: [] });
    const head = this.table.createTHead().insertRow();
    columns.forEach((c, i) => {
      const th = el('th', undefined, { scope: 'col' });
      if (c.number) th.className = 'number';
      if (c.value) {
        const b = el('button', c.title, { type: 'button' });
        b.addEventListener('click', () => { this.up = this.sortBy === i ? !this.up : !c.number; this.sortBy = i; this.render(); });
        th.append(b);
      } else th.textContent = c.title;
      head.append(th);
    });
    this.body = this.table.createTBody();
    this.heads = [...head.children];
  }
  show(rows) { this.rows = rows; this.render(); }
  render() {
    const value = this.columns[this.sortBy].value;
    const rows = [...this.rows].sort((a, b) => {
      const x = value(a), y = value(b);
      const d = typeof x === 'number' ? x - y : String(x).localeCompare(String(y));
      return this.up ? d : -d;
    });
    this.heads.forEach((h, i) => h.setAttribute('aria-sort', i === this.sortBy ? (this.up ? 'ascending' : 'descending') : 'none'));
    const focused = document.activeElement?.dataset?.key;
    this.body.replaceChildren(...rows.map((r) => {
      const tr = el('tr');
      for (const c of this.columns) {
        const td = el('td', undefined, c.number ? { class: 'number' } : c.name ? { class: 'name' } : {});
        const shown = c.cell ? c.cell(r) : c.value(r);
        td.append(shown instanceof Node ? shown : document.createTextNode(shown));
        tr.append(td);
      }
      return tr;
    }));
    if (!rows.length) {
      const tr = this.body.insertRow();
      tr.append(el('td', this.empty, { colspan: this.columns.length, class: 'empty' }));
    }
    if (focused) this.body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }
}

// --- requests

async function post(path, body) {
  const r = await fetch(path, { method: 'POST', headers: { 'X-Broker': '1', 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const text = await r.text();
  if (!r.ok) throw new Error(text.trim());
  return JSON.parse(text);
}

function confirmKill(id, name) {
  const dialog = $('confirm');
  $('confirm-text').textContent = `Close session ${id}${name ? ' (' + name + ')' : ''}? Its client loses what it is owed.`;
  dialog.returnValue = 'no';
  dialog.showModal();
  dialog.onclose = async () => {
    if (dialog.returnValue !== 'yes') return;
    try {
      const r = await post('kill', { ID: id });
      event(r.closed ? `session ${id} closed from here` : `session ${id} was gone already`);
    } catch (e) { event(`session ${id} not closed: ${e.message}`); }
  };
}

const killButton = (r) => {
  const b = el('button', 'Close', { type: 'button', class: 'danger', 'data-key': 'kill' + r.id, 'aria-label': 'Close session ' + r.id });
  b.addEventListener('click', () => confirmKill(r.id, r.name || r.addr));
  return b;
};

// --- events

function event(text, time = Date.now()) {
  const li = el('li');
  li.append(el('time', clock(time)), document.createTextNode(text));
  $('events').prepend(li);
  while ($('events').children.length > 200) $('events').lastChild.remove();
}

// --- snapshots

const charts = {};
let channelTable, slowTable, shardTable, subscriberTable;
let last = null, lastShards = {}, seenDenials = new Set(), first = true, paused = false;

const watched = {
  broker_messages_dropped: (n) => `${count(n)} messages dropped for slow subscribers`,
  acl_access_denied_auth: (n) => `${n} failed logins`,
  acl_access_denied_cmd: (n) => `${n} commands denied`,
  acl_access_denied_channel: (n) => `${n} uses of a channel denied`,
  rejected_connections: (n) => `${n} connections refused`,
  evicted_clients: (n) => `${n} clients evicted`,
  broker_session_panics: (n) => `${n} faults in sessions`,
};

function onSnapshot(s) {
  const problems = Object.entries(s.errors || {}).map(([what, why]) => `${what}: ${why}`);
  $('problem').hidden = !problems.length;
  $('problem').textContent = problems.join(' · ');
  if (paused) return;
  const info = s.info || {};
  const n = (name) => Number(info[name] || 0);
  if (last && s.info) {
    const seconds = (s.time - last.time) / 1000;
    const rate = (name) => Math.max(0, (n(name) - Number(last.info[name] || 0)) / seconds);
    const inRate = rate('broker_messages_published'), outRate = rate('broker_messages_delivered');
    $('in').textContent = count(inRate) + '/s';
    $('out').textContent = count(outRate) + '/s';
    charts.in.add(s.time, inRate);
    charts.out.add(s.time, outRate);
    for (const [name, text] of Object.entries(watched)) {
      const d = n(name) - Number(last.info[name] || 0);
      if (d > 0) event(text(d), s.time);
    }
    for (const name of Object.keys(info)) {
      if (!name.startsWith('broker_closed_by_') || ['broker_closed_by_client', 'broker_closed_by_command'].includes(name)) continue;
      const d = n(name) - Number(last.info[name] || 0);
      if (d > 0) event(`${d} sessions closed: ${name.slice('broker_closed_by_'.length).replaceAll('_', ' ')}`, s.time);
    }
    showShards(info, seconds);
  }
  if (s.info) {
    $('version').textContent = info.broker_version || '';
    $('uptime').textContent = 'up ' + duration(n('uptime_in_seconds'));
    $('sessions').textContent = `${count(n('connected_clients'))}, ${count(n('pubsub_clients'))} subscribed`;
    charts.sessions.add(s.time, n('connected_clients'), n('pubsub_clients'));
    const p = Object.fromEntries((info.latency_percentiles_usec_publish || '').split(',').map((x) => x.split('=')));
    $('latency').textContent = p.p50 ? `p50 ${p.p50} µs, p99 ${p.p99} µs` : '–';
    charts.latency.add(s.time, Number(p.p50 || 0), Number(p.p99 || 0));
    $('memory').textContent = `${bytes(n('used_memory'))}, resident ${bytes(n('used_memory_rss'))}`;
    charts.memory.add(s.time, n('used_memory'), n('used_memory_rss'));
    $('queued').textContent = `${bytes(n('broker_queued_bytes'))}, held in ${bytes(n('broker_queued_bytes_held'))}`;
    charts.queued.add(s.time, n('broker_queued_bytes'), n('broker_queued_bytes_held'));
    $('channel-count').textContent = `${count(n('pubsub_channels'))} subscribed, ${count(n('pubsubshard_channels'))} shard channels, ${count(n('pubsub_patterns'))} patterns; the busiest:`;
    $('slow-count').textContent = n('broker_slow_subscribers') ? `${n('broker_slow_subscribers')} behind` : '';
    last = { time: s.time, info };
  }
  channelRows = s.channels || [];
  showChannels();
  slowTable.show(s.slow || []);
  for (const d of [...(s.denied || [])].reverse()) {
    const key = d['entry-id'] + '/' + d.count;
    if (seenDenials.has(key)) continue;
    seenDenials.add(key);
    if (!first) event(`denied: ${d.username} may not ${d.reason === 'auth' ? 'log in' : 'use ' + d.object} (${d.reason})`, s.time);
  }
  first = false;
}

let channelRows = [];
function showChannels() {
  const filter = $('filter').value;
  channelTable.show(channelRows.filter((c) => c.channel.includes(filter)));
}

function showShards(info, seconds) {
  const rows = [];
  for (let i = 0; info['broker_shard_' + i] !== undefined; i++) {
    const now = Object.fromEntries(info['broker_shard_' + i].split(',').map((x) => x.split('=')).map(([k, v]) => [k, Number(v)]));
    const then = lastShards[i] || now;
    const rate = (k) => Math.max(0, (now[k] - then[k]) / seconds);
    rows.push({ shard: i, ...now, load: rate('cpu_usec') / 1e4, in: rate('messages'), out: rate('deliveries'), turnRate: rate('turns') });
    lastShards[i] = now;
  }
  shardTable.show(rows);
}

// --- a channel's page

let tail = null, openChannel = null;
function openDetail(name) {
  closeDetail();
  openChannel = name;
  $('detail').hidden = false;
  $('detail-title').textContent = name === '' ? '(empty name)' : name;
  $('tail').replaceChildren();
  $('tail-state').textContent = 'connecting';
  tail = new EventSource('tail?name=' + encodeURIComponent(name));
  tail.addEventListener('open', () => { $('tail-state').textContent = 'sampled, at most 20 a second'; });
  tail.addEventListener('message', (e) => {
    if (!e.data) return;
    const m = JSON.parse(e.data);
    const li = el('li');
    li.append(el('time', clock(m.time)), document.createTextNode(m.payload + (m.cut ? ` … (${bytes(m.bytes)})` : '')));
    $('tail').prepend(li);
    while ($('tail').children.length > 100) $('tail').lastChild.remove();
  });
  tail.addEventListener('skipped', (e) => {
    const skipped = JSON.parse(e.data);
    if (skipped) $('tail-state').textContent = `${count(skipped)} more a second not shown`;
  });
  tail.onerror = () => {
    if (tail.readyState === EventSource.CLOSED) $('tail-state').textContent = 'not allowed, or ended';
  };
  refreshDetail();
  $('detail').scrollIntoView({ block: 'nearest' });
  $('payload').focus();
}
function closeDetail() {
  tail?.close();
  tail = null;
  openChannel = null;
  $('detail').hidden = true;
  $('publish-result').textContent = '';
}
async function refreshDetail() {
  const name = openChannel;
  if (name === null || paused) return;
  try {
    const r = await fetch('channel?name=' + encodeURIComponent(name));
    const d = await r.json();
    if (openChannel !== name) return;
    const stats = (d.stats || [])[0] || {};
    $('detail-stats').replaceChildren(...Object.entries(stats).filter(([k]) => k !== 'channel').map(([k, v]) => {
      const div = el('div');
      div.append(el('dt', k.replaceAll('-', ' ')), el('dd', k.includes('bytes') ? bytes(Number(v)) : count(Number(v))));
      return div;
    }));
    subscriberTable.empty = d.subscribersError || 'nobody';
    subscriberTable.show(d.subscribers || []);
  } catch { /* the event stream tells that the broker is gone */ }
}

// --- the page

function main() {
  charts.in = new Spark('chart-in', ['in']);
  charts.out = new Spark('chart-out', ['out']);
  charts.sessions = new Spark('chart-sessions', ['connected', 'subscribed']);
  charts.latency = new Spark('chart-latency', ['p50', 'p99']);
  charts.memory = new Spark('chart-memory', ['used', 'resident']);
  charts.queued = new Spark('chart-queued', ['charged', 'held']);
  channelTable = new Table('channels', [
    { title: 'Channel', name: true, value: (r) => r.channel, cell: (r) => {
      const b = el('button', r.channel === '' ? '(empty name)' : r.channel, { type: 'button', class: 'link', 'data-key': 'channel' + r.channel });
      b.addEventListener('click', () => openDetail(r.channel));
      return b;
    } },
    { title: 'Messages/s', number: true, value: (r) => r['messages-last-second'], cell: (r) => count(r['messages-last-second']) },
    { title: '/s over a minute', number: true, value: (r) => Number(r['messages-per-second-in-last-minute']), cell: (r) => count(Number(r['messages-per-second-in-last-minute'])) },
    { title: 'Receivers', number: true, value: (r) => r.subscribers, cell: (r) => count(r.subscribers) },
    { title: 'Messages', number: true, value: (r) => r.messages, cell: (r) => count(r.messages) },
    { title: 'Bytes', number: true, value: (r) => r.bytes, cell: (r) => bytes(r.bytes) },
    { title: 'Deliveries', number: true, value: (r) => r.deliveries, cell: (r) => count(r.deliveries) },
    { title: 'Dropped', number: true, value: (r) => r.dropped, cell: (r) => count(r.dropped) },
  ], 2, 'no channel has been published to');
  slowTable = new Table('slow', [
    { title: 'Session', number: true, value: (r) => r.id },
    { title: 'Address', value: (r) => r.addr },
    { title: 'Name', name: true, value: (r) => r.name },
    { title: 'User', value: (r) => r.user },
    { title: 'Queued', number: true, value: (r) => r['queued-bytes'], cell: (r) => bytes(r['queued-bytes']) },
    { title: 'Behind for', number: true, value: (r) => r['behind-ms'], cell: (r) => duration(r['behind-ms'] / 1000) },
    { title: 'Dropped', number: true, value: (r) => r.dropped, cell: (r) => count(r.dropped) },
    { title: 'Policy', value: (r) => r.policy },
    { title: '', cell: killButton },
  ], 4, 'everybody keeps up');
  shardTable = new Table('shards', [
    { title: 'Shard', number: true, value: (r) => r.shard },
    { title: 'Load', number: true, value: (r) => r.load, cell: (r) => r.load.toFixed(1) + ' %' },
    { title: 'Sessions', number: true, value: (r) => r.sessions, cell: (r) => count(r.sessions) },
    { title: 'Subscribed', number: true, value: (r) => r.subscribers, cell: (r) => count(r.subscribers) },
    { title: 'In/s', number: true, value: (r) => r.in, cell: (r) => count(r.in) },
    { title: 'Out/s', number: true, value: (r) => r.out, cell: (r) => count(r.out) },
    { title: 'Turns/s', number: true, value: (r) => r.turnRate, cell: (r) => count(r.turnRate) },
    { title: 'Queued', number: true, value: (r) => r.owed, cell: (r) => bytes(r.owed) },
  ], 0, 'waiting');
  shardTable.up = true;
  subscriberTable = new Table('subscribers', [
    { title: 'Session', number: true, value: (r) => r.id },
    { title: 'Address', value: (r) => r.addr },
    { title: 'Name', name: true, value: (r) => r.name },
    { title: '', cell: killButton },
  ], 0, 'nobody');
  subscriberTable.up = true;
  $('filter').addEventListener('input', showChannels);
  $('open-form').addEventListener('submit', (e) => { e.preventDefault(); openDetail($('open-name').value); });
  $('close-detail').addEventListener('click', closeDetail);
  document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && !$('confirm').open) closeDetail(); });
  $('pause').addEventListener('click', () => {
    paused = !paused;
    last = null;
    $('pause').setAttribute('aria-pressed', paused);
    $('pause').textContent = paused ? 'Go on' : 'Pause';
  });
  $('publish-form').addEventListener('submit', async (e) => {
    e.preventDefault();
    try {
      const r = await post('publish', { Channel: openChannel, Payload: $('payload').value });
      $('publish-result').textContent = `${r.receivers} receivers`;
    } catch (err) { $('publish-result').textContent = err.message; }
  });
  setInterval(refreshDetail, 2000);

  const source = new EventSource('events');
  source.addEventListener('snapshot', (e) => { $('state').textContent = 'live'; onSnapshot(JSON.parse(e.data)); });
  source.onerror = () => { $('state').textContent = source.readyState === EventSource.CLOSED ? 'not allowed' : 'connection lost, trying again'; last = null; };
}
addEventListener('DOMContentLoaded', main);
