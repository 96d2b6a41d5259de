// The tables below the timeline: processes, waits, transitions, calls, lines, devices, ranks, tasks, samples, memory, counters.
import { callTable } from "./breakdown.js";
import { button, make, replace } from "./elements.js";
import { count, digits, duration, percent } from "./format.js";
import { linesPanel } from "./lines.js";
import { sampleTable } from "./samples.js";
import { bytes, counted, number, seconds, share, table, words } from "./table.js";

/** @param {any[]} rows @param {string} key */
const longest = (rows, key) => [...rows].sort((a, b) => b[key] - a[key]);

/**
 * What each panel shows; null where there is nothing, and why.
 * @param {any} trace of the header @param {import("./samples.js").Sample[]} samples @param {import("./state.js").State} state
 * @returns {[string, () => Node, boolean, string][]} title, content, whether there is any, and else why not
 */
function panels(trace, samples, state) {
  const found = trace.document;
  const zoom = (/** @type {number} */ from, /** @type {number} */ to) => state.showTimes(from - (to - from) / 4, to + (to - from) / 4);
  const pick = (/** @type {any} */ row) => state.show({ process: row.process });
  return [
    ["Processes", () => table([words("process"), words("role"), counted("pid"), words("exit status", "exit_status"), words("complete"), seconds("start", "start_s"), seconds("wall time", "wall_s"), seconds("waiting", "waiting_s"), seconds("late", "late_s"), counted("iterations")],
      trace.processes, { caption: "Processes of the run; late is how much later than the first of its group one ended", file: "processes", onRow: pick }), trace.processes.length > 0, ""],
    ["Waits", () => make("div", {},
      table([words("process"), words("phase"), words("function"), words("kind"), words("stream"), counted("count"), seconds("waited", "wait_s"), seconds("in the loop", "in_loop_s")], longest(found.waits, "wait_s"), { caption: "In what each process waited", file: "waits", onRow: pick }),
      table([words("process"), words("waited for", "on"), words("stream"), counted("count"), seconds("waited", "wait_s")], longest(found.dependencies, "wait_s"), { caption: "Who waited for whom", file: "dependencies", onRow: pick })),
      found.waits.length > 0, "No process waited in a call that is known to wait."],
    ["Transitions", () => table([words("process"), words("stage"), words("operation"), words("from"), words("to"), counted("count"), number("per iteration", "per_iteration"), number("per timestep", "per_timestep")],
      longest(found.transitions, "count"), { caption: "How often the program crossed from one layer into another", file: "transitions", onRow: pick }), found.transitions.length > 0, "Nothing crossed from one layer into another."],
    ["Calls", () => callTable(trace.calls, "Functions of all operations, as recorded"), trace.calls.length > 0, "No calls were recorded."],
    ["Lines", () => linesPanel(trace, state), found.lines?.length > 0 || found.sync_points?.length > 0, "No stack of Python was seen, as in runs that are recorded with `--no-lines`."],
    ["Devices", () => make("div", {},
      table([counted("device"), words("uuid"), seconds("busy", "busy_s"), seconds("communicating", "communication_s"), seconds("doing nothing else", "exposed_s"), seconds("kernels, summed", "kernel_s"), share("reported", "reported_utilization")], found.gpu, { caption: "Devices: how long each worked for any process, beside the utilisation that was reported", file: "devices" }),
      ...(found.device_shares.length ? [table([counted("device"), { title: "process", value: (row) => row.process || "(all)" }, seconds("alone", "alone_s"), seconds("shared", "shared_s")], found.device_shares, { caption: "Who had a device that several processes used; an overlap is shared", file: "device_shares" })] : []),
      ...(found.device_switches.length ? [table([counted("device"), words("from"), words("to"), counted("count"), seconds("idle between", "seconds"), seconds("longest", "longest_s")], longest(found.device_switches, "seconds"), { caption: "How a device passed from one process to another", file: "device_switches" })] : []),
      ...(found.device_idle.length ? [table([counted("device"), words("cause"), words("process"), words("stage"), words("operation"), seconds("idle", "seconds")], longest(found.device_idle, "seconds"), { caption: "Why devices did nothing in the training loop", file: "device_idle", onRow: pick })] : []),
      table([words("process"), counted("device"), words("operation"), seconds("busy", "busy_s"), seconds("only communicating", "exposed_s"), counted("kernels")], longest(found.gpu_operations, "busy_s"), { caption: "Device time by the operation that launched the work", file: "gpu_operations", onRow: pick }),
      table([words("name"), words("process"), words("stage"), words("operation"), counted("count"), seconds("in all", "seconds"), { title: "mean", value: (row) => row.seconds / row.count, shown: (row) => duration(row.seconds / row.count), isNumber: true }, counted("bytes")], longest(trace.device_work, "seconds"), { caption: "Kernels and copies", file: "kernels" })),
      found.gpu.length > 0, "No device did any work that was recorded."],
    ["Ranks", () => make("div", {},
      table([words("process"), words("machine"), seconds("wall time", "wall_s"), seconds("computing", "compute_s"), seconds("waiting for the last rank", "wait_s"), seconds("other communication", "transfer_s"), seconds("other waiting", "other_wait_s")], found.ranks, { caption: "What each rank did with its time", file: "ranks", onRow: pick }),
      table([words("process"), counted("calls"), seconds("late", "late_s"), seconds("per iteration", "per_iteration_s"), seconds("others waited", "others_wait_s"), share("leads"), words("stands out", "stands_out"), words("cause"), words("stage"), seconds("more than the others", "cause_s")], found.stragglers, { caption: "Ranks that kept the others waiting", file: "stragglers", onRow: pick }),
      table([words("process"), words("communicator"), words("operation"), counted("count"), counted("matched"), counted("bytes"), seconds("late", "late_s"), seconds("hidden", "hidden_s"), seconds("waited for the last", "wait_s"), seconds("transfer", "transfer_s")], longest(found.collectives, "wait_s"), { caption: "Calls of communicators", file: "collectives", onRow: pick }),
      ...(found.device_ranks.length ? [
        table([words("process"), counted("device"), seconds("wall time", "wall_s"), seconds("computing", "compute_s"), seconds("waiting for the last rank", "wait_s"), seconds("other communication", "transfer_s"), seconds("idle", "idle_s")], found.device_ranks, { caption: "What the devices of ranks did with their time", file: "device_ranks", onRow: pick }),
        table([words("process"), words("communicator"), words("operation"), counted("count"), counted("matched"), seconds("late", "late_s"), seconds("hidden", "hidden_s"), seconds("waited for the last", "wait_s"), seconds("transfer", "transfer_s")], longest(found.collective_kernels, "wait_s"), { caption: "Kernels of communicators", file: "collective_kernels", onRow: pick })] : [])),
      found.ranks.length > 0, "No process called a communicator."],
    ["Tasks", () => table([words("process"), words("operation"), counted("count"), seconds("ran", "running_s"), seconds("open", "elapsed_s"), seconds("half under", "elapsed_p50_s"), seconds("99 % under", "elapsed_p99_s"), seconds("longest", "elapsed_max_s")],
      longest(found.tasks, "elapsed_s"), { caption: "Operations of coroutines and generators", file: "tasks", onRow: pick }), found.tasks.length > 0, "No operation was suspended inside a coroutine or a generator."],
    ["Samples", () => make("div", {},
      table([words("process"), words("name"), counted("count"), counted("discarded"), counted("tokens"), counted("of discarded", "discarded_tokens"), seconds("half under", "elapsed_p50_s"), seconds("99 % under", "elapsed_p99_s"), seconds("longest", "elapsed_max_s"), seconds("in queue", "queue_s"), number("mean staleness", "staleness_mean")],
        longest(found.samples, "count"), { caption: "Samples by name", file: "samples_by_name", onRow: pick }),
      table([words("process"), counted("iteration"), counted("samples"), seconds("begin", "start_s"), seconds("tail", "tail_s"), seconds("idle device", "idle_s")],
        longest(found.sample_tails, "tail_s"), { caption: "Tails: from when 90 % of an iteration's samples were complete to the last", file: "sample_tails", onRow: (row) => zoom(row.start_s, row.start_s + row.tail_s) }),
      sampleTable([...samples].sort((a, b) => (b.end_s - b.start_s) - (a.end_s - a.start_s)), "Each sample", (sample) => zoom(sample.start_s, sample.end_s))),
      found.samples.length > 0, "No sample was reported. This line reports one when it is complete: rlscope.report_sample(name, version=…, tokens=…)"],
    ["Memory", () => make("div", {},
      table([words("process"), words("owner"), counted("device"), bytes("peak", "peak_bytes"), bytes("at the end", "last_bytes"), bytes("growth per second", "bytes_per_s"), bytes("at least", "low_bytes_per_s"), bytes("at most", "high_bytes_per_s"), bytes("per iteration", "bytes_per_iteration"), words("grew to the end", "grows"), counted("samples")], longest(found.memory_growth, "peak_bytes"), { caption: "Memory of processes, and how it went in the last two thirds of the run", file: "memory_growth", onRow: pick }),
      table([words("process"), words("owner"), counted("device"), words("stage"), words("operation"), bytes("most in use", "highest_bytes"), counted("samples")], longest(found.memory, "highest_bytes"), { caption: "The most memory that was seen in use", file: "memory", onRow: pick })),
      found.memory.length > 0, "No memory was looked at; recordings of earlier versions have none."],
    ["Counters", () => table([words("process"), counted("device"), words("stage"), words("operation"), words("metric"), words("unit"), number("while working", "while_working"), number("while open", "while_open"), number("total")],
      found.counters, { caption: "Hardware counters", file: "counters", onRow: pick }), found.counters.length > 0, "The run was not recorded with `--counters`."],
  ];
}

/** @param {any} trace @param {import("./samples.js").Sample[]} samples @param {import("./state.js").State} state @param {HTMLElement} place */
export function showPanels(trace, samples, state, place) {
  const all = panels(trace, samples, state);
  const content = make("div", { role: "tabpanel", tabindex: "-1" });
  const tabs = all.map(([title, draw, hasContent, why], number) => button(title, () => choose(number), { role: "tab", "aria-selected": "false", class: hasContent ? "" : "empty" }));
  const choose = (/** @type {number} */ chosen) => {
    tabs.forEach((tab, number) => {
      tab.setAttribute("aria-selected", String(number === chosen));
      tab.setAttribute("tabindex", number === chosen ? "0" : "-1");
    });
    const [title, draw, hasContent, why] = all[chosen];
    content.setAttribute("aria-label", title);
    replace(content, hasContent ? draw() : make("p", {}, why));
  };
  const list = make("div", { role: "tablist", "aria-label": "Tables" }, ...tabs);
  list.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const next = (tabs.indexOf(/** @type {any} */ (document.activeElement)) + step + tabs.length) % tabs.length;
    choose(next);
    tabs[next].focus();
  });
  replace(place, list, content);
  choose(0);
  return { show: (/** @type {string} */ title) => choose(all.findIndex(([other]) => other === title)) };
}
