/* Compiled from src/view/: edit that, and run UPDATE=1 npm test -- test/page/compiled-view.test.ts. */
// src/view/address.ts
var PATHS = { overview: "/", problems: "/problems", bridge: "/bridge" };
var SERVICE = /^\/services\/([^/]+)(?:\/(tasks|queues|workers)\/([^/]+))?$/u;
var RUN = /^\/runs\/([^/]+)$/u;
var KINDS = { tasks: "task", queues: "queue", workers: "worker" };
var DOCUMENT = /^\d{1,4}\.json$/u;
var DETAILS = /^\/services\/(\d{1,4})\.json$/u;
function placeOf(path) {
  for (const page of ["overview", "problems", "bridge"]) if (path === PATHS[page]) return { page };
  const [, ofRun] = RUN.exec(path) ?? [];
  if (ofRun !== void 0) {
    const id = decoded(ofRun);
    return id === void 0 ? void 0 : { page: "run", id };
  }
  const [, ofService, folder, ofRow] = SERVICE.exec(path) ?? [];
  if (ofService === void 0 || folder === void 0 && DOCUMENT.test(ofService)) return void 0;
  const service = decoded(ofService);
  const name2 = decoded(ofRow ?? "");
  if (service === void 0 || name2 === void 0) return void 0;
  if (folder === void 0) return { page: "service", service };
  return folder === "tasks" || folder === "queues" || folder === "workers" ? { page: KINDS[folder], service, name: name2 } : void 0;
}
function pathOf(place) {
  switch (place.page) {
    case "service":
      return `/services/${encoded(place.service)}`;
    case "task":
    case "queue":
    case "worker":
      return `/services/${encoded(place.service)}/${place.page}s/${encoded(place.name)}`;
    case "run":
      return `/runs/${encoded(place.id)}`;
    default:
      return PATHS[place.page];
  }
}
function documentPathOf(place, details) {
  switch (place.page) {
    case "task":
    case "queue":
    case "worker": {
      const [, index] = DETAILS.exec(details) ?? [];
      return index === void 0 ? "" : `/details/${index}/${place.page}s/${encoded(place.name)}`;
    }
    case "run":
      return `/details/find/${encoded(place.id)}`;
    default:
      return "";
  }
}
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return void 0;
  }
}
function encoded(name2) {
  return encodeURIComponent(name2.toWellFormed());
}

// src/view/numbers.ts
var NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
var SMALL = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
var NONE = "–";
function number(value) {
  if (value === null || value === void 0) return NONE;
  return Math.abs(value) < 1 && value !== 0 ? SMALL.format(value) : NUMBER.format(value);
}
function percent(ratio) {
  return ratio === null ? NONE : `${number(ratio * 100)} %`;
}
function duration(seconds) {
  if (seconds === null || seconds === void 0) return NONE;
  if (seconds < 1) return `${Math.round(seconds * 1e3)} ms`;
  if (seconds < 60) return `${number(seconds)} s`;
  const [days = 0, hours = 0, minutes = 0] = [
    seconds / 86400,
    seconds / 3600 % 24,
    seconds / 60 % 60
  ].map(Math.floor);
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return `${minutes} min ${Math.floor(seconds % 60)} s`;
}
function ageOf(seconds) {
  return seconds === 0 ? NONE : duration(seconds);
}
var DAY_MS = 864e5;
function moment(iso, now) {
  const time = new Date(iso);
  const isWithinADay = now.getTime() - time.getTime() < DAY_MS;
  return isWithinADay ? clock(time) : `${time.toLocaleDateString()} ${clock(time)}`;
}
function clock(time) {
  return time.toTimeString().slice(0, 8);
}

// src/view/axis.ts
var STEPS_MAX = 4;
var VALUE_MIN = 1e-9;
var FACTORS = [1, 2, 5, 10];
var CLOCK_STEPS = [
  ...[10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10800, 21600, 43200, 86400]
];
var MINUTE_MS = 6e4;
function axisValues(most, unit) {
  const highest = Number.isFinite(most) && most > VALUE_MIN ? most : 1;
  const step = stepOf(highest, unit);
  const steps = Math.max(1, Math.ceil(highest / step));
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}
function stepOf(highest, unit) {
  const enough = (step2) => highest / step2 <= STEPS_MAX;
  const clockStep = CLOCK_STEPS.find(enough);
  if (unit === "seconds" && clockStep !== void 0 && !enough(5)) return clockStep;
  const power = 10 ** Math.floor(Math.log10(highest / STEPS_MAX));
  const step = FACTORS.map((factor) => factor * power).find(enough) ?? 10 * power;
  return unit === "count" ? Math.max(1, step) : step;
}
function tickTimes(sinceMs, untilMs, everyMinutes) {
  const every = everyMinutes * MINUTE_MS;
  const ticks = [];
  for (let at = Math.ceil(sinceMs / every) * every; at < untilMs; at += every) ticks.push(at);
  return ticks;
}
function valueText(value, unit) {
  if (value === 0) return "0";
  return unit === "seconds" ? duration(value).replace(/ 0 (?:s|min|h)$/u, "") : number(value);
}
function knownSpans(values) {
  const spans = [];
  let isGap = true;
  for (const [at, value] of values.entries()) {
    if (value !== null && isGap) spans.push([]);
    if (value !== null) spans.at(-1)?.push({ at, value });
    isGap = value === null;
  }
  return spans;
}

// src/view/columns.ts
var FAILURES_BAD = 0.1;
function numeric(label, value, show = number, tone = () => "plain") {
  return { label, value, text: (row) => show(value(row)), tone, isName: false };
}
function named(label, text, tone = () => "plain") {
  return { label, value: text, text, tone, isName: true };
}
function stateOf({ up, left, deaf }) {
  if (deaf) return ["deaf", "warn"];
  if (up) return ["up", "plain"];
  return left ? ["left", "quiet"] : ["silent", "warn"];
}
var WORKERS = [
  named("Worker", ({ name: name2 }) => name2),
  named(
    "State",
    (row) => stateOf(row)[0],
    (row) => stateOf(row)[1]
  ),
  numeric("Running", ({ running: running2 }) => running2),
  numeric("Slots", ({ slots }) => slots),
  numeric("Prefetched", ({ prefetched }) => prefetched),
  numeric("Scheduled", ({ scheduled }) => scheduled),
  numeric(
    "Last sign of life",
    ({ seen_s }) => seen_s,
    duration,
    (row) => stateOf(row)[1]
  ),
  named("Pool", ({ pool }) => pool ?? NONE),
  named("Celery", ({ celery }) => celery ?? NONE)
];
var QUEUES = [
  named("Queue", ({ name: name2 }) => name2),
  numeric("Length", ({ length }) => length),
  numeric(
    "Consumers",
    ({ consumers }) => consumers,
    number,
    ({ consumers, length }) => consumers === 0 && (length ?? 0) > 0 ? "warn" : "plain"
  ),
  numeric("Oldest waiting", ({ waiting_age_s }) => waiting_age_s, ageOf),
  numeric("Oldest running", ({ running_age_s }) => running_age_s, ageOf),
  numeric("Wait p95", ({ wait_p95_s }) => wait_p95_s, duration),
  numeric("Slots", ({ slots }) => slots),
  numeric("Unacked", ({ unacked }) => unacked)
];
var OTHER_ENDS = ["rejected", "revoked", "cancelled"];
var sum = (counts, steps) => steps.reduce((total, step) => total + counts[step], 0);
function countColumn(isRate, label, steps, tone) {
  return numeric(
    isRate ? `${label}/min` : label,
    ({ recent, total, perMinute }) => perMinute === void 0 ? sum(total, steps) : sum(recent, steps) * perMinute,
    number,
    tone
  );
}
function exceptionsOf({ errors: errors2 }) {
  return errors2.map(({ type, count }) => `${type} ×${count}`);
}
var TASK_COLUMNS = {
  name: named("Task", ({ name: name2 }) => name2 || "(all others)"),
  share: numeric(
    "Failed share",
    ({ failure_ratio }) => failure_ratio,
    percent,
    ({ failure_ratio }) => (failure_ratio ?? 0) > FAILURES_BAD ? "warn" : "plain"
  ),
  lost: numeric(
    "Lost",
    ({ total }) => total.lost,
    number,
    ({ recent }) => recent.lost > 0 ? "warn" : "plain"
  ),
  running: numeric("Running", ({ running: running2 }) => running2),
  unseen: numeric("Ended unseen", ({ open, running: running2 }) => Math.max(0, open - (running2 ?? 0))),
  p50: numeric("Runtime p50", ({ runtime_p50_s }) => runtime_p50_s, duration),
  p95: numeric("Runtime p95", ({ runtime_p95_s }) => runtime_p95_s, duration),
  seen: numeric("Last event", ({ seen_s }) => seen_s, duration),
  errors: {
    ...named("Exceptions", (row) => exceptionsOf(row).join(", ") || NONE),
    parts: exceptionsOf
  }
};
var { name, share, lost, running, unseen, p50, p95, seen, errors } = TASK_COLUMNS;
var TASK_RATES = [
  ...[name, countColumn(true, "Started", ["started"]), share, running, lost, p95, errors],
  ...[countColumn(true, "Failed", ["failed"]), countColumn(true, "Succeeded", ["succeeded"])],
  ...[
    countColumn(true, "Retried", ["retried"]),
    p50,
    unseen,
    countColumn(true, "Other ends", OTHER_ENDS),
    seen
  ]
];
var TASK_TOTALS = [
  ...[name, countColumn(false, "Started", ["started"]), countColumn(false, "Succeeded", ["succeeded"])],
  ...[
    countColumn(false, "Failed", ["failed"]),
    countColumn(false, "Retried", ["retried"]),
    running,
    lost,
    errors
  ],
  ...[countColumn(false, "Rejected", ["rejected"]), countColumn(false, "Revoked", ["revoked"])],
  ...[countColumn(false, "Cancelled", ["cancelled"]), unseen, share, p50, p95, seen]
];
var EXPORTS = [
  named("What", ({ of, signal }) => `${of}: ${signal}`),
  named(
    "Last result",
    ({ outcome, reason }) => reason === "" ? outcome : `${outcome}: ${reason}`,
    ({ outcome }) => outcome === "failure" ? "bad" : outcome === "partial" ? "warn" : "plain"
  ),
  numeric("Ago", ({ age_s }) => age_s, duration),
  numeric("Points", ({ items }) => items),
  numeric("Failures in a row", ({ failures }) => failures),
  numeric("Last success ago", ({ success_age_s }) => success_age_s, duration),
  named("To", ({ backend }) => backend)
];
var GRADES = {
  fine: ["fine", "good"],
  unknown: ["not known", "quiet"],
  degraded: ["degraded", "warn"],
  down: ["down", "bad"]
};
var PHASES = {
  waiting: ["not connected", "bad"],
  listening: ["connected", "plain"],
  stopped: ["stopped", "warn"],
  finished: ["recording played", "plain"],
  unusable: ["recording unusable", "bad"]
};
var staleTone = ({ as_of }) => as_of === null ? "plain" : "quiet";
var BY_GRADE = ["down", "degraded", "unknown", "fine"];
var SERVICES = [
  named("Service", ({ name: name2 }) => name2),
  {
    ...named("Verdict", ({ grade }) => GRADES[grade][0]),
    value: ({ grade }) => BY_GRADE.indexOf(grade),
    grade: ({ grade }) => grade
  },
  numeric("Workers up", ({ workers }) => workers?.up ?? null, number, staleTone),
  numeric("Running", ({ workers }) => workers?.active ?? null, number, staleTone),
  numeric("Waiting", ({ queues }) => queues?.waiting ?? null, number, staleTone),
  numeric("Failed lately", ({ tasks }) => tasks?.failed ?? null, number, staleTone),
  numeric(
    "Lost lately",
    ({ tasks }) => tasks?.lost ?? null,
    number,
    (row) => (row.tasks?.lost ?? 0) > 0 ? "warn" : staleTone(row)
  ),
  named(
    "Broker",
    ({ phase, as_of }) => PHASES[phase][0] + (as_of === null ? "" : ` since ${clock(new Date(as_of))}`),
    ({ phase }) => PHASES[phase][1]
  ),
  numeric("Workers known", ({ workers }) => workers?.known ?? null, number, staleTone)
];
var BRIDGED = [
  named("Service", ({ name: name2 }) => name2),
  numeric("Events/s", ({ events }) => events.per_second, number, staleTone),
  numeric("Lag", ({ events }) => events.lag_s, duration, staleTone),
  named("Not counted", ({ events }) => droppedText(events.dropped), droppedTone),
  numeric("Series", ({ series }) => series?.live ?? null),
  named("Nearest to its limit", ({ series }) => fullestOf(series)),
  numeric("Events since the start", ({ events }) => events.received),
  numeric("Instances that export it", ({ instances }) => instances),
  numeric(
    "Internal errors",
    ({ defects }) => defects,
    number,
    ({ defects }) => defects > 0 ? "bad" : "plain"
  )
];
function droppedText(dropped) {
  const texts = Object.entries(dropped).map(([reason, count]) => `${number(count)} ${reason}`);
  return texts.join(", ") || "none";
}
function droppedTone({ events }) {
  return Object.keys(events.dropped).length === 0 ? "plain" : "warn";
}
function fullestOf(series) {
  const { live = 0, fullest = null } = series ?? {};
  if (live === 0 || fullest === null) return NONE;
  return `${fullest.metric}: ${number(fullest.live)} of ${number(fullest.limit)}`;
}
var LIMITS = [
  named("Table", ({ of, table }) => `${of}: ${table.replaceAll("_", " ")}`),
  numeric("Used", ({ size, limit }) => limit === 0 ? null : size / limit, percent),
  numeric("Size", ({ size }) => size),
  numeric("Limit", ({ limit }) => limit),
  numeric(
    "Evicted",
    ({ evicted }) => evicted,
    number,
    ({ evicted }) => evicted > 0 ? "warn" : "plain"
  )
];

// src/view/facts.ts
var SIGNS = { good: "✓", quiet: "?", warn: "!", bad: "✗" };
var FACTS = [
  { label: "Broker", text: ({ broker, phase }) => `${broker ?? "none yet"} (${PHASES[phase][0]})` },
  {
    label: "All below is as of",
    short: "as of",
    text: ({ as_of }) => as_of === null ? void 0 : clock(new Date(as_of)),
    tone: () => "warn"
  },
  { label: "Events per second", text: ({ events }) => number(events.per_second) },
  { label: "Lag", short: "lag", text: ({ events }) => duration(events.lag_s), isOfBridge: true },
  {
    label: "Not counted",
    short: "not counted",
    text: ({ events }) => droppedText(events.dropped),
    tone: droppedTone,
    isOfBridge: true
  },
  { label: "Workers up", short: "workers up", text: upOf },
  {
    label: "Tasks running",
    short: "running",
    text: ({ workers }, details) => number(runningOf(details) ?? workers?.active)
  },
  { label: "Messages waiting", short: "waiting", text: ({ queues }) => number(queues?.waiting) },
  { label: "Not known", text: ({ unknown }) => unknown.map(({ line }) => line).join("; ") || void 0 }
];
function factsOf(service, details) {
  return FACTS.flatMap(({ text, tone, ...row }) => {
    const shown = text(service, details);
    return shown === void 0 ? [] : [{ ...row, text: shown, tone: tone?.(service) ?? "plain" }];
  });
}
function upOf({ workers }, details) {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total > 0 && total === rows.length)
    return `${number(rows.filter(({ up }) => up).length)} of ${number(total)}`;
  return workers === null ? "not known yet" : `${number(workers.up)} of ${number(workers.known)}`;
}
function runningOf(details) {
  const { total = 0, rows = [] } = details?.workers ?? {};
  if (total === 0 || total > rows.length) return void 0;
  return rows.reduce((sum2, { running: running2 }) => sum2 + (running2 ?? 0), 0);
}

// src/view/lanes.ts
function lanesOf(rows) {
  const times = rows.map(timesOf);
  const known = times.flatMap(({ from, started, ended }) => [from, started, ended]);
  const all = known.filter((time) => time !== null);
  const begin = all.reduce((least, time) => Math.min(least, time), all[0] ?? 0);
  const end = all.reduce((most, time) => Math.max(most, time), begin);
  const total_s = (end - begin) / 1e3;
  const placeOf2 = (time) => end === begin ? 0 : 100 * (time - begin) / (end - begin);
  return {
    lanes: times.map((each) => laneOf(each, placeOf2)),
    marks: total_s === 0 ? [] : axisValues(total_s, "seconds").filter((value) => value <= total_s).map((value) => ({ at: 100 * value / total_s, text: valueText(value, "seconds") })),
    total_s
  };
}
function timesOf({ from, started, ended }) {
  return { from: parsed(from), started: parsed(started), ended: parsed(ended) };
}
function parsed(iso) {
  return iso === null ? null : Date.parse(iso);
}
function laneOf({ from, started, ended }, placeOf2) {
  const waitedTo = started ?? ended;
  return {
    waited: from === null || waitedTo === null ? void 0 : { from: placeOf2(from), to: placeOf2(waitedTo) },
    ran: started === null || ended === null ? void 0 : { from: placeOf2(started), to: placeOf2(ended) },
    wait_s: from === null || waitedTo === null ? null : Math.max(0, waitedTo - from) / 1e3,
    runtime_s: started === null || ended === null ? null : Math.max(0, ended - started) / 1e3
  };
}

// src/view/order.ts
function orderBy(columns, column) {
  return { column, isDescending: columns[column]?.isName !== true };
}
function matchingRows(columns, rows, filter) {
  const wanted = filter.trim().toLowerCase();
  if (wanted === "") return rows;
  return rows.filter(
    (row) => columns.some(({ isName, text }) => isName && text(row).toLowerCase().includes(wanted))
  );
}
function orderedRows(columns, rows, { column, isDescending }) {
  const [name2, by] = [columns[0], columns[column]];
  if (name2 === void 0 || by === void 0) return rows;
  const sign = isDescending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: by.value(row), name: name2.value(row) }));
  keyed.sort((one, other) => {
    if (one.key === null || other.key === null)
      return Number(one.key === null) - Number(other.key === null) || compare(one.name, other.name);
    return sign * compare(one.key, other.key) || compare(one.name, other.name);
  });
  return keyed.map(({ row }) => row);
}
function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [a, b] = [String(one), String(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

// src/view/run-columns.ts
var TONES = { failed: "bad", lost: "warn", rejected: "warn" };
function outcomeTone(outcome) {
  return Object.hasOwn(TONES, outcome) ? TONES[outcome] ?? "plain" : "plain";
}
function outcomeText({ outcome, error_type }) {
  return error_type === "" ? outcome : `${outcome}: ${error_type}`;
}
function linked(label, page) {
  return {
    ...named(label, (row) => row[page] || NONE),
    place: ({ service, [page]: name2 }) => name2 === "" ? void 0 : { page, service, name: name2 }
  };
}
function timed(label, time) {
  const instantOf = (row) => {
    const iso = time(row);
    return iso === null ? null : Date.parse(iso);
  };
  return {
    ...numeric(label, instantOf),
    text: (row) => {
      const iso = time(row);
      return iso === null ? NONE : moment(iso, row.now);
    }
  };
}
function identified() {
  return { ...named("Id", ({ id }) => id), place: ({ id }) => ({ page: "run", id }) };
}
var RUNS = [
  identified(),
  named("Outcome", outcomeText, ({ outcome }) => outcomeTone(outcome)),
  numeric("Ran", ({ runtime_s }) => runtime_s, duration),
  timed("Ended", ({ ended }) => ended),
  linked("Task", "task"),
  numeric("Waited", ({ wait_s }) => wait_s, duration),
  linked("Worker", "worker"),
  numeric("Retries", ({ retries }) => retries),
  linked("Queue", "queue")
];
var STAGES = {
  sent: "waits in its queue",
  scheduled: "waits for its time",
  waiting: "waits in its worker",
  running: "runs",
  doubtful: "may have ended unseen"
};
var OPEN_RUNS = [
  identified(),
  linked("Task", "task"),
  named(
    "State",
    ({ stage }) => STAGES[stage],
    ({ stage }) => stage === "doubtful" ? "warn" : "plain"
  ),
  numeric("For", ({ age_s }) => age_s, duration),
  timed("Since", ({ since }) => since),
  linked("Worker", "worker"),
  linked("Queue", "queue"),
  numeric("Retries", ({ retries }) => retries)
];

// src/view/snapshot.ts
var SECONDS_PER_MINUTE = 60;
var NO_ROWS = { total: 0, rows: [] };
function taskRows(details, isTotals) {
  if (details === void 0) return NO_ROWS;
  const { tasks, other_tasks, recent_s } = details;
  const perMinute = isTotals || recent_s === 0 ? void 0 : SECONDS_PER_MINUTE / recent_s;
  const others = other_tasks === null ? [] : [other_tasks];
  return {
    total: tasks.total + others.length,
    rows: [...tasks.rows, ...others].map((row) => ({ ...row, perMinute }))
  };
}
function exportRows({ services, exports }) {
  return [
    ...services.flatMap(({ name: name2, exports: own }) => own.map((each) => ({ ...each, of: name2 }))),
    ...exports.map((each) => ({ ...each, of: "celery-otel" }))
  ];
}
function limitRows(services) {
  return services.flatMap(
    ({ name: name2, tables }) => Object.entries(tables).map(([table, counts]) => ({ of: name2, table, ...counts }))
  );
}

// src/view/stack-trace.ts
var FRAME = /^ {2}File "([^"]*)"/u;
var LIBRARY = /[/\\](?:site-packages|dist-packages|lib[/\\]python[\d.]+)[/\\]|^<frozen /u;
function traceParts(text) {
  const lines = text.split("\n");
  const raised = lines.findLastIndex((line) => FRAME.test(line));
  const parts = [];
  let look = "plain";
  for (const [index, line] of lines.entries()) {
    look = lookOf(line, look, index, raised);
    const last = parts.at(-1);
    if (last?.look === look) last.text += `
${line}`;
    else parts.push({ look, text: line });
  }
  return parts;
}
function lookOf(line, before, index, raised) {
  const [, file] = FRAME.exec(line) ?? [];
  if (index === raised) return "raised";
  if (file !== void 0) return LIBRARY.test(file) ? "library" : "plain";
  if (line.startsWith("    ") && before !== "error") return before;
  return raised >= 0 && index > raised ? "error" : "plain";
}
function raisedAt(text) {
  const line = text.split("\n").findLast((each) => FRAME.test(each)) ?? "";
  const [, file, number2] = /^ {2}File "([^"]*)", line (\d+)/u.exec(line) ?? [];
  return file === void 0 ? void 0 : `${file}:${number2}`;
}
export {
  BRIDGED,
  EXPORTS,
  GRADES,
  LIMITS,
  OPEN_RUNS,
  QUEUES,
  RUNS,
  SERVICES,
  SIGNS,
  STAGES,
  TASK_RATES,
  TASK_TOTALS,
  WORKERS,
  axisValues,
  clock,
  documentPathOf,
  duration,
  exportRows,
  factsOf,
  knownSpans,
  lanesOf,
  limitRows,
  matchingRows,
  moment,
  number,
  orderBy,
  orderedRows,
  outcomeText,
  outcomeTone,
  pathOf,
  placeOf,
  raisedAt,
  taskRows,
  tickTimes,
  traceParts,
  valueText
};
