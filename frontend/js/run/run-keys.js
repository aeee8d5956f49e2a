/** The keys of the page of a run, for the sheet of keys. */

/** @type {readonly import("../ui/key-sheet.js").KeySection[]} */
export const RUN_KEYS = Object.freeze([
  {
    title: "Page",
    keys: [
      ["?", "Show this sheet"],
      ["/", "Find a layer, group or op"],
    ],
  },
  {
    title: "Episodes",
    keys: [
      ["Space", "Play or pause"],
      ["B", "Best episode"],
      ["N or P", "Next or previous improvement"],
      ["L", "Newest episode, live"],
      ["← or →", "In the slider and the chart: one episode back or on"],
    ],
  },
  {
    title: "Graph, chart and timeline",
    keys: [
      ["+ or -", "Zoom"],
      ["0", "Show all of it"],
      ["← ↑ → ↓", "In blocks: the next one that way; else pan the graph; ← and → also the timeline"],
      ["Shift + ← ↑ → ↓", "Pan the blocks"],
      ["< or >", "Pan the zoomed chart"],
      ["[ or ]", "In the timeline: the bar before or after"],
      ["Enter", "Open the chosen block (an open one: close it) or group; in a table, choose the row"],
      ["Esc", "Close the block around the chosen one; choose nothing; in an opened scope, go back"],
    ],
  },
  {
    title: "Decisions inside an episode",
    keys: [
      ["← or →", "One decision back or on"],
      ["PgUp or PgDn", "Ten decisions back or on"],
      ["Home or End", "The first or the last decision"],
    ],
  },
  {
    title: "Try a move",
    keys: [
      ["1 to 9", "Move the selected groups to a device, in the order of the list: 1 = GPU 0, 2 = GPU 1…"],
      ["Drag", "From a group: move it, or the selection, to the device where it is dropped; Esc lets go"],
      ["K", "Lock or unlock the selected groups"],
      ["Shift or Ctrl + click", "Select several groups"],
      ["Shift + ↑ or ↓", "Extend the selection in the table"],
      ["Ctrl + Z", "Undo"],
      ["Ctrl + Y", "Redo"],
    ],
  },
]);
